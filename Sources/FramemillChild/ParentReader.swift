internal import FramemillBorder
internal import FramemillMedia
internal import Synchronization

/// A source whose bytes the parent has.
final class ParentReader: ByteReader {
    private let parent: Parent
    /// Which one of the job's.
    private let index: Int
    let isLocal: Bool
    private let known: Mutex<Int64?>
    /// The bytes that were read last, with some behind them; empty where only what is asked for may be read.
    private let block = Mutex(Block())

    private struct Block {
        var readsAhead = false
        var start: Int64 = 0
        var bytes: [UInt8] = []
    }

    init(_ parent: Parent, _ index: Int, _ source: Job.Source) {
        self.parent = parent
        self.index = index
        isLocal = source.isLocal
        known = Mutex(source.byteCount)
    }

    /// From now on all of the source is at hand for the parent, so that a read may bring what the next one will ask for.
    func readAhead() { block.withLock { $0.readsAhead = true } }

    func dropBlock() { block.withLock { $0.bytes = [] } }

    var byteCount: Int64? {
        known.withLock { known in
            if known != nil { return known }
            var index = index
            var fields = parent.ask(Message(.askLength) { $0.pass(&index) }, for: .length)
            fields.pass(&known)
            return known
        }
    }

    /// The parent counts, and says so in what is made.
    var cost: (bytes: Int64, requests: Int) { (0, 0) }

    func expect(_ range: Range<Int64>) {
        var (index, start, end) = (index, range.lowerBound, range.upperBound)
        parent.say(
            Message(.expect) {
                $0.pass(&index)
                $0.pass(&start)
                $0.pass(&end)
            })
    }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
        guard offset >= 0, buffer.count > 0 else { return 0 }
        let kept = try block.withLock { (block) throws(Failure) -> Int? in
            guard block.readsAhead, buffer.count <= Self.blockBytes / 2 else { return nil }
            if offset < block.start || offset >= block.start + Int64(block.bytes.count) {
                try fill(&block, from: offset)
            }
            let from = Int(offset - block.start)
            let count = min(buffer.count, block.bytes.count - from)
            // `count` bytes on both sides, by the lines above.
            unsafe block.bytes.withUnsafeBytes {
                unsafe buffer.copyMemory(from: .init(rebasing: $0[from..<from + count]))
            }
            return count
        }
        if let kept { return kept }
        return try unsafe parent.read(Wish(source: index, offset: offset, count: 0), into: buffer)
    }

    private func fill(_ block: inout Block, from offset: Int64) throws(Failure) {
        var failure: Failure?
        block.start = offset
        block.bytes = unsafe [UInt8](unsafeUninitializedCapacity: Self.blockBytes) { room, count in
            do throws(Failure) {
                // All of the room that there is.
                let target = UnsafeMutableRawBufferPointer(room)
                count = try unsafe parent.read(Wish(source: index, offset: offset, count: 0), into: target)
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
    }

    private static let blockBytes = 256 << 10
}
