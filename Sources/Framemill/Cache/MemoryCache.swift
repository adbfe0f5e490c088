// Level 1: finished pictures in memory, bounded by what they really cost.
//
// Entries are found in one of 256 tables, each with a lock of its own, so that threads seldom meet. Who goes is decided
// by one `EvictionOrder` over all of them, so that the limit is one limit and a large entry may take what many small ones
// left. A hit takes a table's lock alone and moves nothing; who stores takes the order's, and within it the tables' in
// turn, never the other way round.

package import FramemillMedia
internal import Synchronization

package final class MemoryCache: Sendable {
    private struct Shard: ~Copyable, Sendable {
        let table: Mutex<MemoryTable>
        /// Keeps the lock of the next one out of this one's cache line, or two threads would wait for one all the same.
        private let apart = InlineArray<8, Int>(repeating: 0)

        init(_ counters: Int) { table = Mutex(MemoryTable(counters: counters)) }
    }
    /// In here, not objects of their own: a reference that all threads take to one is a write they all wait for.
    private let shards: InlineArray<256, Shard>
    /// The most that is counted between two halvings of all counters: with half as many as there are of them, most stay
    /// exact.
    private let mostCounted: Int
    private struct State {
        var order: EvictionOrder
        var stores = 0
    }
    private let state: Mutex<State>

    /// - Parameter bytes: the limit on the cost of all entries; 0 keeps nothing. What counts how often keys are asked
    ///   for takes a thousandth beside it, and the empty tables 100 KiB.
    package init(bytes: Int) {
        let counters = min(max(64, bytes / 1024 / 256), 1 << 16)
        // The power of two that is not above it.
        let rounded = 1 << (Int.bitWidth - 1 - counters.leadingZeroBitCount)
        shards = InlineArray { _ in Shard(rounded) }
        mostCounted = rounded * 256 / 2
        state = Mutex(State(order: EvictionOrder(limit: bytes)))
    }

    private func withTable<Result>(_ key: CacheKey, _ body: (inout MemoryTable) -> Result) -> Result {
        shards[Int(truncatingIfNeeded: key.rowNumber) & 255].table.withLock { body(&$0) }
    }

    private func sum(_ part: (MemoryTable) -> Int) -> Int {
        shards.indices.reduce(0) { sum, shard in sum + shards[shard].table.withLock { part($0) } }
    }

    /// What is kept; a picture is marked as coming from memory. Shared with the cache, not copied.
    package func entry(for key: CacheKey) -> CacheFound? { withTable(key) { $0.find(key) } }

    /// The picture, if it may be served without a question to anybody.
    /// - Parameter now: seconds since 1970.
    package func served(for key: CacheKey, _ reuse: Reuse, now: Int) -> Artifact? {
        withTable(key) { $0.serve(key, reuse, now) }
    }

    /// How often `served` gave one.
    package var served: Int { sum { $0.served } }

    /// Keeps an entry, in place of what was kept for `key`. One larger than the whole cache is not kept.
    package func store(_ found: CacheFound, for key: CacheKey) {
        var found = found
        var cost = Self.cost(of: found.record)
        if case .success(var artifact) = found.outcome {
            artifact.origin = .memory
            cost += Self.cost(of: artifact)
            found.outcome = .success(artifact)
        }
        state.withLock { state in
            take(key, from: &state.order)
            guard cost <= state.order.limit else { return }
            let place = state.order.add(key, cost: cost)
            withTable(key) { $0.insert(found, key, place: place) }
            let answers = EvictionOrder.Answers(
                takesMark: { key in self.withTable(key) { $0.takeMark(key) } },
                frequency: { key in self.withTable(key) { $0.frequency(of: key) } })
            state.order.settle(answers) { key in _ = withTable(key) { $0.remove(key) } }
            state.stores += 1
            if state.stores % 64 == 0 { age(state.order.count) }
        }
    }

    /// Halves all counters at once, when it is time: the tables are to stay comparable. It is when ten times as much was
    /// counted as there are entries (TinyLFU's authors take 8 to 16). Only stores ask whether it is, since nobody
    /// contends while nothing is stored.
    private func age(_ entries: Int) {
        guard sum({ $0.counted }) >= min(mostCounted, max(64, entries) * 10) else { return }
        for shard in shards.indices { shards[shard].table.withLock { $0.age() } }
    }

    /// Takes a new record for what is kept, if it is.
    package func renew(_ record: CacheRecord) {
        guard var found = entry(for: record.key) else { return }
        found.record = record
        store(found, for: record.key)
    }

    package func remove(_ key: CacheKey) { state.withLock { take(key, from: &$0.order) } }

    private func take(_ key: CacheKey, from order: inout EvictionOrder) {
        let place = withTable(key) { $0.remove(key) }
        if let place { order.remove(place) }
    }

    /// What all entries cost, in bytes.
    package var cost: Int { state.withLock { $0.order.cost } }
    package var count: Int { state.withLock { $0.order.count } }
}

extension MemoryCache {
    /// What its texts take on the heap.
    package static func cost(of record: CacheRecord) -> Int {
        var cost =
            heap(record.url) + heap(record.host) + heap(record.engineClass) + heap(record.engineVersion)
        cost += heap(record.etag) + heap(record.lastModified) + heap(record.mirror)
        if let refusal = record.refusal ?? record.trouble {
            cost += heap(refusal.code) + heap(refusal.message) + heap(refusal.cause) + heap(refusal.limits)
        }
        return cost
    }

    /// Up to 15 bytes of a string live inside its own two words.
    private static func heap(_ text: String?) -> Int {
        let count = text?.utf8.count ?? 0
        return count > 15 ? count + 32 : 0
    }

    /// Payload, texts, the list of stage times, and what an entry takes whatever it holds.
    package static func cost(of artifact: Artifact) -> Int {
        let facts = artifact.facts
        var texts = heap(facts.container) + heap(facts.codec) + heap(facts.pixelFormat) + heap(facts.format)
        texts +=
            heap(facts.pixelAspect) + heap(facts.durationText) + heap(facts.hdr) + heap(facts.colorMatrix)
        texts += heap(facts.colorRange) + heap(facts.thumbHash) + heap(facts.dominantColor)
        return artifact.bytes.count + 32 + Artifact.overhead + overhead + texts
            + facts.milliseconds.count * 24 + 32
    }

    /// Its place in the order, the objects that share an entry, and its part of a table that is between three and six
    /// eighths full.
    private static let overhead =
        EvictionOrder.bytesPerEntry + CacheFound.overhead + MemoryLayout<MemoryTable.Slot>.stride * 2

    /// The picture alone.
    package func artifact(for key: CacheKey) -> Artifact? { try? entry(for: key)?.outcome.get() }

    package func store(_ artifact: Artifact, for key: CacheKey) {
        store(CacheFound(.success(artifact), CacheRecord(key: key)), for: key)
    }
}
