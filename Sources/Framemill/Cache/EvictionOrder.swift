// Which entry of level 1 goes when room is needed: W-TinyLFU (Einziger, Friedman, Manes, 2017) with a hand in place of its
// lists.
//
// New entries come into a window, a twentieth of the room, and leave it in the order they came. Whoever leaves it while
// there is no room left contends with the entry that the main part would give up: the one that was asked for more often
// of late stays, and in doubt the old one. So neither a batch that passes once through a million URLs nor one that
// passes again and again through more than there is room for pushes out what is asked for.
//
// The main part is SIEVE's (Zhang and others, NSDI 2024): a hit sets a mark and moves nothing; the hand walks from the
// oldest to the newest, takes marks away, and stops at the first entry without one.
//
// Not SIEVE alone: on a loop through more than there is room for it serves as little as LRU, nothing, and where the
// favourites change, less than LRU. Not S3-FIFO: on a loop through twice the room it serves nothing. What this serves is
// in the README, by `framemill-bench cache-traces`.

struct EvictionOrder {
    private struct Node {
        var key: CacheKey
        var cost: Int
        var newer = none
        /// In a node that is free: the next free one.
        var older: Int
        var isInMain = false
    }

    private struct Queue {
        var newest = none
        var oldest = none
        var cost = 0
        var count = 0
    }

    /// What the entries say of themselves, asked only when there is no room.
    struct Answers {
        /// Whether an entry was hit since the last time; it then forgets that.
        var takesMark: (CacheKey) -> Bool
        /// How often it was asked for of late.
        var frequency: (CacheKey) -> Int
    }

    static let bytesPerEntry = MemoryLayout<Node>.stride

    let limit: Int
    private var nodes: [Node] = []
    private var window = Queue()
    private var main = Queue()
    private var hand = none
    private var free = none
    private static let none = -1

    init(limit: Int) { self.limit = limit }

    var cost: Int { window.cost + main.cost }
    var count: Int { window.count + main.count }

    /// A new entry; where it stands from now on. Room for it is made by `settle`.
    mutating func add(_ key: CacheKey, cost: Int) -> Int {
        let place: Int
        if free != Self.none {
            place = free
            free = nodes[place].older
            nodes[place] = Node(key: key, cost: cost, older: Self.none)
        } else {
            place = nodes.count
            nodes.append(Node(key: key, cost: cost, older: Self.none))
        }
        push(place)
        return place
    }

    /// Takes out an entry, whoever wants that.
    mutating func remove(_ place: Int) {
        unlink(place)
        nodes[place].older = free
        free = place
    }

    /// Brings all below the limit, and says who has to go. The newest entry stays, if it isn't larger than the limit.
    mutating func settle(_ answers: Answers, evict: (CacheKey) -> Void) {
        while window.cost > limit / 20, window.count > 1 {
            let candidate = window.oldest
            if cost > limit, !isAdmitted(candidate, answers, evict) {
                drop(candidate, evict)
            } else {
                unlink(candidate)
                nodes[candidate].isInMain = true
                push(candidate)
            }
        }
        while cost > limit, let victim = victim(answers) { drop(victim, evict) }
    }

    /// Makes room for one that leaves the window, at the expense of those that were asked for less often.
    private mutating func isAdmitted(
        _ candidate: Int, _ answers: Answers, _ evict: (CacheKey) -> Void
    ) -> Bool {
        let frequency = answers.frequency(nodes[candidate].key)
        while cost > limit {
            guard let victim = victim(answers) else { return false }
            guard answers.frequency(nodes[victim].key) < frequency else {
                // The next one contends with another.
                hand = nodes[victim].newer
                return false
            }
            drop(victim, evict)
        }
        return true
    }

    /// Where the hand stops; `nil` where there is nothing in the main part.
    private mutating func victim(_ answers: Answers) -> Int? {
        guard main.count > 0 else { return nil }
        var place = hand == Self.none ? main.oldest : hand
        while answers.takesMark(nodes[place].key) {
            place = nodes[place].newer == Self.none ? main.oldest : nodes[place].newer
        }
        hand = place
        return place
    }

    private mutating func drop(_ place: Int, _ evict: (CacheKey) -> Void) {
        evict(nodes[place].key)
        remove(place)
    }

    private mutating func push(_ place: Int) {
        // A copy, since the nodes are written as well.
        var queue = nodes[place].isInMain ? main : window
        defer { if nodes[place].isInMain { main = queue } else { window = queue } }
        (nodes[place].newer, nodes[place].older) = (Self.none, queue.newest)
        if queue.newest != Self.none { nodes[queue.newest].newer = place } else { queue.oldest = place }
        queue.newest = place
        queue.cost += nodes[place].cost
        queue.count += 1
    }

    private mutating func unlink(_ place: Int) {
        let node = nodes[place]
        // As above.
        var queue = node.isInMain ? main : window
        defer { if node.isInMain { main = queue } else { window = queue } }
        if node.newer != Self.none { nodes[node.newer].older = node.older } else { queue.newest = node.older }
        if node.older != Self.none { nodes[node.older].newer = node.newer } else { queue.oldest = node.newer }
        // On to the next newer one.
        if hand == place { hand = node.newer }
        queue.cost -= node.cost
        queue.count -= 1
    }
}
