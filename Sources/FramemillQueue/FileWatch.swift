internal import Glibc

/// Tells when another process wrote to a file; of SQLite's write-ahead log, that it committed.
///
/// Only the kernel of this machine tells, and only of a file that is there: what is not told is found out by
/// the time limit of the wait.
struct FileWatch: ~Copyable {
    private let path: String
    private let descriptor: CInt
    private var isWatching = false

    init(_ path: String) {
        self.path = path
        descriptor = inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC))
    }

    deinit { if descriptor >= 0 { close(descriptor) } }

    mutating func wait(_ longest: Duration) {
        if descriptor >= 0, !isWatching {
            // The path lives until the call is over.
            isWatching = unsafe inotify_add_watch(descriptor, path, UInt32(IN_MODIFY | IN_DELETE_SELF)) >= 0
        }
        // Without a descriptor (too many are open) a wait for nothing is the time limit alone.
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // One entry, as the count says.
        let count = unsafe poll(&polled, 1, CInt(clamping: longest.wholeMilliseconds))
        guard count > 0 else { return }
        var events = [UInt8](repeating: 0, count: 4096)
        // Reads as many bytes as there is room for, until none are left. Which events does not matter but for
        // one: the file is gone, and is watched anew when it is there again.
        while unsafe read(descriptor, &events, events.count) > 0 {}
        // The path lives until the call is over.
        if unsafe access(path, F_OK) != 0 { isWatching = false }
    }
}
