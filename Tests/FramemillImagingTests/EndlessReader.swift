import FramemillMedia
import Synchronization

/// The same bytes over and over, from a source that never says how many there are.
final class EndlessReader: ByteReader {
    private let bytes: [UInt8]
    private let read = Mutex<Int64>(0)
    init(_ bytes: [UInt8]) { self.bytes = bytes }
    var byteCount: Int64? { nil }
    var isLocal: Bool { false }
    var cost: (bytes: Int64, requests: Int) { (read.withLock { $0 }, 1) }
    func expect(_ range: Range<Int64>) {}
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
        let start = Int(offset % Int64(bytes.count))
        let count = min(buffer.count, bytes.count - start)
        unsafe bytes.withUnsafeBytes { source in
            // `count` bytes lie behind `start`, and fit the buffer.
            unsafe buffer.copyMemory(from: .init(rebasing: source[start..<start + count]))
        }
        read.withLock { $0 += Int64(count) }
        return count
    }
}
