/// Pieces of a source that are in memory, the least recently read thrown away first.
struct ExtentCache: Sendable {
    private struct Extent: Sendable {
        var offset: Int64
        var bytes: [UInt8]
        var lastUse: Int
        var end: Int64 { offset + Int64(bytes.count) }
    }
    /// In order of their offsets.
    private var extents: [Extent] = []
    private var clock = 0
    private(set) var byteCount = 0
    private let capacity: Int

    init(capacity: Int) { self.capacity = capacity }

    mutating func insert(_ bytes: [UInt8], at offset: Int64) {
        guard !bytes.isEmpty else { return }
        clock += 1
        let place = firstIndex(after: offset)
        let new = Extent(offset: offset, bytes: bytes, lastUse: clock)
        if place > 0, extents[place - 1].end >= new.end { return }
        if place > 0, extents[place - 1].offset == offset {
            byteCount -= extents[place - 1].bytes.count
            extents[place - 1] = new
        } else {
            extents.insert(new, at: place)
        }
        byteCount += bytes.count
        while byteCount > capacity, extents.count > 1 {
            let oldest = extents.indices.min { extents[$0].lastUse < extents[$1].lastUse }!
            byteCount -= extents.remove(at: oldest).bytes.count
        }
    }

    /// Copies what is there from `offset` on, without a gap, and says how many bytes.
    mutating func copy(from offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int {
        clock += 1
        var done = 0
        while done < buffer.count, let index = index(holding: offset + Int64(done)) {
            extents[index].lastUse = clock
            let start = Int(offset + Int64(done) - extents[index].offset)
            let count = min(buffer.count - done, extents[index].bytes.count - start)
            // `count` bytes are there on both sides, by the line above.
            unsafe extents[index].bytes.withUnsafeBytes { bytes in
                unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[done..<done + count])
                    .copyMemory(from: UnsafeRawBufferPointer(rebasing: bytes[start..<start + count]))
            }
            done += count
        }
        return done
    }

    /// All that is there, in order.
    var pieces: [SourceBlocks.Piece] { extents.map { .init(offset: $0.offset, bytes: $0.bytes) } }

    /// The first offset from `offset` on that is not there.
    func gap(from offset: Int64) -> Int64 {
        var gap = offset
        while let index = index(holding: gap) { gap = extents[index].end }
        return gap
    }

    /// Where the next piece after `offset` starts.
    func start(after offset: Int64) -> Int64? {
        let place = firstIndex(after: offset)
        return place < extents.count ? extents[place].offset : nil
    }

    private func index(holding offset: Int64) -> Int? {
        let place = firstIndex(after: offset)
        return place > 0 && extents[place - 1].end > offset ? place - 1 : nil
    }

    /// The first extent that starts after `offset`, by halving.
    private func firstIndex(after offset: Int64) -> Int {
        var range = extents.startIndex..<extents.endIndex
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            range =
                extents[middle].offset <= offset ? middle + 1..<range.upperBound : range.lowerBound..<middle
        }
        return range.lowerBound
    }
}
