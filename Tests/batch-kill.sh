#!/usr/bin/env bash
# A long batch, killed at random three times and run again to its end: one final line per input, nothing made twice
# but what was in flight, no half file, flat memory.
#
#   Tests/batch-kill.sh            100000 lines
#   Tests/batch-kill.sh 2000       fewer; `short` is 2000
#
# FRAMEMILL_BINARY names the binary; otherwise the release build is used, and made if it isn't there.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
source "$root/Tests/check.sh"
lines=${1:-100000}
[ "$lines" = short ] && lines=2000
jobs=32

binary=${FRAMEMILL_BINARY:-}
if [ -z "$binary" ]; then
    binary=$root/.build/release/framemill
    for name in framemill framemill-decoder; do
        [ -x "$(dirname "$binary")/$name" ] || swift build --package-path "$root" -c release --product $name
    done
fi

work=$(mktemp -d)
pid=
trap '[ -z "$pid" ] || kill -KILL "$pid" 2>/dev/null || true; rm -rf "$work"' EXIT
cd "$work"

# Three small sources, and one that is broken; every line of the list is a name of its own for one of them.
ffmpeg -v error -f lavfi -i testsrc2=s=96x64:d=0.5:r=10 -c:v libx264 -pix_fmt yuv420p 0.mp4
ffmpeg -v error -f lavfi -i testsrc2=s=96x64 -frames:v 1 1.png
ffmpeg -v error -f lavfi -i testsrc2=s=96x64 -frames:v 1 2.jpg
echo "no media at all" >3.txt
sources=(0.mp4 1.png 2.jpg 3.txt)
mkdir links
for number in $(seq 1 "$lines"); do
    # One line in a hundred is broken.
    source=${sources[number % 3]}
    [ $((number % 100)) -ne 0 ] || source=3.txt
    echo "../$source links/$number"
done >plan
# One process for all links: a hundred thousand calls of ln would take longer than the batch.
python3 - <<'PYTHON'
import os
for line in open("plan"):
    target, link = line.split()
    os.symlink(target, link)
PYTHON
cut -d' ' -f2 plan >list

batch() { exec "$binary" batch list --out out --cache none --jobs $jobs --size 64 --quiet 2>>errors; }
done_lines() { if [ -f out/manifest.jsonl ]; then wc -l <out/manifest.jsonl; else echo 0; fi; }
peak() { awk '/^VmHWM/ { print $2 }' "/proc/$pid/status" 2>/dev/null || true; }

for round in 1 2 3; do
    before=$(done_lines)
    left=$((lines - before))
    # RANDOM has 15 bits; two of them reach over a million lines.
    target=$((before + 1 + (RANDOM * 32768 + RANDOM) % (left / 2)))
    batch &
    pid=$!
    while kill -0 "$pid" 2>/dev/null && [ "$(done_lines)" -lt "$target" ]; do sleep 0.02; done
    high=$(peak)
    kill -KILL "$pid" 2>/dev/null || true
    ended=0
    wait "$pid" 2>/dev/null || ended=$?
    pid=
    whole=$(done_lines)
    head -n "$whole" out/manifest.jsonl >"manifest.$round"
    # Made, but not yet in the manifest: these are made again.
    made=$(find out -name '*.jpg' | wc -l)
    reported=$(grep -c '"code":"ok"' "manifest.$round" || true)
    again=$((made - reported))
    echo "      killed at line $whole of $lines; $again to be made again; VmHWM ${high:-?} kB"
    check "round $round: it was the kill that ended it" test "$ended" -eq 137
    check "round $round: at most $jobs covers are made again" test "$again" -le "$jobs" -a "$again" -ge 0
done

batch &
pid=$!
start=$(done_lines)
early=
late=
while kill -0 "$pid" 2>/dev/null; do
    now=$(peak)
    [ -z "$now" ] || late=$now
    if [ -z "$early" ] && [ "$(done_lines)" -ge $((start + (lines - start) / 5)) ]; then early=$now; fi
    sleep 0.05
done
code=0
wait "$pid" || code=$?
pid=
early=${early:-$late}
echo "      VmHWM ${early:-0} kB after a fifth, ${late:-0} kB at the end"

broken=$((lines / 100))
check "no word of trouble" test ! -s errors
[ ! -s errors ] || cat errors
check "exit code 1: some failed" test "$code" -eq 1
check "one line per input" test "$(done_lines)" -eq "$lines"
sed 's/.*"line":\([0-9]*\)[,}].*/\1/' out/manifest.jsonl | sort -n >seen
seq 1 "$lines" >wanted
check "none missing, none double" cmp -s seen wanted
check "all made but the broken ones" test "$(grep -c '"code":"ok"' out/manifest.jsonl)" -eq $((lines - broken))
check "a file for each" test "$(find out -name '*.jpg' | wc -l)" -eq $((lines - broken))
check "no empty file" test -z "$(find out -size 0)"
check "no file but covers and manifest" test -z "$(find out -type f ! -name '*.jpg' ! -name manifest.jsonl)"
for round in 1 2 3; do
    kept=$(wc -l <"manifest.$round")
    check "what round $round reported was left alone" cmp -s "manifest.$round" <(head -n "$kept" out/manifest.jsonl)
done
# 24 MB stand for the state per line and for what the allocator keeps.
check "memory is flat" test "${late:-0}" -le $((${early:-0} * 5 / 4 + 24576))

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
