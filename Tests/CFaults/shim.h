#pragma once
// What a decoder must not be able to do, tried in earnest: system calls as they are, which Swift can't make (variadic).
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static inline int framemill_attempt_result(long code) { return code < 0 ? errno : 0; }

// 0, or the number of the error. Outside of the walls each of them gets another answer than EPERM.
static inline int framemill_attempt_connect(void) {
    // On the socket there is, as well as on one of its own.
    struct sockaddr_in place = {.sin_family = AF_INET, .sin_port = 0x0900, .sin_addr = {0x0100007F}};
    return framemill_attempt_result(syscall(SYS_connect, 3, &place, sizeof place));
}
static inline int framemill_attempt_socket(void) {
    return framemill_attempt_result(syscall(SYS_socket, AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
}
static inline int framemill_attempt_open(const char *path) {
    return framemill_attempt_result(syscall(SYS_open, path, O_RDONLY | O_CLOEXEC));
}
static inline int framemill_attempt_openat(const char *path) {
    return framemill_attempt_result(syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC));
}
static inline int framemill_attempt_create(const char *path) {
    return framemill_attempt_result(syscall(SYS_open, path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
}
static inline int framemill_attempt_stat(const char *path) {
    char room[512];
    return framemill_attempt_result(syscall(SYS_stat, path, room));
}
static inline int framemill_attempt_fork(void) {
    long pid = syscall(SYS_fork);
    if (pid == 0) syscall(SYS_exit_group, 0);
    if (pid > 0) syscall(SYS_wait4, pid, (void *)0, 0, (void *)0);
    return framemill_attempt_result(pid);
}
static inline int framemill_attempt_thread(void) {
    // Without a stack and without flags it is a process like that of fork.
    long pid = syscall(SYS_clone, SIGCHLD, (void *)0, (void *)0, (void *)0, (void *)0);
    if (pid == 0) syscall(SYS_exit_group, 0);
    if (pid > 0) syscall(SYS_wait4, pid, (void *)0, 0, (void *)0);
    return framemill_attempt_result(pid);
}
static inline int framemill_attempt_exec(const char *path) {
    char *none[] = {(char *)0};
    return framemill_attempt_result(syscall(SYS_execve, path, none, none));
}
static inline int framemill_attempt_ptrace(void) {
    return framemill_attempt_result(syscall(SYS_ptrace, PTRACE_TRACEME, 0, 0, 0));
}
static inline int framemill_attempt_kill(void) {
    return framemill_attempt_result(syscall(SYS_kill, (pid_t)syscall(SYS_getpid), 0));
}
static inline int framemill_attempt_signal_parent(void) {
    return framemill_attempt_result(syscall(SYS_tgkill, (pid_t)syscall(SYS_getppid), 1, 0));
}
static inline int framemill_attempt_run_data(void) {
    void *page = mmap((void *)0, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) return errno;
    munmap(page, 4096);
    return 0;
}
static inline int framemill_attempt_ring(void) {
    return framemill_attempt_result(syscall(425 /* io_uring_setup */, 1, (void *)0));
}

// As `abort` does.
static inline void framemill_attempt_raise(int signal) {
    syscall(SYS_tgkill, (pid_t)syscall(SYS_getpid), (pid_t)syscall(SYS_gettid), signal);
}
