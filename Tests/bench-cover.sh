#!/usr/bin/env bash
# How long one 1080p h264 cover takes, against the textbook libav loop, in turns: Tests/bench-cover.sh [ROUNDS]
# The loop is `plain-t1` of cover_c.c in the peers' benchmark kit: FRAMEMILL_BENCH names its folder, else it is looked for
# beside the checkout. Without it the peer is the ffmpeg command. Prints medians and their ratio; wants gcc and
# libjpeg62-turbo-dev for the kit.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
rounds=${1:-9}
kit=${FRAMEMILL_BENCH:-$root/../shared/bench}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
for product in framemill framemill-decoder; do swift build -c release --product $product >&2; done
mill=$(swift build -c release --show-bin-path)/framemill
clip=$work/clip.mp4
ffmpeg -v error -f lavfi -i "testsrc2=s=1920x1080:r=30:d=3,noise=alls=12:allf=t" -c:v libx264 -preset fast -b:v 8M \
    -movflags +faststart "$clip"
if [ -f "$kit/cover_c.c" ]; then
    gcc -O3 -march=native "$kit/cover_c.c" -o "$work/peer" -w \
        -lavformat -lavcodec -lswscale -lavutil -ljpeg -lpthread -lm
    name="textbook libav loop (plain-t1)"
    peer() { "$work/peer" -n 1 -v plain-t1 "$clip" | awk '/plain-t1/ { print $10 }'; }
else
    name="ffmpeg command"
    peer() {
        local began=$EPOCHREALTIME
        ffmpeg -v error -y -threads 1 -i "$clip" -frames:v 1 -vf scale=320:-2 "$work/peer.jpg"
        awk -v a="$began" -v b="$EPOCHREALTIME" 'BEGIN { print (b - a) * 1000 }'
    }
fi
# The milliseconds of the render call itself, as the report of each cover states them.
ours() {
    "$mill" cover "$clip" -o "$work/ours.jpg" --at first --cache none --json | sed 's/.*"total":\([0-9.]*\).*/\1/'
}
for _ in $(seq "$rounds"); do
    peer >>"$work/peer.txt"
    ours >>"$work/ours.txt"
done
median() { sort -n "$1" | awk '{ all[NR] = $1 } END { print all[int((NR + 1) / 2)] }'; }
awk -v a="$(median "$work/ours.txt")" -v b="$(median "$work/peer.txt")" -v n="$name" -v r="$rounds" \
    'BEGIN { printf "framemill %.1f ms, %s %.1f ms, ratio %.2f (medians of %d, in turns)\n", a, n, b, a / b, r }'
