#pragma once
#include <stddef.h>
#include <stdint.h>

// libFuzzer's, where the build has it (-sanitize=fuzzer).
__attribute__((weak)) int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*body)(const uint8_t *, size_t));

static inline int framemill_has_fuzzer(void) { return LLVMFuzzerRunDriver != 0; }

static inline int framemill_run_fuzzer(int argc, char **argv, int (*body)(const uint8_t *, size_t)) {
    return LLVMFuzzerRunDriver(&argc, &argv, body);
}
