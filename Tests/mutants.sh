#!/usr/bin/env bash
# Broken animations under the address sanitizer: Tests/mutants.sh [short | VARIANTS [SEED]]
# Random edits of every GIF, APNG and WebP of the corpus and of the samples; each has to end with frames or a failure.
# Default: 100,000 variants, some minutes. short: 3,000.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

variants=${1:-100000}
[ "$variants" != short ] || variants=3000
seed=${2:-1}

corpus=${FRAMEMILL_CORPUS:-../shared/corpus}
files=(samples/media/*.gif samples/media/*.png samples/media/*.webp)
if [ -d "$corpus" ]; then
    files+=("$corpus"/gif/* "$corpus"/apng/* "$corpus"/webp/*)
else
    echo "*** no corpus at $corpus: the samples alone are edited" >&2
fi

# Built as Tests/fuzz.sh builds, so that the two share what they can.
flags=(-c release --product framemill-bench --scratch-path .build/fuzzing --sanitize=address
    -Xswiftc -sanitize=fuzzer -Xswiftc -use-ld=lld)
swift build "${flags[@]}" 2>&1 | tail -1
bench=$(swift build "${flags[@]}" --show-bin-path)/framemill-bench

# Leaks are for a test of their own: Foundation and libpng keep some blocks for the life of a process.
log=$(mktemp)
trap 'rm -f "$log"' EXIT
ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 \
    "$bench" mutants --variants "$variants" --seed "$seed" "${files[@]}" 2>"$log" || {
    status=$?
    # The last variant begun, then what the sanitizer said.
    tr '\r' '\n' <"$log" | tail -60 >&2
    exit "$status"
}
