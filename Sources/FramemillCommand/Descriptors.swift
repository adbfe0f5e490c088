internal import Glibc

/// What the process inherits of file descriptors, put in order before anything is opened.
enum Descriptors {
    static func prepare() {
        // Closed by the caller, their numbers would go to the next files, and messages would be written into those.
        // Opened the wrong way round, so that whoever uses them is told (as gnulib's `stdopen` does).
        for (number, mode) in [(Int32(0), O_WRONLY), (1, O_RDONLY), (2, O_RDONLY)]
        where fcntl(number, F_GETFD) == -1 {
            // The lowest free number is the one that is missing. The path is used only within the call.
            _ = unsafe open("/dev/null", mode)
        }
        // The usual soft limit, 1024, is below what some hundred jobs over some hundred connections need.
        var limit = rlimit()
        // Both calls use `limit`, which outlives them. Refused: the limit stays, and what fails for it says so.
        guard unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        // Never lowered.
        limit.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, 1 << 16))
        _ = unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
