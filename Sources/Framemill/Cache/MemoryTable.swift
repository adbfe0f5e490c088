internal import FramemillMedia

/// A part of the entries in memory, by their keys, and how often each was asked for.
///
/// A hash table whose slots lie in one another's neighbourhood (open addressing, linear probing), a quarter to three
/// quarters full. A look-up reads a slot or two and takes a reference to what it gives, and to nothing else: each is a
/// write that other threads' processors have to hear of.
struct MemoryTable {
    struct Slot {
        fileprivate let key: CacheKey
        /// `nil` in a slot that is free.
        fileprivate let found: CacheFound?
        /// `nil` for a failure.
        fileprivate let artifact: Artifact?
        /// As `Freshness` has them; never the first for what stays fresh for ever.
        fileprivate let checkedAt: Int
        fileprivate let freshUntil: Int
        /// Where it stands in the order.
        fileprivate let place: Int
        /// Since the hand last came by.
        fileprivate var wasHit = false

        init(_ found: CacheFound, _ key: CacheKey, place: Int) {
            (self.found, self.key, self.place) = (found, key, place)
            artifact = try? found.outcome.get()
            let record = found.record
            checkedAt = record.freshUntil < .max ? Int(record.storedAt) : Self.never
            freshUntil = Int(record.freshUntil)
        }

        fileprivate init() {
            (key, found, artifact) = (CacheKey(byte: { _ in 0 }), nil, nil)
            (checkedAt, freshUntil, place) = (Self.never, 0, 0)
        }

        private static let never = Int.min

        /// Whether it may be served without a question: what `Kept.verdict` would serve as fresh, and never more.
        fileprivate func mayServe(_ reuse: Reuse, _ now: Int) -> Bool {
            switch reuse {
            case .onceConfirmed: return false
            case _ where checkedAt == Self.never: return true
            case .within(let seconds):
                let age = now - checkedAt
                return age < seconds && age > -60
            // One whose time is over would have to be marked.
            case .whileFresh, .offline: return now > checkedAt - 60 && now < freshUntil
            }
        }
    }

    private var slots = [Slot](repeating: Slot(), count: 2)
    private var count = 0
    private var sketch: Sketch
    private(set) var served = 0
    /// Odd, and another in each table: whoever chooses URLs can't choose which of them share a slot.
    private let secret = UInt64.random(in: .min ... .max) | 1

    init(counters: Int) { sketch = Sketch(counters: counters) }

    mutating func find(_ key: CacheKey) -> CacheFound? {
        let slot = slot(of: key)
        guard let found = slots[slot].found else { return nil }
        note(slot, key)
        return found
    }

    mutating func serve(_ key: CacheKey, _ reuse: Reuse, _ now: Int) -> Artifact? {
        let slot = slot(of: key)
        guard slots[slot].mayServe(reuse, now), let artifact = slots[slot].artifact else { return nil }
        note(slot, key)
        served += 1
        return artifact
    }

    private mutating func note(_ slot: Int, _ key: CacheKey) {
        if !slots[slot].wasHit { slots[slot].wasHit = true }
        sketch.add(key)
    }

    /// Only where there is none for `key`.
    mutating func insert(_ found: CacheFound, _ key: CacheKey, place: Int) {
        // Whoever stores it was asked for it.
        sketch.add(key)
        if (count + 1) * 4 > slots.count * 3 { grow() }
        slots[slot(of: key)] = Slot(found, key, place: place)
        count += 1
    }

    /// Where it stood in the order; `nil` where it was not there.
    mutating func remove(_ key: CacheKey) -> Int? {
        var gap = slot(of: key)
        guard slots[gap].found != nil else { return nil }
        let place = slots[gap].place
        // What was pushed on by it moves back, so that no search ends before it.
        var next = gap
        while true {
            next = (next + 1) & (slots.count - 1)
            guard slots[next].found != nil else { break }
            let home = home(of: slots[next].key)
            if (next - home) & (slots.count - 1) >= (next - gap) & (slots.count - 1) {
                slots[gap] = slots[next]
                gap = next
            }
        }
        slots[gap] = Slot()
        count -= 1
        return place
    }

    /// Whether it was hit since the last time.
    mutating func takeMark(_ key: CacheKey) -> Bool {
        let slot = slot(of: key)
        guard slots[slot].wasHit else { return false }
        slots[slot].wasHit = false
        return true
    }

    func frequency(of key: CacheKey) -> Int { sketch.frequency(of: key) }

    /// What was counted since the last `age`.
    var counted: Int { sketch.added }
    mutating func age() { sketch.halve() }

    /// The slot that `key` is in, or the free one in which it would be.
    private func slot(of key: CacheKey) -> Int {
        var slot = home(of: key)
        while slots[slot].found != nil, slots[slot].key != key { slot = (slot + 1) & (slots.count - 1) }
        return slot
    }

    private func home(of key: CacheKey) -> Int {
        // The upper bits of the product hang on all bits of the key's.
        let bits = slots.count.trailingZeroBitCount
        return Int(truncatingIfNeeded: (UInt64(bitPattern: key.rowNumber) &* secret) >> UInt64(64 - bits))
    }

    private mutating func grow() {
        let old = slots
        slots = [Slot](repeating: Slot(), count: old.count * 2)
        for slot in old where slot.found != nil { slots[self.slot(of: slot.key)] = slot }
    }
}
