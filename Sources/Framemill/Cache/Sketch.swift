/// How often keys were asked for of late, nearly: a count-min sketch of small numbers (TinyLFU). A key has four
/// counters, which it shares with others, and is taken to be as frequent as the lowest of them says. They lie in 64
/// neighbouring bytes, so that counting costs one look into memory. All are halved from time to time (by whoever has
/// them, so that several of them stay comparable), and a favourite of yesterday is none for ever.
struct Sketch {
    static let most: UInt8 = 15
    private var blocks: [InlineArray<64, UInt8>]
    /// What was counted since the last halving. A key that is at its most counts no more, and writes nothing.
    private(set) var added = 0

    /// - Parameter counters: a power of two, and 64 at least.
    init(counters: Int) { blocks = Array(repeating: InlineArray(repeating: 0), count: counters / 64) }

    func frequency(of key: CacheKey) -> Int { Int(lowest(key.spread, block(of: key))) }

    mutating func add(_ key: CacheKey) {
        let (bits, block) = (key.spread, block(of: key))
        let lowest = lowest(bits, block)
        guard lowest < Self.most else { return }
        // The higher ones are others' already.
        for row in 0..<4 where blocks[block][Self.place(bits, row)] == lowest {
            blocks[block][Self.place(bits, row)] = lowest + 1
        }
        added += 1
    }

    mutating func halve() {
        added = 0
        for block in blocks.indices {
            for place in 0..<64 { blocks[block][place] >>= 1 }
        }
    }

    private func lowest(_ bits: UInt64, _ block: Int) -> UInt8 {
        var lowest = Self.most
        for row in 0..<4 { lowest = min(lowest, blocks[block][Self.place(bits, row)]) }
        return lowest
    }

    private func block(of key: CacheKey) -> Int {
        Int(truncatingIfNeeded: key.spread >> 16) & (blocks.count - 1)
    }

    /// Each row has a quarter of the block.
    private static func place(_ bits: UInt64, _ row: Int) -> Int {
        row * 16 + Int(truncatingIfNeeded: bits >> UInt64(row * 4)) & 15
    }
}
