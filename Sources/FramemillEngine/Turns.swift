internal import FramemillMedia

/// Who is next: one queue per priority, first come first served within one, and nobody starves.
struct Turns<Element> {
    private var queues = [Queue](repeating: Queue(), count: Priority.allCases.count)
    private var arrived = 0
    private var taken = 0

    var count: Int { queues.reduce(0) { $0 + $1.count } }

    /// The highest priority that somebody waits with.
    var mostUrgent: Priority? {
        queues.indices.first { queues[$0].count > 0 }.flatMap(Priority.init(rawValue:))
    }

    /// A number for one who is about to come: the lower, the earlier.
    mutating func draw() -> Int {
        arrived += 1
        return arrived - 1
    }

    /// - Parameter number: drawn before, by nobody else.
    mutating func insert(_ element: Element, _ number: Int, _ priority: Priority) {
        queues[priority.rawValue].insert(element, number)
    }

    /// Returns the element's number.
    @discardableResult
    mutating func append(_ element: Element, _ priority: Priority) -> Int {
        let number = draw()
        insert(element, number, priority)
        return number
    }

    /// Takes one out of its turn; `nil` where it had its turn, or has not come.
    mutating func remove(_ number: Int) -> Element? {
        for index in queues.indices {
            if let element = queues[index].remove(number) { return element }
        }
        return nil
    }

    /// Among those of this priority it stands where it would if it had come with it.
    mutating func raise(_ number: Int, to priority: Priority) {
        for index in queues.indices where index > priority.rawValue {
            guard let element = queues[index].remove(number) else { continue }
            return insert(element, number, priority)
        }
    }

    mutating func take() -> Element? {
        guard let pick = next() else { return nil }
        taken += 1
        return queues[pick].take()
    }

    /// The highest priority that has anybody. But every fourth time one who has seen more than 64 (prefetch) or 128
    /// (backfill) younger ones arrive goes first, the two in turn: nobody starves.
    private func next() -> Int? {
        let ready = queues.indices.filter { queues[$0].count > 0 }
        guard taken % 4 == 0 else { return ready.first }
        let aged = ready.filter { $0 > 0 && arrived - queues[$0].oldest > 64 * $0 }
        return (taken % 8 == 0 ? aged.last : aged.first) ?? ready.first
    }

    /// Those of one priority, in the order of their numbers.
    private struct Queue {
        /// Who was taken or has left leaves `nil` behind, so that nothing it held lives longer than it.
        private var items: [(number: Int, element: Element?)] = []
        /// Where the first one is that waits.
        private var head = 0
        private(set) var count = 0

        var oldest: Int { items[head].number }

        mutating func insert(_ element: Element, _ number: Int) {
            items.insert((number, element), at: place(of: number))
            count += 1
            trim()
        }

        mutating func remove(_ number: Int) -> Element? {
            let place = place(of: number)
            guard place < items.count, items[place].number == number else { return nil }
            let element = items[place].element.take()
            if element != nil { count -= 1 }
            trim()
            return element
        }

        mutating func take() -> Element? {
            let element = items[head].element.take()
            count -= 1
            trim()
            return element
        }

        /// The first one that has this number or a higher one, by halving.
        private func place(of number: Int) -> Int {
            if items.last.map({ $0.number < number }) ?? true { return items.count }
            var range = head..<items.count
            while !range.isEmpty {
                let middle = range.lowerBound + range.count / 2
                range =
                    items[middle].number < number
                    ? middle + 1..<range.upperBound : range.lowerBound..<middle
            }
            return range.lowerBound
        }

        /// Compacts once half is used, so that each step stays O(1) in the long run and a long queue is freed.
        private mutating func trim() {
            while head < items.count, items[head].element == nil { head += 1 }
            guard head == items.count || items.count > 64 && items.count > 2 * count else { return }
            items = items[head...].filter { $0.element != nil }
            head = 0
        }
    }
}
