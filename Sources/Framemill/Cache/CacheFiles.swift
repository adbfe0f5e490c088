// The file system calls of level 2, each with the answer the cache needs: done, not there, damaged, or not
// now. Plain POSIX: Foundation's forms hide `errno`, and "not there" and "too many open files" need different
// answers.

internal import FoundationEssentials
internal import Glibc
internal import Synchronization

// Where a call below is marked unsafe for a path alone: Swift hands C a copy of the text, ended by a zero,
// that lives until the call is over.
enum CacheFiles {
    /// Why a file can't be read.
    enum Trouble: Error {
        case missing
        /// Not a plain file, or gone wrong in a way that will not pass.
        case bad
        /// The machine can't read it now (no file handles, no memory, an I/O error): the file may be perfect.
        case unreadable
    }

    struct Status {
        var isFile: Bool
        var isFolder: Bool
        var byteCount: Int
        /// Nanoseconds since 1970.
        var modified: Int
    }

    /// A failed call and its `errno`.
    struct Problem: Error {
        var number: CInt
        init() { number = errno }
    }

    /// Seconds since 1970.
    static var now: Int { time(nil) }

    private static func open(_ path: String) throws(Trouble) -> CInt {
        // NONBLOCK, so that a pipe in place of an entry can't hold the thread; NOFOLLOW, so that a link is no
        // entry.
        let descriptor = unsafe Glibc.open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        if descriptor >= 0 { return descriptor }
        switch errno {
        case ENOENT, ENOTDIR: throw .missing
        case ELOOP, ENXIO: throw .bad
        default: throw .unreadable
        }
    }

    /// The `count` bytes behind `head` of a file that begins with it and ends with them; `nil` of any other. Three calls
    /// of the kernel, of which a question for the length would be a fourth: so one byte more is asked for.
    static func read(_ path: String, _ count: Int, behind head: [UInt8]) throws(Trouble) -> [UInt8]? {
        let descriptor = try open(path)
        defer { close(descriptor) }
        var (got, isRight) = (0, false)
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count + 1) { room, filled in
            // Up to 1 KiB lies on the stack; it lives until the closure is over.
            unsafe withUnsafeTemporaryAllocation(byteCount: head.count, alignment: 1) { start in
                unsafe withUnsafeTemporaryAllocation(of: iovec.self, capacity: 2) { parts in
                    unsafe parts.initializeElement(
                        at: 0, to: iovec(iov_base: start.baseAddress, iov_len: head.count))
                    unsafe parts.initializeElement(
                        at: 1, to: iovec(iov_base: room.baseAddress, iov_len: count + 1))
                    // The kernel fills at most `start` and the room, in that order, and says how much it filled.
                    repeat {
                        got = unsafe preadv(descriptor, parts.baseAddress, 2, 0)
                    } while got < 0 && errno == EINTR
                }
                // A file on the disk gives all it has at once; less is one cut short.
                guard got == head.count + count else { return }
                isRight = unsafe head.withUnsafeBytes { head in
                    unsafe memcmp(head.baseAddress!, start.baseAddress!, head.count) == 0
                }
            }
            filled = isRight ? count : 0
        }
        if got < 0 {
            // Of a folder, and of a pipe.
            if errno == EISDIR || errno == ESPIPE { throw .bad }
            throw .unreadable
        }
        return isRight ? bytes : nil
    }

    /// A file to read, closed by `deinit`.
    struct Reading: ~Copyable {
        private let descriptor: CInt
        let byteCount: Int

        private init(_ descriptor: CInt, _ byteCount: Int) {
            (self.descriptor, self.byteCount) = (descriptor, byteCount)
        }

        deinit { close(descriptor) }

        static func open(_ path: String) throws(Trouble) -> Reading {
            let descriptor = try CacheFiles.open(path)
            var info = stat()
            // `info` lives until the call is over.
            let told = unsafe fstat(descriptor, &info)
            let reading = Reading(descriptor, Int(info.st_size))
            if told != 0 { throw .unreadable }
            if info.st_mode & S_IFMT != S_IFREG { throw .bad }
            return reading
        }

        /// Exactly the bytes from `offset` on, behind `start`; a file that ends before is bad.
        func read(_ count: Int, from offset: Int, after start: ArraySlice<UInt8> = []) throws(Trouble)
            -> [UInt8]
        {
            var trouble: Trouble?
            let all = start.count + count
            // The kernel writes at most the bytes that are left of the room, and they are counted as it fills
            // them.
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: all) { room, filled in
                for byte in start {
                    unsafe room[filled] = byte
                    filled += 1
                }
                while filled < all {
                    let got = unsafe pread(
                        descriptor, room.baseAddress! + filled, all - filled, offset + filled - start.count)
                    if got < 0, errno == EINTR { continue }
                    guard got > 0 else {
                        trouble = got < 0 ? .unreadable : .bad
                        return
                    }
                    filled += got
                }
            }
            if let trouble { throw trouble }
            return bytes
        }
    }

    /// Writes and syncs a new file. It has a name that nobody reads; `rename` gives it its own.
    static func write(_ bytes: [UInt8], to path: String) throws(Problem) {
        let file = unsafe Glibc.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw Problem() }
        do throws(Problem) {
            do throws(Problem) {
                try fill(file, bytes)
                guard fsync(file) == 0 else { throw Problem() }
            } catch {
                close(file)
                throw error
            }
            // Some file systems say that the disk is full only here.
            guard close(file) == 0 else { throw Problem() }
        } catch {
            _ = unsafe unlink(path)
            throw error
        }
    }

    static func rename(_ path: String, _ name: String) -> Bool {
        unsafe Glibc.rename(path, name) == 0
    }

    private static func fill(_ file: CInt, _ bytes: [UInt8]) throws(Problem) {
        var written = 0
        while written < bytes.count {
            // The kernel reads at most the bytes that are left of the array.
            let count = unsafe bytes.withUnsafeBytes { rest in
                unsafe Glibc.write(file, rest.baseAddress! + written, rest.count - written)
            }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Problem() }
            written += count
        }
    }

    /// Makes a folder, unless it is there.
    static func makeFolder(_ path: String) throws(Problem) {
        guard unsafe mkdir(path, 0o755) == 0 || errno == EEXIST else { throw Problem() }
    }

    /// The folder and those above it.
    static func makeFolders(_ path: String) throws(Problem) {
        var partial = path.hasPrefix("/") ? "/" : ""
        for part in path.split(separator: "/") {
            partial += "\(part)/"
            try makeFolder(partial)
        }
    }

    /// An advisory lock on a file of its own, given back by `deinit`, or by the kernel when the process dies.
    struct Lock: ~Copyable {
        private let descriptor: CInt

        /// Waits for it; `nil` where there can be none.
        init?(_ path: String, isShared: Bool) {
            descriptor = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
            guard descriptor >= 0 else { return nil }
            while flock(descriptor, isShared ? LOCK_SH : LOCK_EX) != 0 {
                guard errno == EINTR else { return nil }
            }
        }

        deinit { if descriptor >= 0 { close(descriptor) } }
    }

    static func status(_ path: String) -> Status? {
        var info = stat()
        // `info` lives until the call is over.
        guard unsafe lstat(path, &info) == 0 else { return nil }
        return Status(
            isFile: info.st_mode & S_IFMT == S_IFREG, isFolder: info.st_mode & S_IFMT == S_IFDIR,
            byteCount: Int(info.st_size),
            modified: info.st_mtim.tv_sec * 1_000_000_000 + info.st_mtim.tv_nsec
        )
    }

    /// The names in a folder; none when it can't be listed.
    static func names(in folder: String) -> [String] {
        // A folder that has vanished or can't be read holds nothing that could be counted or removed.
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    /// Bytes and files that an ordinary user may still write, and how many there are in all.
    struct Space {
        var freeBytes: Int
        var allBytes: Int
        var freeFiles: Int
        /// 0 where the file system makes as many as are wanted.
        var allFiles: Int
    }

    static func space(at path: String) -> Space? {
        var info = statvfs()
        // `info` lives until the call is over.
        guard unsafe statvfs(path, &info) == 0 else { return nil }
        let block = Int(clamping: info.f_frsize)
        return Space(
            freeBytes: Int(clamping: info.f_bavail) * block,
            allBytes: Int(clamping: info.f_blocks) * block,
            freeFiles: Int(clamping: info.f_favail), allFiles: Int(clamping: info.f_files))
    }

    static func remove(_ path: String) -> Bool { unsafe unlink(path) == 0 }
    static func removeFolder(_ path: String) -> Bool { unsafe rmdir(path) == 0 }
}

/// Names for files that are still being written: process, run of the process, and a count.
enum TemporaryName {
    private static let prefix = ".part-"
    /// In a container each run may get the number of the one before; this tells them apart.
    private static let run = String(UInt64.random(in: 0 ... .max), radix: 16)
    private static let counter = Atomic<Int>(0)
    /// Nobody writes one entry for an hour.
    private static let mostSeconds: Int64 = 3600

    static func make() -> String {
        "\(prefix)\(getpid())-\(run)-\(counter.wrappingAdd(1, ordering: .relaxed).newValue)"
    }

    static func matches(_ name: String) -> Bool { name.hasPrefix(prefix) }

    /// Whether the writer of this file is gone. Another container's process may look dead from here: it loses
    /// one write to the cache, which costs it nothing but time.
    static func isAbandoned(_ name: String, modifiedSecond: Int, now: Int64) -> Bool {
        if now - Int64(modifiedSecond) > mostSeconds { return true }
        let parts = name.dropFirst(prefix.count).split(separator: "-")
        guard parts.count == 3, let process = pid_t(parts[0]), process > 0 else { return true }
        if process == getpid() { return parts[1] != run }
        return kill(process, 0) != 0 && errno == ESRCH
    }
}

extension CacheFiles.Problem {
    var isMissingFolder: Bool { number == ENOENT }
}
