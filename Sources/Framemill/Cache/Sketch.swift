/// How often keys were asked for of late, nearly: a count-min sketch of small numbers (TinyLFU). A key has three
/// counters, which it shares with others, and is taken to be as frequent as the lowest of them says. All are halved from
/// time to time (by whoever has them, so that several of them stay comparable), and a favourite of yesterday is none for
/// ever.
struct Sketch {
    static let most = 15
    private var counters: [UInt8]
    /// What was counted since the last halving. A key that is at its most counts no more, and writes nothing.
    private(set) var added = 0

    /// - Parameter counters: a power of two.
    init(counters: Int) {
        self.counters = [UInt8](repeating: 0, count: counters)
    }

    func frequency(of key: CacheKey) -> Int {
        let (first, second, third) = places(key)
        return Int(min(counters[first], counters[second], counters[third]))
    }

    mutating func add(_ key: CacheKey) {
        let (first, second, third) = places(key)
        let lowest = min(counters[first], counters[second], counters[third])
        guard lowest < Self.most else { return }
        // The higher ones are others' already; and two places may be one.
        let next = lowest + 1
        counters[first] = max(counters[first], next)
        counters[second] = max(counters[second], next)
        counters[third] = max(counters[third], next)
        added += 1
    }

    mutating func halve() {
        added = 0
        for place in counters.indices { counters[place] >>= 1 }
    }

    private func places(_ key: CacheKey) -> (Int, Int, Int) {
        let (bits, mask) = (key.spread, counters.count - 1)
        return (
            Int(truncatingIfNeeded: bits) & mask, Int(truncatingIfNeeded: bits >> 21) & mask,
            Int(truncatingIfNeeded: bits >> 42) & mask
        )
    }
}
