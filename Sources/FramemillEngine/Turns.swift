internal import FramemillMedia

/// Who is next: one queue per priority, first come first served within one, and nobody starves.
struct Turns<Element> {
    /// What was taken leaves `nil` behind, so that nothing it held lives longer than it.
    private var queues: [[(number: Int, element: Element?)]]
    private var heads: [Int]
    private var arrived = 0
    private var taken = 0

    init() {
        queues = Array(repeating: [], count: Priority.allCases.count)
        heads = Array(repeating: 0, count: Priority.allCases.count)
    }

    var count: Int { queues.indices.reduce(0) { $0 + queues[$1].count - heads[$1] } }

    /// The highest priority that somebody waits with.
    var mostUrgent: Priority? {
        queues.indices.first { heads[$0] < queues[$0].count }.flatMap(Priority.init(rawValue:))
    }

    mutating func append(_ element: Element, _ priority: Priority) {
        queues[priority.rawValue].append((number: arrived, element: element))
        arrived += 1
    }

    mutating func take() -> Element? {
        guard let pick = next() else { return nil }
        taken += 1
        let element = queues[pick][heads[pick]].element.take()
        heads[pick] += 1
        // Compacts once half is used, so that taking stays O(1) and a long queue is freed.
        if heads[pick] == queues[pick].count || heads[pick] > 64 && heads[pick] * 2 > queues[pick].count {
            queues[pick].removeFirst(heads[pick])
            heads[pick] = 0
        }
        return element
    }

    /// The highest priority that has anybody. But every fourth time one who has seen more than 64 (prefetch) or 128
    /// (backfill) younger ones arrive goes first, the two in turn: nobody starves.
    private func next() -> Int? {
        let ready = queues.indices.filter { heads[$0] < queues[$0].count }
        guard taken % 4 == 0 else { return ready.first }
        let aged = ready.filter { $0 > 0 && arrived - queues[$0][heads[$0]].number > 64 * $0 }
        return (taken % 8 == 0 ? aged.last : aged.first) ?? ready.first
    }
}
