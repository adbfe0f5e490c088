/// Random access to the bytes of one source, from a thread that may block.
///
/// Imaging reads everything through this; where the bytes come from (a file, ranged requests, a parent process) is
/// not its business.
public protocol ByteReader: AnyObject, Sendable {
    /// The whole length, `nil` while nobody has said it.
    var byteCount: Int64? { get }
    /// Copies bytes from `offset` into the front of `buffer` and says how many; 0 only at the end of the source.
    /// Blocks until at least one is there.
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int
    /// These bytes, and no others, will be asked for next: fetch them in one go.
    func expect(_ range: Range<Int64>)
    /// Bytes received and requests made so far.
    var cost: (bytes: Int64, requests: Int) { get }
    /// Whether far reads cost nothing worth saving (a local file).
    var isLocal: Bool { get }
}

/// Bytes that are already in memory.
public final class MemoryReader: ByteReader {
    private let bytes: [UInt8]
    public init(_ bytes: [UInt8]) { self.bytes = bytes }
    public var byteCount: Int64? { Int64(bytes.count) }
    public func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
        guard offset >= 0, offset < bytes.count else { return 0 }
        let count = min(buffer.count, bytes.count - Int(offset))
        // Both sides hold `count` bytes from where they start, by the line above.
        unsafe bytes.withUnsafeBytes { source in
            unsafe buffer.copyMemory(from: .init(rebasing: source[Int(offset)..<Int(offset) + count]))
        }
        return count
    }
    public func expect(_ range: Range<Int64>) {}
    public var cost: (bytes: Int64, requests: Int) { (Int64(bytes.count), 0) }
    public var isLocal: Bool { true }
}
