#pragma once
#include <errno.h>
#include <seccomp.h>
#include <stdint.h>

// A macro with an argument, which Swift can't see: the call fails with EPERM.
static inline uint32_t framemill_refusal(void) { return SCMP_ACT_ERRNO(EPERM); }
