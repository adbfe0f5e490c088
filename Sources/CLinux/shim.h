#pragma once
// What the C library has for Linux alone, and Swift's Glibc module leaves out, since it is built without _GNU_SOURCE.
#include <signal.h>
#include <spawn.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/ipc.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/types.h>

extern int eventfd(unsigned int count, int flags);
extern int pipe2(int descriptors[2], int flags);
extern int close_range(unsigned int first, unsigned int last, int flags);
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern int prlimit(pid_t pid, unsigned int resource, const struct rlimit *next, struct rlimit *last);

// <sys/eventfd.h>: EFD_CLOEXEC | EFD_NONBLOCK, which are those of open(2).
static const int framemill_eventfd_flags = 02000000 | 04000;
static const short framemill_spawn_session = 0x80;  // POSIX_SPAWN_SETSID

// <sys/socket.h>: SOCK_STREAM | SOCK_CLOEXEC, of an enumeration that several modules claim.
static const int framemill_socket_kind = 1 | 02000000;

// Neither blocked nor ignored, whatever the parent does with its signals; `sigset_t` is a type that several modules claim.
static inline void framemill_spawn_plain_signals(posix_spawnattr_t *attributes) {
    sigset_t set;
    sigemptyset(&set);
    posix_spawnattr_setsigmask(attributes, &set);
    sigfillset(&set);
    posix_spawnattr_setsigdefault(attributes, &set);
}

// Variadic in C.
static inline int framemill_prctl(int option, unsigned long value) { return prctl(option, value, 0, 0, 0); }
