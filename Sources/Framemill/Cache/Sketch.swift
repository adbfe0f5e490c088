/// How often keys were asked for of late, nearly: a count-min sketch of small numbers (TinyLFU). A key has three
/// counters, which it shares with others, and is taken to be as frequent as the lowest of them says. All are halved from
/// time to time, so that a favourite of yesterday is none for ever.
struct Sketch {
    static let most = 15
    private var counters: [UInt8]
    private var added = 0
    /// What is added between two halvings: with half as many as there are counters, most stay exact.
    let period: Int

    /// - Parameter counters: a power of two.
    init(counters: Int) {
        self.counters = [UInt8](repeating: 0, count: counters)
        period = counters / 2
    }

    func frequency(of key: CacheKey) -> Int {
        let (first, second, third) = places(key)
        return Int(min(counters[first], counters[second], counters[third]))
    }

    mutating func add(_ key: CacheKey) {
        let (first, second, third) = places(key)
        let lowest = min(counters[first], counters[second], counters[third])
        if lowest < Self.most {
            // The higher ones are others' already.
            for place in [first, second, third] where counters[place] == lowest { counters[place] += 1 }
        }
        added += 1
        if added >= period { halve() }
    }

    private mutating func halve() {
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
