#!/usr/bin/env bash
# Two workers on one queue, one of them killed again and again: no job is lost, none ends with other bytes than a batch
# gives, what a killed worker held is taken over, and nothing is left running or waiting.
#
#   Tests/queue-kill.sh              10000 jobs, 100 kills, in SQLite and in Redis
#   Tests/queue-kill.sh 500 5        fewer; `short` is 500 jobs and 5 kills
#
# FRAMEMILL_BINARY names the binary; otherwise the release build is used, and made if it isn't there.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
source "$root/Tests/check.sh"
jobs=${1:-10000}
kills=${2:-100}
[ "$jobs" = short ] && jobs=500 kills=5

binary=${FRAMEMILL_BINARY:-}
if [ -z "$binary" ]; then
    binary=$root/.build/release/framemill
    for name in framemill framemill-decoder; do
        [ -x "$(dirname "$binary")/$name" ] || swift build --package-path "$root" -c release --product $name
    done
fi

work=$(mktemp -d)
server=
workers=()
finish() {
    for pid in "${workers[@]}" $server; do kill -KILL "$pid" 2>/dev/null || true; done
    rm -rf "$work"
}
trap finish EXIT
cd "$work"

# Every name another URL; a tenth of them broken.
mkdir files
for n in $(seq "$jobs"); do
    if [ $((n % 10)) = 0 ]; then
        echo "broken $n" >"files/$n.mp4"
    else
        ln -s "$root/samples/media/clip.mp4" "files/$n.mp4"
    fi
    echo "files/$n.mp4"
done >list
broken=$((jobs / 10))
"$binary" batch - --out expected --cache none --quiet <<<"files/1.mp4" >/dev/null
right=$(cat expected/*.jpg | sha256sum)

worker() { # worker INDEX: (re)starts one
    "$binary" worker --queue "$address" --sink out --cache none --lease 3 --jobs 8 --allow-files --json \
        --name "w$1-$RANDOM$RANDOM" >>"log$1" 2>>"err$1" &
    workers[$1]=$!
}
# stat: the queue's counts as variables; `left` is how many wait, are delayed or run
stat() {
    local word
    for word in $("$binary" queue stat --queue "$address"); do declare -g "stat_${word%%=*}=${word#*=}"; done
    left=$((stat_interactive + stat_prefetch + stat_backfill + stat_delayed + stat_running))
}
# A signal that comes before the command has begun ends it like any other program. It takes signals before it has a
# second thread.
begun() { until [ "$(find "/proc/$1/task" -mindepth 1 -maxdepth 1 | wc -l)" -gt 1 ]; do :; done; }

run() { # run NAME ADDRESS
    local name=$1
    address=$2
    rm -rf out log? err?
    : >log0
    : >log1
    "$binary" enqueue list --queue "$address" >/dev/null
    worker 0
    worker 1
    local killed=0 step=$((jobs / kills / 2)) code=0
    stat
    while [ "$left" -gt 0 ]; do
        # Each time that another part of the jobs has ended, in the first half of the run.
        if [ "$killed" -lt "$kills" ] && [ $((stat_done + stat_dead)) -ge $((killed * step)) ]; then
            kill -KILL "${workers[0]}"
            wait "${workers[0]}" 2>/dev/null || true
            killed=$((killed + 1))
            worker 0
        fi
        stat
    done
    for pid in "${workers[@]}"; do begun "$pid"; done
    for pid in "${workers[@]}"; do kill -TERM "$pid"; done
    for pid in "${workers[@]}"; do wait "$pid" || code=$?; done
    check "$name: both workers ended with 0 when told to" test "$code" = 0
    check "$name: $killed kills" test "$killed" = "$kills"
    check "$name: $stat_done jobs are done" test "$stat_done" = $((jobs - broken))
    check "$name: $stat_dead are in the failed ones" test "$stat_dead" = "$broken"
    check "$name: each of these with its reason" \
        test "$("$binary" queue failed --code not_media --limit 1000000 --queue "$address" | wc -l)" = "$broken"
    check "$name: a picture for each" test "$(find out -name '*.jpg' | wc -l)" = $((jobs - broken))
    check "$name: all of them as they should be" \
        test "$(find out -name '*.jpg' -exec sha256sum {} + | cut -c1-64 | sort -u)" = "${right%% *}"
    check "$name: no half file is left" test -z "$(find out -name '*.tmp')"
    workers=()
}

run sqlite "sqlite:$work/queue.sqlite"
if command -v redis-server >/dev/null; then
    redis-server --port 0 --unixsocket "$work/redis" --dir "$work" --save "" --appendonly yes >redis.log &
    server=$!
    until redis-cli -s "$work/redis" ping 2>/dev/null | grep -q PONG; do kill -0 "$server"; done
    run redis "unix://$work/redis"
else
    echo "NOT TESTED: redis-server is not installed"
fi

echo "$passed passed, $failed failed"
[ "$failed" = 0 ]
