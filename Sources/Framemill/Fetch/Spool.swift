internal import FoundationEssentials
internal import FramemillMedia
internal import Glibc

/// The front of a body whose server knows no ranges, in a file without a name: nothing is left behind,
/// whatever ends us.
struct Spool: Sendable {
    let file: OpenFile
    /// Bytes that are in.
    var byteCount: Int64 = 0
    /// Whether the body came to its own end.
    var isWhole = false

    init() throws(Failure) {
        let folder = FileManager.default.temporaryDirectory.path
        let path = "\(folder)/framemill-\(String(UInt64.random(in: 0 ... .max), radix: 36))"
        // Paths are passed as zero-ended text that lives through the call; likewise below.
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            throw Failure(
                .writeFailed, .fetch, "no temporary file in \(folder) (TMPDIR)", cause: systemWords())
        }
        unsafe unlink(path)
        file = OpenFile(takingOwnership: descriptor)
    }

    /// Writes on the network thread: into the page cache, at the pace of the network.
    mutating func append(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
        guard unsafe file.write(bytes, at: byteCount) else {
            throw Failure(
                .writeFailed, .fetch,
                "the temporary file can't take \(byteCount + Int64(bytes.count)) bytes (TMPDIR)",
                cause: systemWords())
        }
        byteCount += Int64(bytes.count)
    }
}
