#!/usr/bin/env bash
# What a hit in memory allocates: the calls of malloc and its fellows are counted, over few hits and over many, and the
# difference belongs to the hits alone.
#
#   Tests/cache-memory.sh
#
# FRAMEMILL_BENCH names the binary; otherwise the release build is used, and made if it isn't there.
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
bench=${FRAMEMILL_BENCH:-$root/.build/release/framemill-bench}
[ -x "$bench" ] || swift build --package-path "$root" -c release --product framemill-bench
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/count.c" <<'C'
#include <stddef.h>
#include <stdio.h>
void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t),
    *__libc_memalign(size_t, size_t);
static long count;
static void add(void) { __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED); }
void *malloc(size_t size) { add(); return __libc_malloc(size); }
void *calloc(size_t number, size_t size) { add(); return __libc_calloc(number, size); }
void *realloc(void *old, size_t size) { add(); return __libc_realloc(old, size); }
void *aligned_alloc(size_t by, size_t size) { add(); return __libc_memalign(by, size); }
int posix_memalign(void **to, size_t by, size_t size) { add(); *to = __libc_memalign(by, size); return *to ? 0 : 12; }
__attribute__((destructor)) static void say(void) { dprintf(2, "allocations=%ld\n", count); }
C
clang -O2 -shared -fPIC -o "$work/count.so" "$work/count.c"

allocations() { # allocations WAY ROUNDS
    LD_PRELOAD=$work/count.so "$bench" cache-memory --entries 20 --rounds "$2" --only "$1" 2>&1 >/dev/null |
        sed -n 's/^allocations=//p'
}

failed=0
for way in look-up cached cover; do
    few=$(allocations $way 1000)
    many=$(allocations $way 101000)
    # What else goes on, such as the trim behind the first call, is not the same twice.
    more=$((many - few))
    echo "$way: $more allocations for 100000 hits"
    [ "$more" -lt 1000 ] && [ "$few" -gt 0 ] || failed=1
done
exit $failed
