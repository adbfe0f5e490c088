internal import FramemillMedia

/// An entry in memory, with what a look-up needs of it at hand.
struct Remembered {
    let found: CacheFound
    /// Where it stands in the order.
    let place: Int
    /// `nil` for a failure.
    private let artifact: Artifact?
    /// As `Freshness` has them; `checkedAt` is `nil` for what stays fresh for ever.
    private let checkedAt: Int?
    private let freshUntil: Int
    /// Since the hand last came by.
    var wasHit = false

    init(_ found: CacheFound, place: Int) {
        self.found = found
        self.place = place
        artifact = try? found.outcome.get()
        let record = found.record
        checkedAt = record.freshUntil < .max ? Int(record.storedAt) : nil
        freshUntil = Int(record.freshUntil)
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

/// A part of the entries in memory, by their keys, and how often each was asked for.
struct MemoryTable {
    private var slots: [CacheKey: Int] = [:]
    /// `nil` in a slot that is free. Apart from their keys, so that a look-up takes a reference to what it gives, and to
    /// nothing else: each is a write that other threads' processors have to hear of.
    private var entries: [Remembered?] = []
    private var free: [Int] = []
    private var sketch: Sketch
    private(set) var served = 0

    init(counters: Int) { sketch = Sketch(counters: counters) }

    mutating func find(_ key: CacheKey) -> CacheFound? {
        guard let slot = slots[key] else { return nil }
        note(slot, key)
        return entries[slot]?.found
    }

    mutating func serve(_ key: CacheKey, _ reuse: Reuse, _ now: Int) -> Artifact? {
        guard let slot = slots[key], let artifact = entries[slot]?.servable(reuse, now: now) else {
            return nil
        }
        note(slot, key)
        served += 1
        return artifact
    }

    private mutating func note(_ slot: Int, _ key: CacheKey) {
        if entries[slot]?.wasHit == false { entries[slot]?.wasHit = true }
        sketch.add(key)
    }

    /// Only where there is none for `key`.
    mutating func insert(_ entry: Remembered, _ key: CacheKey) {
        // Whoever stores it was asked for it.
        sketch.add(key)
        if let slot = free.popLast() {
            entries[slot] = entry
            slots[key] = slot
        } else {
            slots[key] = entries.count
            entries.append(entry)
        }
    }

    /// Where it stood in the order; `nil` where it was not there.
    mutating func remove(_ key: CacheKey) -> Int? {
        guard let slot = slots.removeValue(forKey: key) else { return nil }
        free.append(slot)
        defer { entries[slot] = nil }
        return entries[slot]?.place
    }

    /// Whether it was hit since the last time.
    mutating func takeMark(_ key: CacheKey) -> Bool {
        guard let slot = slots[key], entries[slot]?.wasHit == true else { return false }
        entries[slot]?.wasHit = false
        return true
    }

    func frequency(of key: CacheKey) -> Int { sketch.frequency(of: key) }

    /// What was counted since the last `age`.
    var counted: Int { sketch.added }
    mutating func age() { sketch.halve() }
}
