internal import FramemillEngine
internal import FramemillMedia

/// One chunk of a PNG: what it is, and where its data lies.
struct PNGChunk {
    var type: String
    /// The first byte of its data; its length and type stand in front of it.
    var start: Int64
    var count: Int
    /// The source holds all of it.
    var isWhole: Bool
    /// Behind its checksum.
    var end: Int64 { start + Int64(count) + 4 }
}

/// A walk from chunk to chunk. Data is passed over: of a long file on a far server little more than the chunks'
/// headers is asked for.
struct PNGWalker {
    private let reader: any ByteReader
    private let stop: Stop
    private var window: [UInt8] = []
    private var windowStart: Int64 = 0
    private var offset = Int64(PNGStream.signature.count)

    /// More than a frame's control chunk, the header of its data, and of what follows short data.
    private static let windowBytes = 4096

    init(_ reader: any ByteReader, stop: Stop) {
        self.reader = reader
        self.stop = stop
    }

    /// `nil` where no chunk begins any more. A chunk that is not whole is the last one.
    mutating func next() throws(Failure) -> PNGChunk? {
        try stop.check(.fetch)
        let head = try bytes(at: offset, count: 8)
        guard head.count == 8 else { return nil }
        let count = Self.big32(head, 0)
        // PNG's lengths end at 2^31 - 1.
        guard count <= 0x7FFF_FFFF else { return nil }
        var chunk = PNGChunk(
            type: String(decoding: head.dropFirst(4), as: UTF8.self), start: offset + 8, count: count,
            isWhole: true)
        chunk.isWhole = try reaches(chunk.end)
        offset = chunk.end
        return chunk
    }

    /// The first bytes of a chunk's data, as many as there are.
    mutating func body(of chunk: PNGChunk, prefix: Int) throws(Failure) -> ArraySlice<UInt8> {
        try bytes(at: chunk.start, count: min(chunk.count, prefix))
    }

    /// The number that stands `index` bytes behind the first.
    static func big32(_ bytes: ArraySlice<UInt8>, _ index: Int) -> Int {
        bytes.dropFirst(index).prefix(4).reduce(0) { $0 << 8 | Int($1) }
    }

    private mutating func reaches(_ end: Int64) throws(Failure) -> Bool {
        if let count = reader.byteCount { return end <= count }
        return try bytes(at: end - 1, count: 1).count == 1
    }

    private mutating func bytes(at offset: Int64, count: Int) throws(Failure) -> ArraySlice<UInt8> {
        if offset < windowStart || offset + Int64(count) > windowStart + Int64(window.count) {
            window = try reader.bytes(at: offset, count: max(count, Self.windowBytes))
            windowStart = offset
        }
        return window.dropFirst(Int(offset - windowStart)).prefix(count)
    }
}

extension ByteReader {
    /// Up to `count` bytes; fewer only where the source ends.
    func bytes(at offset: Int64, count: Int) throws(Failure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let at = filled
            let got = try unsafe bytes.lendingMutable { room throws(Failure) in
                // What is left of the room made above.
                try unsafe read(
                    at: offset + Int64(at), into: UnsafeMutableRawBufferPointer(rebasing: room[at...]))
            }
            if got == 0 { break }
            filled += got
        }
        bytes.removeLast(count - filled)
        return bytes
    }
}
