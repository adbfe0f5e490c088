#!/usr/bin/env bash
# How much memory covers of large pictures take: Tests/memory.sh [short]
# Peak resident memory of the release command and all its decoders together, which must stay below 512 MiB, for 10-bit hevc: 3840 x 2160 clips that
# open on black, so that the search for a good picture runs, four at once; and 7680 x 4320 ones. `short` leaves out the
# latter, which take ffmpeg the longest to make. Work on pictures runs on as many threads as there are cores, so more
# than two cores need more memory; the figures of the last run stand in the README.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
limit=512
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
for product in framemill framemill-decoder; do swift build -c release --product $product >&2; done
mill=$(swift build -c release --show-bin-path)/framemill
failed=0

# clip NAME SIZE GROUP BLACK: BLACK seconds of black, then a picture; a key picture every GROUP frames.
clip() {
    ffmpeg -v error -f lavfi -i "color=black:s=$2:r=25:d=$4" -f lavfi -i "testsrc2=s=$2:r=25:d=0.4" \
        -filter_complex concat -pix_fmt yuv420p10le -c:v libx265 -preset ultrafast \
        -x265-params "log-level=none:ref=4:bframes=4:scenecut=0:keyint=$3:min-keyint=$3" "$work/$1"
}

# peak WORDS COMMAND... runs a command that must succeed, and says its peak memory.
peak() {
    local name=$1
    shift
    python3 - "$limit" "$name" "$@" <<'PY' || failed=1
import os, sys, time
limit, name, command = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
child = os.posix_spawn(command[0], command, os.environ)


def tree(pid):
    yield pid
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            for below in open(f"/proc/{pid}/task/{thread}/children").read().split():
                yield from tree(int(below))
    except OSError:
        pass  # It has ended.


def resident(pid):
    # Its share of what several have, as the pages of libraries and of the memory that decoders have with their parent.
    try:
        lines = open(f"/proc/{pid}/smaps_rollup").read().split("\n")
        return next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    except (OSError, StopIteration):
        return 0


peak = 0
while True:
    ended, status, _ = os.wait4(child, os.WNOHANG)
    if ended:
        break
    peak = max(peak, sum(resident(pid) for pid in tree(child)) / 1024)
    time.sleep(0.005)
good = os.waitstatus_to_exitcode(status) == 0 and peak < limit
print(f"{name}: {peak:.0f} MiB of {limit}, status {os.waitstatus_to_exitcode(status)}{'' if good else ': FAILED'}")
sys.exit(not good)
PY
}

# list CLIP NUMBER: a list of copies, since equal paths are made once.
list() {
    for number in $(seq "$2"); do
        ln "$work/$1" "$work/$number-$1"
        echo "$work/$number-$1"
    done >"$work/list"
}

batch() { peak "$1" "$mill" batch "$work/list" --out "$work/out" --size 320 --jobs 4 --cache none --quiet; }

clip keys.mp4 3840x2160 10 0.4
peak "one 4K cover" "$mill" cover "$work/keys.mp4" -o "$work/o.jpg" --size 320 --cache none --quiet
list keys.mp4 8
batch "eight 4K covers, four at once"
clip onekey.mp4 3840x2160 999 0.4
list onekey.mp4 8
batch "the same with one key picture each"
if [ "${1:-}" != short ]; then
    clip huge.mp4 7680x4320 10 0
    peak "one 8K cover" "$mill" cover "$work/huge.mp4" -o "$work/o.jpg" --size 320 --cache none --quiet
    list huge.mp4 4
    batch "four 8K covers"
fi
exit "$failed"
