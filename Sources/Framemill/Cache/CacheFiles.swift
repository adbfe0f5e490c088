// The file system calls of level 2, each with the answer the cache needs: done, not there, damaged, or not now.
// Plain POSIX: Foundation's forms hide `errno`, and "not there" and "too many open files" need different answers.

internal import FoundationEssentials
internal import Glibc
internal import Synchronization

// Where a call below is marked unsafe for a path alone: Swift hands C a copy of the text, ended by a zero, that lives until
// the call is over.
enum CacheFiles {
    enum Content {
        /// Everything in the file, and when it was last written or touched, in seconds since 1970.
        case bytes([UInt8], modified: Int)
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

    /// - Parameter most: a file larger than this is bad.
    static func read(_ path: String, most: Int) -> Content {
        // NONBLOCK, so that a pipe in place of an entry can't hold the lane; NOFOLLOW, so that a link is no entry.
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard file >= 0 else {
            switch errno {
            case ENOENT, ENOTDIR: return .missing
            case ELOOP, ENXIO: return .bad
            default: return .unreadable
            }
        }
        defer { close(file) }
        var info = stat()
        // `info` lives until the call is over.
        guard unsafe fstat(file, &info) == 0 else { return .unreadable }
        guard info.st_mode & S_IFMT == S_IFREG, Int(info.st_size) <= most else { return .bad }
        var bytes = [UInt8](repeating: 0, count: Int(info.st_size))
        var filled = 0
        while filled < bytes.count {
            // The kernel writes at most the bytes that are left of the array.
            let count = unsafe bytes.withUnsafeMutableBytes { room in
                unsafe Glibc.read(file, room.baseAddress! + filled, room.count - filled)
            }
            if count < 0, errno == EINTR { continue }
            if count < 0 { return .unreadable }
            if count == 0 { return .bad }
            filled += count
        }
        return .bytes(bytes, modified: Int(info.st_mtim.tv_sec))
    }

    /// Writes a file that nobody can see half of: under a name of its own first, synced, then renamed.
    static func write(_ bytes: [UInt8], to path: String, temporary: String) throws(Problem) {
        let file = unsafe open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
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
            guard unsafe rename(temporary, path) == 0 else { throw Problem() }
        } catch {
            _ = unsafe unlink(temporary)
            throw error
        }
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

    /// Makes a folder; `false` when it was there.
    static func makeFolder(_ path: String) throws(Problem) -> Bool {
        if unsafe mkdir(path, 0o755) == 0 { return true }
        guard errno == EEXIST else { throw Problem() }
        return false
    }

    static func status(_ path: String) -> Status? {
        var info = stat()
        // `info` lives until the call is over.
        guard unsafe lstat(path, &info) == 0 else { return nil }
        return Status(
            isFile: info.st_mode & S_IFMT == S_IFREG, isFolder: info.st_mode & S_IFMT == S_IFDIR,
            byteCount: Int(info.st_size), modified: info.st_mtim.tv_sec * 1_000_000_000 + info.st_mtim.tv_nsec
        )
    }

    /// The names in a folder; none when it can't be listed.
    static func names(in folder: String) -> [String] {
        // A folder that has vanished or can't be read holds nothing that could be counted or removed.
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    /// Says that an entry was used: eviction goes by this time, because many file systems keep no access times.
    static func touch(_ path: String) {
        // No times given means now, for both of them.
        _ = unsafe utimensat(AT_FDCWD, path, nil, AT_SYMLINK_NOFOLLOW)
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
    private static let mostSeconds = 3600

    static func make() -> String {
        "\(prefix)\(getpid())-\(run)-\(counter.wrappingAdd(1, ordering: .relaxed).newValue)"
    }

    static func matches(_ name: String) -> Bool { name.hasPrefix(prefix) }

    /// Whether the writer of this file is gone. Another container's process may look dead from here: it loses one
    /// write to the cache, which costs it nothing but time.
    static func isAbandoned(_ name: String, modifiedSecond: Int) -> Bool {
        if CacheFiles.now - modifiedSecond > mostSeconds { return true }
        let parts = name.dropFirst(prefix.count).split(separator: "-")
        guard parts.count == 3, let process = pid_t(parts[0]), process > 0 else { return true }
        if process == getpid() { return parts[1] != run }
        return kill(process, 0) != 0 && errno == ESRCH
    }
}

extension CacheFiles.Problem {
    var isMissingFolder: Bool { number == ENOENT }
}
