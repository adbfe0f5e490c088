// Which entry of level 1 goes when room is needed: SIEVE (Zhang and others, NSDI 2024). One queue in order of arrival,
// one bit an entry, one hand. A hit only sets the bit; nothing moves. When room is needed the hand walks from the oldest
// to the newest, clears bits, and evicts the first entry whose bit is already clear. A batch that passes once through a
// million URLs never sets a bit and so pushes out its own entries, not the hot ones; LRU would lose everything to it, and
// would relink on each hit.

internal import FramemillMedia
internal import Synchronization

/// The queue and its hand: a doubly linked list laid over an array of slots, so that every step is O(1).
struct Sieve {
    struct Slot {
        var key: CacheKey
        /// `nil` in a slot that is free; `older` then names the next free one.
        var entry: Remembered?
        var cost: Int
        var newer: Int
        var older: Int
    }

    let limit: Int
    private(set) var cost = 0
    private(set) var count = 0
    private var slots: [Slot] = []
    private var newest = none
    private var oldest = none
    private var hand = none
    private var free = none
    private static let none = -1

    init(limit: Int) { self.limit = limit }

    /// Puts an entry at the end of the queue; where it lies from now on.
    mutating func add(_ entry: Remembered, _ key: CacheKey, _ price: Int) -> Int {
        let place = put(Slot(key: key, entry: entry, cost: price, newer: Self.none, older: newest))
        if newest != Self.none { slots[newest].newer = place } else { oldest = place }
        newest = place
        cost += price
        count += 1
        return place
    }

    /// Takes out whoever has to go, and says who that was. Only while there is an entry.
    mutating func evict() -> CacheKey {
        var victim = hand == Self.none ? oldest : hand
        while slots[victim].entry?.takeMark() ?? false {
            victim = slots[victim].newer == Self.none ? oldest : slots[victim].newer
        }
        // Removing the entry under the hand moves the hand on to the next newer one.
        hand = victim
        let key = slots[victim].key
        remove(victim)
        return key
    }

    mutating func remove(_ place: Int) {
        let slot = slots[place]
        if slot.newer != Self.none { slots[slot.newer].older = slot.older } else { newest = slot.older }
        if slot.older != Self.none { slots[slot.older].newer = slot.newer } else { oldest = slot.newer }
        if hand == place { hand = slot.newer }
        cost -= slot.cost
        count -= 1
        slots[place].entry = nil
        slots[place].older = free
        free = place
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
}

/// An entry in memory, with what a look-up needs of it at hand.
final class Remembered: Sendable {
    let found: CacheFound
    /// `nil` for a failure.
    private let artifact: Artifact?
    /// As `Freshness` has them; `checkedAt` is `nil` for what stays fresh for ever.
    private let checkedAt: Int?
    private let freshUntil: Int
    /// The bit of SIEVE.
    private let wasHit = Atomic<Bool>(false)

    init(_ found: CacheFound) {
        self.found = found
        artifact = try? found.outcome.get()
        let record = found.record
        checkedAt = record.freshUntil < .max ? Int(record.storedAt) : nil
        freshUntil = Int(record.freshUntil)
    }

    func mark() {
        // Written once, so that threads that read one entry don't take its memory from each other.
        if !wasHit.load(ordering: .relaxed) { wasHit.store(true, ordering: .relaxed) }
    }

    /// Whether it was hit since the hand last came by.
    func takeMark() -> Bool {
        guard wasHit.load(ordering: .relaxed) else { return false }
        wasHit.store(false, ordering: .relaxed)
        return true
    }

    /// The picture, if it may be served without a question: what `Kept.verdict` would serve as fresh, and never more.
    func servable(_ reuse: Reuse, now: Int) -> Artifact? {
        guard let artifact else { return nil }
        switch reuse {
        case .onceConfirmed: return nil
        case _ where checkedAt == nil: return artifact
        case .within(let seconds):
            let age = now - (checkedAt ?? 0)
            return age < seconds && age > -60 ? artifact : nil
        // One whose time is over would have to be marked.
        case .whileFresh, .offline:
            return now > (checkedAt ?? 0) - 60 && now < freshUntil ? artifact : nil
        }
    }
}
