#!/usr/bin/env bash
# A cache on disk whose writers are killed: four write to one folder, each read is compared, and one after the
# other is killed with SIGKILL at a random moment and started again. Then 10,000 bits are flipped, one at a
# time.
#
#   Tests/cache-kill.sh            1000 kills, 10000 bits
#   Tests/cache-kill.sh short      60 kills, 300 bits
#
# FRAMEMILL_BENCH and FRAMEMILL_BINARY name the binaries; otherwise the release build is used, and made if it
# isn't there.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
source "$root/Tests/check.sh"
kills=1000
bits=10000
[ "${1:-}" != short ] || kills=60 bits=300

bench=${FRAMEMILL_BENCH:-$root/.build/release/framemill-bench}
binary=${FRAMEMILL_BINARY:-$root/.build/release/framemill}
[ -x "$bench" ] || swift build --package-path "$root" -c release --product framemill-bench
for name in framemill framemill-decoder; do
    [ -x "$(dirname "$binary")/$name" ] || swift build --package-path "$root" -c release --product $name
done

work=$(mktemp -d)
pids=()
trap 'for pid in "${pids[@]}"; do kill -KILL "$pid" 2>/dev/null || true; done; rm -rf "$work"' EXIT

start() { # start SLOT
    "$bench" cache-fill "$work/cache" 2>>"$work/errors" &
    pids[$1]=$!
}
# What the folder holds now. Files and folders vanish while they are counted, and du then says so and fails: what is
# gone takes no room, so the sum is right all the same.
bytes_held() {
    local sum
    sum=$(du -s --apparent-size -B1 "$work/cache" 2>/dev/null) || true
    sum=${sum%%[!0-9]*}
    echo "${sum:-0}"
}
for slot in 0 1 2 3; do start $slot; done

early=0
largest=0
for number in $(seq 1 "$kills"); do
    slot=$((RANDOM % 4))
    sleep "0.0$((RANDOM % 9))$((RANDOM % 10))"
    kill -KILL "${pids[slot]}" 2>/dev/null || true
    status=0
    wait "${pids[slot]}" 2>/dev/null || status=$?
    # Anything but the kill means that a wrong byte was served.
    [ "$status" -eq 137 ] || early=$((early + 1))
    start "$slot"
    if [ $((number % 20)) -eq 0 ]; then
        held=$(bytes_held)
        [ "$held" -le "$largest" ] || largest=$held
    fi
done
for pid in "${pids[@]}"; do
    kill -KILL "$pid" 2>/dev/null || true
    wait "$pid" 2>/dev/null || true
done

echo "      $kills kills; at most $largest bytes in the folder"
check "no writer was served a wrong byte" test "$early" -eq 0
check "no writer said anything" test ! -s "$work/errors"
[ ! -s "$work/errors" ] || sort "$work/errors" | uniq -c | sed -n 1,10p
# The limit of 32 MiB, and what four writers have in hand.
check "the folder was measured" test "$largest" -gt 0
check "the folder kept to its limit" test "$largest" -le $(((32 << 20) + 4 * 70000))
"$binary" cache verify --cache "$work/cache" >"$work/verdict" || true
echo "      $(cat "$work/verdict")"
check "verify finds nothing bad" grep -q '^bad=0 ' "$work/verdict"
"$bench" cache-check "$work/cache" >"$work/found" || true
echo "      $(cat "$work/found")"
check "what is found is right" grep -q 'wrong=0' "$work/found"
check "nothing is left of dead writers" test -z "$(find "$work/cache" -name '.part-*')"

"$bench" cache-flip "$bits" >"$work/flips" || true
echo "      $(cat "$work/flips")"
check "no flipped bit was served" grep -q "^flips=$bits wrong=0 " "$work/flips"

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
