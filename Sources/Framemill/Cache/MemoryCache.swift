// Level 1: finished pictures in memory, bounded by what they really cost.
//
// Entries are found in one of 32 tables, each with a lock of its own, so that threads seldom meet. What is kept and what
// goes is decided by one `Sieve` over all of them, so that the limit is one limit and a large entry may take what many
// small ones left. A hit takes a table's lock alone and moves nothing; who stores takes the sieve's, and within it the
// tables' in turn, never the other way round.

package import FramemillMedia
internal import Synchronization

package final class MemoryCache: Sendable {
    private struct Table {
        /// And where it lies in the sieve.
        var entries: [CacheKey: (entry: Remembered, place: Int)] = [:]
        var served = 0
    }

    private final class Shard: Sendable {
        let table = Mutex(Table())
        /// Keeps the lock of the next one out of this one's cache line, or two threads would wait for one all the same.
        private let apart = InlineArray<14, Int>(repeating: 0)
    }
    private let shards: [Shard]
    private let sieve: Mutex<Sieve>

    /// - Parameter bytes: the limit on the cost of all entries; 0 keeps nothing.
    package init(bytes: Int) {
        shards = (0..<32).map { _ in Shard() }
        sieve = Mutex(Sieve(limit: bytes))
    }

    private func shard(_ key: CacheKey) -> Shard { shards[Int(truncatingIfNeeded: key.rowNumber) & 31] }

    /// What is kept; a picture is marked as coming from memory. Shared with the cache, not copied.
    package func entry(for key: CacheKey) -> CacheFound? {
        shard(key).table.withLock { table in
            guard let entry = table.entries[key]?.entry else { return nil }
            entry.mark()
            return entry.found
        }
    }

    /// The picture, if it may be served without a question to anybody.
    /// - Parameter now: seconds since 1970.
    package func served(for key: CacheKey, _ reuse: Reuse, now: Int) -> Artifact? {
        shard(key).table.withLock { table in
            guard let entry = table.entries[key]?.entry, let artifact = entry.servable(reuse, now: now) else {
                return nil
            }
            entry.mark()
            table.served += 1
            return artifact
        }
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
        let entry = Remembered(found)
        sieve.withLock { sieve in
            take(key, from: &sieve)
            guard cost <= sieve.limit else { return }
            while sieve.cost + cost > sieve.limit {
                let victim = sieve.evict()
                shard(victim).table.withLock { $0.entries[victim] = nil }
            }
            let place = sieve.add(entry, key, cost)
            shard(key).table.withLock { $0.entries[key] = (entry, place) }
        }
    }

    /// Takes a new record for what is kept, if it is.
    package func renew(_ record: CacheRecord) {
        guard var found = entry(for: record.key) else { return }
        found.record = record
        store(found, for: record.key)
    }

    package func remove(_ key: CacheKey) { sieve.withLock { take(key, from: &$0) } }

    private func take(_ key: CacheKey, from sieve: inout Sieve) {
        let old = shard(key).table.withLock { $0.entries.removeValue(forKey: key) }
        if let old { sieve.remove(old.place) }
    }

    /// What all entries cost, in bytes.
    package var cost: Int { sieve.withLock { $0.cost } }
    package var count: Int { sieve.withLock { $0.count } }
}

extension MemoryCache {
    /// What its texts take on the heap.
    static func cost(of record: CacheRecord) -> Int {
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
    static func cost(of artifact: Artifact) -> Int {
        let facts = artifact.facts
        let texts = [
            facts.container, facts.codec, facts.pixelFormat ?? "", facts.format, facts.pixelAspect,
            facts.durationText ?? "", facts.hdr ?? "", facts.colorMatrix ?? "", facts.colorRange ?? "",
            facts.thumbHash ?? "", facts.dominantColor ?? "",
        ]
        return artifact.bytes.count + 32 + Artifact.overhead + overhead + heap(texts)
            + facts.milliseconds.count * 64
    }

    /// A slot, the objects that share an entry, and its part of a hash table that is at most three quarters full and may
    /// just have doubled.
    private static let overhead =
        MemoryLayout<Sieve.Slot>.stride + CacheFound.overhead + 128
        + 3 * (MemoryLayout<CacheKey>.stride + 16)

    /// The picture alone.
    package func artifact(for key: CacheKey) -> Artifact? { try? entry(for: key)?.outcome.get() }

    package func store(_ artifact: Artifact, for key: CacheKey) {
        store(CacheFound(.success(artifact), CacheRecord(key: key)), for: key)
    }
}
