#!/usr/bin/env bash
# Readers of strangers' bytes under libFuzzer and the address sanitizer: Tests/fuzz.sh [short | SECONDS [TARGET...]]
#
# Each target gets SECONDS (default 600, short: 10); seeds are the samples, the corpus where it is there, and what stands
# below. What a target can't stand is kept in .build/fuzz/TARGET and named; what is mended belongs into a test.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

seconds=${1:-600}
[ "$seconds" != short ] || seconds=10
shift || true
targets=("$@")
[ $# -gt 0 ] || targets=(sniff url job animation cover)
corpus=${FRAMEMILL_CORPUS:-../shared/corpus}

# The linker that this needs comes with the compiler; gold, its default, gives up.
flags=(-c release --product framemill-fuzz --scratch-path .build/fuzzing --sanitize=address
    -Xswiftc -sanitize=fuzzer -Xswiftc -use-ld=lld)
swift build "${flags[@]}" 2>&1 | tail -1
fuzz=$(swift build "${flags[@]}" --show-bin-path)/framemill-fuzz

lines() { # lines FOLDER: each line of standard input as a seed
    local number=0 line
    while IFS= read -r line; do
        printf %s "$line" >"$1/seed-$((number += 1))"
    done
}

seed() { # seed TARGET FOLDER
    case $1 in
    url)
        lines "$2" <<'URLS'
http://EXAMPLE.org:80/a/../b/./c?q=1#f
https://user:p%40ss@bücher.example:8443/%7Efilm.mp4?X-Amz-Signature=a&b
http://[2001:DB8::1%25eth0]:8000/
file:///tmp/a%20b.mp4
/var/media/../clip.mp4
http://a@b@c/\x
URLS
        ;;
    job)
        lines "$2" <<'JOBS'
{"url":"http://example.org/a.mp4"}
{"schema":1,"url":"http://example.org/a.gif","mirrors":["http://b/"],"id":"7","key":"k","priority":"interactive","size":"320x180","mode":"fill","format":"webp","quality":70,"effort":3,"at":"25%","seek":"exact","animated":true,"maxFrames":10,"maxFps":12.5,"lossless":false,"duration":3,"notBefore":1,"deadline":20,"callback":"https://c/","data":{"a":[1,null,"é"]}}
JOBS
        ;;
    animation)
        find samples/media "$corpus/gif" "$corpus/apng" "$corpus/webp" -size -64k -type f -exec cp -t "$2" {} + 2>/dev/null || true
        ;;
    *)
        find samples/media "$corpus" -size -128k -type f -exec cp -t "$2" {} + 2>/dev/null || true
        ;;
    esac
}

status=0
for target in "${targets[@]}"; do
    work=.build/fuzz/$target
    mkdir -p "$work/found" "$work/corpus"
    seeds=$(mktemp -d)
    seed "$target" "$seeds"
    # Quietly where all is well. Leaks are for a test of their own; a gigabyte is more than any input here may cost.
    if ! ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 SWIFT_BACKTRACE=enable=no \
        timeout -s KILL $((seconds * 2 + 120)) "$fuzz" "$target" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=1536 \
        -print_final_stats=1 -artifact_prefix="$work/found/" "$work/corpus" "$seeds" >"$work/log" 2>&1; then
        tail -40 "$work/log" >&2
        status=1
    fi
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$work/log")
    echo "$target: ${runs:-?} inputs in $seconds s, $(find "$work/found" -type f | wc -l) findings"
    rm -rf "$seeds"
done
exit $status
