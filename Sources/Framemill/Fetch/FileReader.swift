internal import FramemillMedia
internal import Glibc
internal import Synchronization

/// A file that is open; closes with the last reference. Reads and writes name their offset, so threads may
/// share it.
final class OpenFile: Sendable {
    private let descriptor: Int32

    init(takingOwnership descriptor: Int32) { self.descriptor = descriptor }
    deinit { close(descriptor) }

    /// Reads up to the buffer's size; 0 at the end, `nil` when the disk fails (`errno` says how).
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        while true {
            // The buffer holds as many bytes as are asked for.
            let count = unsafe pread(descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            if count >= 0 { return count }
            if errno != EINTR { return nil }
        }
    }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Bool {
        var done = 0
        while done < bytes.count {
            // What is left of the buffer, from `done` to its end.
            let rest = unsafe UnsafeRawBufferPointer(rebasing: bytes[done...])
            let count = unsafe pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset) + off_t(done))
            if count < 0, errno != EINTR { return false }
            done += max(0, count)
        }
        return true
    }
}

/// The words of the system for its last error on this thread.
func systemWords(_ code: Int32 = errno) -> String {
    // The text is copied before anybody else asks; glibc's is per thread.
    unsafe "errno \(code): \(String(cString: strerror(code)))"
}

/// A source on this machine.
final class FileReader: ByteReader {
    private let file: OpenFile
    private let path: String
    /// What was read, each byte once: libav comes back to the same places, which the page cache answers.
    private let seen = Mutex(RangeSet<Int64>())
    let byteCount: Int64?
    var isLocal: Bool { true }

    /// Opens a regular file. Blocks for as long as the disk does.
    init(path: String) throws(Failure) {
        // O_NONBLOCK, or a FIFO would wait here for its writer. The path lives through the call.
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            // Out of handles or memory: the file may be there, and later it can be had.
            if [EMFILE, ENFILE, ENOMEM].contains(errno) {
                throw Failure(
                    .outOfMemory, .fetch, "the system has no handle for \(path) (ulimit -n)",
                    cause: systemWords())
            }
            throw Failure(.notFound, .fetch, "can't open \(path)", cause: systemWords())
        }
        file = OpenFile(takingOwnership: descriptor)
        self.path = path
        var facts = stat()
        // Writes one `stat`, which `facts` is.
        guard unsafe fstat(descriptor, &facts) == 0 else {
            throw Failure(.notFound, .fetch, "can't look at \(path)", cause: systemWords())
        }
        switch facts.st_mode & S_IFMT {
        case S_IFREG: break
        case S_IFDIR: throw Failure(.notFound, .fetch, "\(path) is a directory, not a file")
        default: throw Failure(.notMedia, .fetch, "\(path) is a pipe, socket or device, not a file")
        }
        guard facts.st_size > 0 else { throw Failure(.empty, .fetch, "\(path) is empty (0 bytes)") }
        byteCount = Int64(facts.st_size)
    }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
        guard offset >= 0, offset < byteCount ?? .max else { return 0 }
        guard let count = unsafe file.read(at: offset, into: buffer) else {
            throw Failure(.notFound, .fetch, "can't read \(path)", cause: systemWords())
        }
        seen.withLock { $0.insert(contentsOf: offset..<offset + Int64(count)) }
        return count
    }

    func expect(_ range: Range<Int64>) {}
    var cost: (bytes: Int64, requests: Int) {
        (seen.withLock { $0.ranges.reduce(0) { $0 + Int64($1.count) } }, 0)
    }
}
