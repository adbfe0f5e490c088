internal import FoundationEssentials
internal import Glibc
import FramemillMedia

/// One file descriptor: opened by `init`, closed by `deinit`. Every call blocks.
struct OpenFile: ~Copyable {
    let descriptor: Int32
    private let owned: Bool

    enum Purpose {
        case read
        /// Read and write, made if missing, kept if there.
        case update
        /// Written from the start; what was there is lost.
        case replace
        /// Written; refused when the name is taken.
        case create
        /// Written as it is and never made: a device or a pipe.
        case append

        fileprivate var flags: Int32 {
            switch self {
            case .read: O_RDONLY | O_CLOEXEC
            case .update: O_RDWR | O_CREAT | O_CLOEXEC
            case .replace: O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC
            case .create: O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC
            case .append: O_WRONLY | O_APPEND | O_CLOEXEC
            }
        }
    }

    init(_ path: String, for purpose: Purpose) throws(Failure) {
        // The pointer is the string's own and is used only within the call.
        descriptor = unsafe open(path, purpose.flags, 0o666)
        owned = true
        guard descriptor >= 0 else {
            let reason: Failure.Reason = errno == ENOENT && purpose == .read ? .notFound : .writeFailed
            throw SystemError.failure(reason, "cannot open \(path)")
        }
    }

    /// A descriptor that belongs to the process, such as standard input.
    init(borrowing descriptor: Int32) {
        self.descriptor = descriptor
        owned = false
    }

    deinit { if owned { close(descriptor) } }

    /// The next bytes, at most `count`; empty at the end.
    func read(upTo count: Int) throws(Failure) -> [UInt8] {
        while true {
            var got = 0
            // The buffer has room for `count` bytes, and the kernel says how many it filled.
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
                got = unsafe Glibc.read(descriptor, buffer.baseAddress, count)
                filled = max(0, got)
            }
            if got >= 0 { return bytes }
            if errno != EINTR { throw SystemError.failure(.internalError, "cannot read") }
        }
    }

    /// The bytes from `offset` on, at most `count`; fewer only at the end.
    func read(upTo count: Int, at offset: Int) throws(Failure) -> [UInt8] {
        var got = 0
        // As above.
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            got = unsafe pread(descriptor, buffer.baseAddress, count, offset)
            filled = max(0, got)
        }
        guard got >= 0 else { throw SystemError.failure(.internalError, "cannot read at \(offset)") }
        return bytes
    }

    /// Writes all of `bytes` where the descriptor stands, or throws.
    func write(_ bytes: some Collection<UInt8>) throws(Failure) {
        let bytes = Array(bytes)
        var done = 0
        while done < bytes.count {
            // The range is inside the array, which outlives the call.
            let wrote = unsafe bytes.withUnsafeBytes { buffer in
                unsafe Glibc.write(descriptor, buffer.baseAddress! + done, buffer.count - done)
            }
            if wrote < 0, errno == EINTR { continue }
            guard wrote > 0 else { throw SystemError.failure(.writeFailed, "cannot write") }
            done += wrote
        }
    }

    func seek(to offset: Int) { _ = lseek(descriptor, offset, SEEK_SET) }

    func truncate(to length: Int) throws(Failure) {
        guard ftruncate(descriptor, length) == 0 else {
            throw SystemError.failure(.writeFailed, "cannot cut")
        }
    }

    func sync() throws(Failure) {
        guard fsync(descriptor) == 0 else { throw SystemError.failure(.writeFailed, "cannot sync") }
    }

    /// `false` when another process holds the lock.
    func lock() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    var status: FileStatus? { FileStatus(descriptor) }
}

/// What `stat` says, as far as we ask.
struct FileStatus {
    var byteCount = 0
    var isRegular = false
    var isDirectory = false
    private var device = 0
    private var inode = 0

    init?(_ descriptor: Int32) {
        var status = stat()
        // `status` outlives the call, which fills it.
        guard unsafe fstat(descriptor, &status) == 0 else { return nil }
        take(status)
    }

    init?(path: String) {
        var status = stat()
        // As above, and the path is used only within the call.
        guard unsafe stat(path, &status) == 0 else { return nil }
        take(status)
    }

    func isSameFile(as other: FileStatus?) -> Bool { device == other?.device && inode == other?.inode }

    private mutating func take(_ status: stat) {
        byteCount = Int(status.st_size)
        isRegular = status.st_mode & S_IFMT == S_IFREG
        isDirectory = status.st_mode & S_IFMT == S_IFDIR
        device = Int(status.st_dev)
        inode = Int(status.st_ino)
    }
}

enum SystemError {
    static func isBrokenPipe(_ failure: Failure) -> Bool { failure.cause == "errno \(EPIPE)" }

    /// `errno` as a failure, in the words of the C library.
    static func failure(_ reason: Failure.Reason, _ message: String) -> Failure {
        let number = errno
        // The C library's message is a constant string, or one of this thread's own.
        let words = unsafe String(cString: strerror(number))
        return Failure(reason, .store, "\(message): \(words)", cause: "errno \(number)")
    }
}

/// Standard output and standard error, unbuffered and safe from any thread.
enum Output {
    /// Pictures, or a long report, to standard output. When its reader has gone away there is nobody to make more for: the
    /// process ends as others in a pipe do, by SIGPIPE and without a word. Every other failure is told.
    static func give(_ bytes: [UInt8], to file: borrowing OpenFile) throws(Failure) {
        do throws(Failure) { try file.write(bytes) } catch {
            if SystemError.isBrokenPipe(error) { Signals.endByBrokenPipe() }
            throw error
        }
    }

    /// What was asked for. A reader that has gone away is no reason to fail: the work is done all the same. A full disk
    /// is one: the answer would be lost without a word.
    static func result(_ text: String) throws(Failure) {
        do throws(Failure) { try OpenFile(borrowing: 1).write(Array("\(text)\n".utf8)) } catch {
            if SystemError.isBrokenPipe(error) { return }
            throw Failure(.writeFailed, .store, "standard output: \(error.message)", cause: error.cause)
        }
    }

    /// What is said beside it, and lost where nobody listens.
    static func note(_ text: String) { raw(text + "\n") }
    static func raw(_ text: String) { try? OpenFile(borrowing: 2).write(Array(text.utf8)) }

    /// Text from outside with nothing in it that could steer a terminal.
    static func tame(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.map { $0.properties.isControl ? "?" : $0 }))
    }
}

extension Unicode.Scalar.Properties {
    fileprivate var isControl: Bool { generalCategory == .control || generalCategory == .format }
}
