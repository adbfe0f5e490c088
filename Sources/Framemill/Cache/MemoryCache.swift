// Level 1: finished pictures in memory, bounded by what they really cost.
//
// Entries are found in one of 32 tables, each with a lock of its own, so that threads seldom meet. Who goes is decided
// by one `EvictionOrder` over all of them, so that the limit is one limit and a large entry may take what many small ones
// left. A hit takes a table's lock alone and moves nothing; who stores takes the order's, and within it the tables' in
// turn, never the other way round.

package import FramemillMedia
internal import Synchronization

package final class MemoryCache: Sendable {
    private final class Shard: Sendable {
        let table: Mutex<MemoryTable>
        /// Keeps the lock of the next one out of this one's cache line, or two threads would wait for one all the same.
        private let apart = InlineArray<14, Int>(repeating: 0)

        init(_ counters: Int) { table = Mutex(MemoryTable(counters: counters)) }
    }
    private let shards: [Shard]
    /// What is counted between two halvings of all counters: with half as many as there are of them, most stay exact.
    private let period: Int
    private struct State {
        var order: EvictionOrder
        var stores = 0
    }
    private let state: Mutex<State>

    /// - Parameter bytes: the limit on the cost of all entries; 0 keeps nothing. What counts how often keys are asked
    ///   for takes a thousandth beside it, and 2 KiB at least.
    package init(bytes: Int) {
        let counters = min(max(64, bytes / 1024 / 32), 1 << 16)
        // The power of two that is not above it.
        let rounded = 1 << (Int.bitWidth - 1 - counters.leadingZeroBitCount)
        shards = (0..<32).map { _ in Shard(rounded) }
        period = rounded * 32 / 2
        state = Mutex(State(order: EvictionOrder(limit: bytes)))
    }

    private func shard(_ key: CacheKey) -> Shard { shards[Int(truncatingIfNeeded: key.rowNumber) & 31] }

    /// What is kept; a picture is marked as coming from memory. Shared with the cache, not copied.
    package func entry(for key: CacheKey) -> CacheFound? { shard(key).table.withLock { $0.find(key) } }

    /// The picture, if it may be served without a question to anybody.
    /// - Parameter now: seconds since 1970.
    package func served(for key: CacheKey, _ reuse: Reuse, now: Int) -> Artifact? {
        shard(key).table.withLock { $0.serve(key, reuse, now) }
    }

    /// How often `served` gave one.
    package var served: Int { shards.reduce(0) { $0 + $1.table.withLock { $0.served } } }

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
            let entry = Remembered(found, place: place)
            shard(key).table.withLock { $0.insert(entry, key) }
            let answers = EvictionOrder.Answers(
                takesMark: { key in self.shard(key).table.withLock { $0.takeMark(key) } },
                frequency: { key in self.shard(key).table.withLock { $0.frequency(of: key) } })
            state.order.settle(answers) { key in _ = shard(key).table.withLock { $0.remove(key) } }
            state.stores += 1
            if state.stores % 64 == 0 { age() }
        }
    }

    /// Halves all counters at once, when it is time: the tables are to stay comparable. Only stores ask whether it is,
    /// since nobody contends while nothing is stored.
    private func age() {
        guard shards.reduce(0, { $0 + $1.table.withLock { $0.counted } }) >= period else { return }
        for shard in shards { shard.table.withLock { $0.age() } }
    }

    /// Takes a new record for what is kept, if it is.
    package func renew(_ record: CacheRecord) {
        guard var found = entry(for: record.key) else { return }
        found.record = record
        store(found, for: record.key)
    }

    package func remove(_ key: CacheKey) { state.withLock { take(key, from: &$0.order) } }

    private func take(_ key: CacheKey, from order: inout EvictionOrder) {
        let place = shard(key).table.withLock { $0.remove(key) }
        if let place { order.remove(place) }
    }

    /// What all entries cost, in bytes.
    package var cost: Int { state.withLock { $0.order.cost } }
    package var count: Int { state.withLock { $0.order.count } }
}

extension MemoryCache {
    /// What its texts take on the heap.
    package static func cost(of record: CacheRecord) -> Int {
        let refusal = record.refusal ?? record.trouble
        return heap([
            record.url, record.host, record.engineClass, record.engineVersion, record.etag ?? "",
            record.lastModified ?? "", refusal?.code ?? "", refusal?.message ?? "", refusal?.cause ?? "",
            refusal?.limits ?? "", record.mirror ?? "",
        ])
    }

    /// Up to 15 bytes of a string live inside its own two words.
    private static func heap(_ texts: [String]) -> Int {
        texts.reduce(0) { $0 + ($1.utf8.count > 15 ? $1.utf8.count + 32 : 0) }
    }

    /// Payload, texts, the table of stage times, and what an entry takes whatever it holds.
    package static func cost(of artifact: Artifact) -> Int {
        let facts = artifact.facts
        let texts = [
            facts.container, facts.codec, facts.pixelFormat ?? "", facts.format, facts.pixelAspect,
            facts.durationText ?? "", facts.hdr ?? "", facts.colorMatrix ?? "", facts.colorRange ?? "",
            facts.thumbHash ?? "", facts.dominantColor ?? "",
        ]
        return artifact.bytes.count + 32 + Artifact.overhead + overhead + heap(texts)
            + facts.milliseconds.count * 64
    }

    /// Its places in the order and in a table, the objects that share an entry, and its part of a hash table that is at
    /// most three quarters full and may just have doubled.
    private static let overhead =
        EvictionOrder.bytesPerEntry + MemoryLayout<Remembered?>.stride + CacheFound.overhead
        + 3 * (MemoryLayout<CacheKey>.stride + MemoryLayout<Int>.stride)

    /// The picture alone.
    package func artifact(for key: CacheKey) -> Artifact? { try? entry(for: key)?.outcome.get() }

    package func store(_ artifact: Artifact, for key: CacheKey) {
        store(CacheFound(.success(artifact), CacheRecord(key: key)), for: key)
    }
}
