// The walls around a decoder. All that needs a file, a thread or the network is over when they go up: from then on the
// process can compute, take memory up to its limit, and speak on the socket that it was started with.
//
// A list of what is allowed, not of what is forbidden: the kernel gains system calls every year. What is not on it fails
// with EPERM rather than ending the process, since libraries look for files that they can do without (CPU counts, locales).

internal import CLinux
internal import CSeccomp
internal import FramemillBorder
internal import FramemillMedia
internal import Glibc

enum Jail {
    /// Shuts in all threads of this process, for good.
    /// - Parameter memoryBytes: what may be taken beside that which is taken already.
    /// - Throws: `internalError` where the system has no such walls; nothing may be decoded then.
    static func close(memoryBytes: Int) throws(Failure) {
        // Nobody of this user can look into it or steer it, and no file of its memory is written.
        try check(framemill_prctl(PR_SET_DUMPABLE, 0), "PR_SET_DUMPABLE")
        try check(framemill_prctl(PR_SET_NO_NEW_PRIVS, 1), "PR_SET_NO_NEW_PRIVS")
        // Beyond these two there is nothing to talk to.
        try check(close_range(UInt32(Border.control) + 1, .max, 0), "close_range")
        try limit(memoryBytes)
        try filter()
    }

    private static func limit(_ memoryBytes: Int) throws(Failure) {
        let limits: [(__rlimit_resource, Int, String)] = [
            (RLIMIT_AS, mapped() + memoryBytes, "RLIMIT_AS"),
            (RLIMIT_FSIZE, 0, "RLIMIT_FSIZE"),
            (RLIMIT_CORE, 0, "RLIMIT_CORE"),
            (__RLIMIT_NPROC, 0, "RLIMIT_NPROC"),
            // As many as there are, so that no other one can be had.
            (RLIMIT_NOFILE, Int(Border.control) + 1, "RLIMIT_NOFILE"),
        ]
        for (resource, most, name) in limits {
            var value = rlimit()
            try check(unsafe prlimit(0, resource.rawValue, nil, &value), name)
            // Where whoever started all this allows less, that stands.
            let least = min(rlim_t(most), value.rlim_max)
            value = rlimit(rlim_cur: least, rlim_max: least)
            try check(unsafe prlimit(0, resource.rawValue, &value, nil), name)
        }
    }

    /// Bytes of address space in use: libraries, stacks, and what a sanitizer takes for itself.
    private static func mapped() -> Int {
        var text = [UInt8](repeating: 0, count: 64)
        let file = unsafe open("/proc/self/statm", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return 1 << 30 }
        let count = unsafe text.withUnsafeMutableBytes { unsafe read(file, $0.baseAddress, $0.count) }
        Glibc.close(file)
        let word = String(decoding: text[..<max(0, count)], as: UTF8.self).split(separator: " ").first
        return (word.flatMap { Int($0) } ?? 1 << 18) * Int(getpagesize())
    }

    /// What computing takes: memory, locks between threads, clocks, and the two descriptors there are.
    private static let allowed = [
        "read", "write", "recvfrom", "sendto", "poll", "close",
        "munmap", "mremap", "madvise", "brk",
        "futex", "sched_yield", "sched_getaffinity", "rseq", "set_robust_list", "membarrier",
        "clock_gettime", "clock_getres", "clock_nanosleep", "gettimeofday", "nanosleep", "times", "getrusage",
        "getrandom", "getpid", "gettid", "getuid", "geteuid", "getgid", "getegid", "sysinfo",
        "rt_sigaction", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "restart_syscall",
        "exit", "exit_group",
    ]

    private static func filter() throws(Failure) {
        guard let filter = unsafe seccomp_init(framemill_refusal()) else {
            throw refusal("seccomp_init", ENOMEM)
        }
        defer { unsafe seccomp_release(filter) }
        // All threads, also those that wait for work.
        try check(unsafe -seccomp_attr_set(filter, SCMP_FLTATR_CTL_TSYNC, 1), "SCMP_FLTATR_CTL_TSYNC")
        // No new privileges are had already, and must stay so.
        for name in allowed { unsafe try allow(name, [], filter) }
        // Memory that is written to is never run.
        let isData = scmp_arg_cmp(
            arg: 2, op: SCMP_CMP_MASKED_EQ, datum_a: scmp_datum_t(PROT_EXEC), datum_b: 0)
        for name in ["mmap", "mprotect"] { unsafe try allow(name, [isData], filter) }
        // To itself alone, as `abort` does.
        let isOwn = scmp_arg_cmp(arg: 0, op: SCMP_CMP_EQ, datum_a: scmp_datum_t(getpid()), datum_b: 0)
        unsafe try allow("tgkill", [isOwn], filter)
        try check(unsafe -seccomp_load(filter), "seccomp_load")
    }

    private static func allow(
        _ name: String, _ conditions: [scmp_arg_cmp], _ filter: scmp_filter_ctx
    ) throws(Failure) {
        // The name and the conditions live through the calls.
        let number = unsafe seccomp_syscall_resolve_name(name)
        // Not on this kind of machine.
        guard number >= 0 else { return }
        let code = unsafe conditions.withUnsafeBufferPointer {
            unsafe seccomp_rule_add_array(
                filter, SCMP_ACT_ALLOW, number, UInt32(conditions.count), $0.baseAddress)
        }
        try check(-code, name)
    }

    /// 0 is good; -1 has its number in `errno`, others are numbers themselves.
    private static func check(_ code: Int32, _ what: String) throws(Failure) {
        if code != 0 { throw refusal(what, code > 0 ? code : errno) }
    }

    private static func refusal(_ what: String, _ code: Int32) -> Failure {
        Failure(
            .internalError, .decode,
            "a decoder process could not be shut in; it needs Linux with seccomp, and a container that allows it",
            // glibc's text is per thread, and copied at once.
            cause: unsafe "\(what): errno \(code): \(String(cString: strerror(code)))")
    }
}
