// Level 1: finished pictures in memory, bounded by what they really cost.
//
// Eviction is SIEVE (Zhang and others, NSDI 2024): one queue in order of arrival, one bit an entry, one hand. A hit
// only sets the bit; nothing moves. When room is needed the hand walks from the oldest to the newest, clears bits, and
// evicts the first entry whose bit is already clear. A batch that passes once through a million URLs never sets a bit
// and so pushes out its own entries, not the hot ones; LRU would lose everything to it, and would relink on each hit.

package import FramemillMedia
internal import Synchronization

/// Finished pictures in memory. A look-up is one lock, one hash and one bit.
package final class MemoryCache: Sendable {
    private let state: Mutex<Sieve>

    /// - Parameter bytes: the limit on the cost of all entries; 0 keeps nothing.
    package init(bytes: Int) { state = Mutex(Sieve(limit: bytes)) }

    /// The picture, marked as coming from memory. Its bytes are shared with the cache, not copied.
    package func entry(for key: CacheKey) -> CacheFound? { state.withLock { $0.find(key) } }

    /// Keeps an entry, in place of what was kept for `key`. One larger than the whole cache is not kept.
    package func store(_ found: CacheFound, for key: CacheKey) {
        var found = found
        var cost = Self.cost(of: found.record)
        if case .success(var artifact) = found.outcome {
            artifact.origin = .memory
            cost += Self.cost(of: artifact)
            found.outcome = .success(artifact)
        }
        state.withLock { $0.insert(found, key, cost) }
    }

    /// Takes a new record for what is kept, if it is.
    package func renew(_ record: CacheRecord) {
        guard var found = entry(for: record.key) else { return }
        found.record = record
        store(found, for: record.key)
    }

    package func remove(_ key: CacheKey) { state.withLock { $0.remove(key) } }

    /// What all entries cost, in bytes.
    package var cost: Int { state.withLock { $0.cost } }
    package var count: Int { state.withLock { $0.count } }

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

    /// Payload, slot, the two words of an array and of each string on the heap, and the table of stage times.
    static func cost(of artifact: Artifact) -> Int {
        let facts = artifact.facts
        let texts = [
            facts.container, facts.codec, facts.pixelFormat ?? "", facts.format, facts.pixelAspect,
            facts.durationText ?? "", facts.hdr ?? "", facts.colorMatrix ?? "", facts.colorRange ?? "",
            facts.thumbHash ?? "", facts.dominantColor ?? "",
        ]
        return artifact.bytes.count + 32 + Sieve.overhead + heap(texts) + facts.milliseconds.count * 64
    }
}

/// The queue and its hand: a doubly linked list laid over an array of slots, so that every step is O(1).
private struct Sieve {
    /// A slot, and its share of a hash table that is at most three quarters full and may just have doubled.
    static let overhead = MemoryLayout<Slot>.stride + 3 * (MemoryLayout<CacheKey>.stride + 8)

    struct Slot {
        var key: CacheKey
        /// `nil` in a slot that is free; `older` then names the next free one.
        var found: CacheFound?
        var cost: Int
        var wasHit = false
        var newer: Int
        var older: Int
    }

    let limit: Int
    private(set) var cost = 0
    private var slots: [Slot] = []
    private var index: [CacheKey: Int] = [:]
    private var newest = none
    private var oldest = none
    private var hand = none
    private var free = none
    private static let none = -1

    init(limit: Int) { self.limit = limit }

    var count: Int { index.count }

    mutating func find(_ key: CacheKey) -> CacheFound? {
        guard let slot = index[key] else { return nil }
        slots[slot].wasHit = true
        return slots[slot].found
    }

    mutating func insert(_ found: CacheFound, _ key: CacheKey, _ price: Int) {
        if let slot = index[key] { remove(slot) }
        guard price <= limit else { return }
        while cost + price > limit { evict() }
        let slot = Slot(key: key, found: found, cost: price, newer: Self.none, older: newest)
        let place = put(slot)
        if newest != Self.none { slots[newest].newer = place } else { oldest = place }
        newest = place
        index[key] = place
        cost += price
    }

    mutating func remove(_ key: CacheKey) {
        if let slot = index[key] { remove(slot) }
    }

    private mutating func put(_ slot: Slot) -> Int {
        guard free != Self.none else {
            slots.append(slot)
            return slots.count - 1
        }
        let place = free
        free = slots[place].older
        slots[place] = slot
        return place
    }

    /// Only while there is an entry: the cost is above zero then.
    private mutating func evict() {
        var victim = hand == Self.none ? oldest : hand
        while slots[victim].wasHit {
            slots[victim].wasHit = false
            victim = slots[victim].newer == Self.none ? oldest : slots[victim].newer
        }
        // Removing the entry under the hand moves the hand on to the next newer one.
        hand = victim
        remove(victim)
    }

    private mutating func remove(_ place: Int) {
        let slot = slots[place]
        if slot.newer != Self.none { slots[slot.newer].older = slot.older } else { newest = slot.older }
        if slot.older != Self.none { slots[slot.older].newer = slot.newer } else { oldest = slot.newer }
        if hand == place { hand = slot.newer }
        index[slot.key] = nil
        cost -= slot.cost
        slots[place].found = nil
        slots[place].older = free
        free = place
    }
}

extension MemoryCache {
    /// The picture alone.
    package func artifact(for key: CacheKey) -> Artifact? { try? entry(for: key)?.outcome.get() }

    package func store(_ artifact: Artifact, for key: CacheKey) {
        store(CacheFound(.success(artifact), CacheRecord(key: key)), for: key)
    }
}
