public import FramemillMedia
internal import Synchronization

/// How urgent one piece of work is. Whoever joins it may raise that, and every queue that it stands in then moves it
/// forward; what has begun just goes on. Never lowered: who leaves again did want it.
public final class Urgency: Sendable {
    private struct Watchers {
        var counter = 0
        var all: [Int: @Sendable (Priority) -> Void] = [:]
    }
    private let watchers = Mutex(Watchers())
    private let level: Atomic<Int>

    public init(_ priority: Priority) { level = Atomic(priority.rawValue) }

    public var priority: Priority {
        Priority(rawValue: level.load(ordering: .acquiring)) ?? .backfill
    }

    /// Nothing where it is as urgent already.
    public func raise(to priority: Priority) {
        let told = watchers.withLock { watchers -> [@Sendable (Priority) -> Void] in
            guard priority < self.priority else { return [] }
            level.store(priority.rawValue, ordering: .releasing)
            return Array(watchers.all.values)
        }
        // Outside of the lock: they take locks of their own, under which others ask for the priority.
        for tell in told { tell(priority) }
    }

    /// Calls `body` at each raise from now on. Whoever stands in a queue asks for `priority` once more after this.
    /// Returns what `forget` takes.
    func watch(_ body: @escaping @Sendable (Priority) -> Void) -> Int {
        watchers.withLock { watchers in
            watchers.counter += 1
            watchers.all[watchers.counter] = body
            return watchers.counter
        }
    }

    func forget(_ ticket: Int) { _ = watchers.withLock { $0.all.removeValue(forKey: ticket) } }

    /// Who is told: nobody, once all queues are left.
    package var watching: Int { watchers.withLock { $0.all.count } }
}
