internal import Foundation
internal import Framemill
internal import FramemillMedia

/// How many of the calls of a trace memory answers: ours, and LRU with the same bytes and the same prices.
///
/// 100,000 covers of 2 to 60 KB, small ones more often than large ones, and room for 64 MiB of them, as much as the
/// default has. All is made from fixed seeds: each run prints the same.
struct CacheTraces {
    private static let limit = 64 << 20
    private static let covers = 100_000
    private let calls: Int

    init(_ words: [String]) throws(Failure) {
        var words = words[...]
        var calls = 1_000_000
        while let word = words.popFirst() {
            switch word {
            case "--calls": calls = try Main.number(words.popFirst())
            default: throw Failure(.badOption, .input, Main.usage)
            }
        }
        self.calls = calls
    }

    func run() throws(Failure) {
        print("| trace | LRU | ours |\n|---|---|---|")
        var isBetter = true
        for (name, trace) in traces {
            let (lru, ours) = (share(LRU(limit: Self.limit), trace), share(Ours(limit: Self.limit), trace))
            print("| \(name) | \(Rounds.text(lru)) % | \(Rounds.text(ours)) % |")
            if ours <= lru { isBetter = false }
        }
        if !isBetter { throw Failure(.internalError, .cache, "LRU is as good or better") }
    }

    private var traces: [(String, [Int])] {
        var traces: [(String, [Int])] = []
        let skews = [0.7, 0.9, 1.1]
        for skew in skews { traces.append(("Zipf, skew \(skew)", zipf(skew))) }
        for skew in skews {
            var trace = zipf(skew)
            // Each fourth stretch of 5,000 calls is for covers that nobody asks for again.
            for call in trace.indices where call / 5000 % 4 == 3 { trace[call] = Self.covers + call }
            traces.append(("Zipf, skew \(skew), a quarter of it scans", trace))
        }
        // As many as the room holds, on average of 17 KB and what an entry takes beside.
        let room = Self.limit / 18_500
        for times in [1.1, 1.5, 2, 4] {
            let length = Int(Double(room) * times)
            traces.append(("loop over \(times) times the room", (0..<calls).map { $0 % length }))
        }
        var mixed = zipf(0.9)
        for call in mixed.indices where call % 2 == 0 {
            mixed[call] = Self.covers + call / 2 % (room * 3 / 2)
        }
        traces.append(("loop over 1.5 times the room, half of it Zipf 0.9", mixed))
        var shifting = zipf(0.9)
        for call in shifting.indices { shifting[call] += call / 100_000 * 30_000 }
        traces.append(("Zipf, skew 0.9, other favourites each 100,000 calls", shifting))
        return traces
    }

    /// The cover of rank n is asked for as often as 1 / n to the power of `skew` says.
    private func zipf(_ skew: Double) -> [Int] {
        var (sums, sum, state) = ([Double](), 0.0, UInt64(42))
        for rank in 1...Self.covers {
            sum += pow(Double(rank), -skew)
            sums.append(sum)
        }
        return (0..<calls).map { _ in
            let wanted = Double(Stuff.next(&state) >> 11) / Double(1 << 53) * sum
            var (low, high) = (0, sums.count - 1)
            while low < high {
                let middle = (low + high) / 2
                if sums[middle] < wanted { low = middle + 1 } else { high = middle }
            }
            return low
        }
    }

    private func share(_ policy: some Policy, _ trace: [Int]) -> Double {
        var policy = policy
        let payloads = Self.payloads
        var hits = 0
        for cover in trace {
            // The same for each call of one cover, and as if by chance.
            var state = UInt64(cover + 1) &* 0x9E37_79B9_7F4A_7C15
            let bytes = payloads[Int(Stuff.next(&state) >> 32) % payloads.count]
            if policy.ask(cover, bytes) { hits += 1 }
        }
        return Double(hits) * 100 / Double(trace.count)
    }

    /// From 2 to 60 KB, as many below 11 as above.
    private static let payloads = (0..<256).map { step in
        [UInt8](repeating: 0, count: Int(2000 * exp(Double(step) / 255 * 3.4)))
    }
}

private protocol Policy {
    /// Whether it was there; it is afterwards, if the policy likes.
    mutating func ask(_ cover: Int, _ bytes: [UInt8]) -> Bool
}

private struct Ours: Policy {
    private let cache: MemoryCache

    init(limit: Int) { cache = MemoryCache(bytes: limit) }

    mutating func ask(_ cover: Int, _ bytes: [UInt8]) -> Bool {
        let key = Stuff.key(cover)
        if cache.entry(for: key) != nil { return true }
        cache.store(LRU.artifact(bytes), for: key)
        return false
    }
}

/// By the time of the last use, as exactly as can be.
private struct LRU: Policy {
    private let limit: Int
    private var cost = 0
    private var costs: [Int: Int] = [:]
    private var used: [Int: Int] = [:]
    /// In order of use. A cover that was used again later is passed over.
    private var order: [(cover: Int, call: Int)] = []
    private var head = 0

    init(limit: Int) { self.limit = limit }

    mutating func ask(_ cover: Int, _ bytes: [UInt8]) -> Bool {
        order.append((cover, order.count))
        let isThere = used.updateValue(order.count - 1, forKey: cover) != nil
        if isThere { return true }
        let price = MemoryCache.cost(of: Self.artifact(bytes))
        costs[cover] = price
        cost += price
        while cost > limit {
            let oldest = order[head]
            head += 1
            guard used[oldest.cover] == oldest.call else { continue }
            used[oldest.cover] = nil
            cost -= costs.removeValue(forKey: oldest.cover) ?? 0
        }
        return false
    }

    static func artifact(_ bytes: [UInt8]) -> Artifact {
        Artifact(bytes: bytes, facts: Facts(), origin: .made)
    }
}
