// Who may compute. A permit that is given back goes straight to the one whose turn it is: the most urgent, and of
// these the one who has waited longest.

internal import Dispatch
public import FramemillMedia
internal import Synchronization

/// As many threads may compute as there are cores; a thread that waits for bytes lends its permit to another.
///
/// Lanes have more threads than cores, so a slow origin holds a cheap thread and never a core. All calls are for a
/// lane's own threads: they block.
public final class Permits: Sendable {
    private struct State {
        /// None while somebody waits; below zero while some are owed.
        var free: Int
        var waiting = Turns<DispatchSemaphore>()
        /// Those that there are now; see `allow`.
        var allowed: Int
    }
    private let state: Mutex<State>
    /// The raw value of the most urgent priority that somebody waits with, to be looked at without the lock.
    private let urgent = Atomic<Int>(Int.max)
    /// `free`, to be looked at without the lock.
    private let idle: Atomic<Int>
    public let count: Int

    public init(count: Int) {
        self.count = max(1, count)
        state = Mutex(State(free: max(1, count), allowed: max(1, count)))
        idle = Atomic(max(1, count))
    }

    /// Threads that wait for a permit now.
    public var waiting: Int { state.withLock { $0.waiting.count } }

    /// Runs `body` with a permit, waiting for one if need be.
    public func holding<Value, Problem>(
        priority: Priority = .interactive, _ body: () throws(Problem) -> Value
    ) throws(Problem) -> Value {
        take(priority)
        defer { give() }
        return try body()
    }

    /// The same for work that may become more urgent while it waits.
    public func holding<Value, Problem>(
        urgency: Urgency, _ body: () throws(Problem) -> Value
    ) throws(Problem) -> Value {
        take(urgency)
        defer { give() }
        return try body()
    }

    /// Runs `body` at once. Where no permit is free it is owed one, and whoever gives one back next, or asks whether to
    /// give way, pays it: for short work that somebody waits for, which else would wait for the parts that others have
    /// in hand. No more than `count` are owed; who comes then waits like others.
    public func holdingAtOnce<Value, Problem>(_ body: () throws(Problem) -> Value) throws(Problem) -> Value {
        take(.interactive, orOwe: true)
        defer { give() }
        return try body()
    }

    /// Whether a permit is free, a moment ago.
    var hasFree: Bool { idle.load(ordering: .relaxed) > 0 }

    /// Runs `body` with a permit if one is free at this moment.
    public func holdingIfFree(_ body: () -> Void) {
        let isIn = state.withLock { state in
            guard state.free > 0 else { return false }
            state.free -= 1
            note(state)
            return true
        }
        guard isIn else { return }
        defer { give() }
        body()
    }

    /// Takes as many as are free at this moment, `most` at most, and says how many.
    func takeFree(upTo most: Int) -> Int {
        state.withLock { state in
            let taken = max(0, min(most, state.free))
            state.free -= taken
            note(state)
            return taken
        }
    }

    func giveBack(_ count: Int) { for _ in 0..<max(0, count) { give() } }

    /// Lets only so many compute from now on, 1 to `count`: who computes beyond that is told at the next part that others
    /// want the permit.
    package func allow(_ most: Int) {
        let more = state.withLock { state in
            let change = max(1, min(count, most)) - state.allowed
            state.allowed += change
            if change < 0 {
                state.free += change
                note(state)
            }
            return change
        }
        giveBack(more)
    }

    /// Lends the permit that the calling thread holds while `wait` blocks, and takes one back afterwards.
    public func lending<Value, Problem>(
        priority: Priority = .interactive, _ wait: () throws(Problem) -> Value
    ) throws(Problem) -> Value {
        give()
        defer { take(priority) }
        return try wait()
    }

    /// The same for work that may become more urgent while it waits for the permit again.
    public func lending<Value, Problem>(
        urgency: Urgency, _ wait: () throws(Problem) -> Value
    ) throws(Problem) -> Value {
        give()
        defer { take(urgency) }
        return try wait()
    }

    /// Whether somebody waits who is more urgent than `priority`, or with `orEqual` as urgent.
    public func isWanted(before priority: Priority, orEqual: Bool = false) -> Bool {
        urgent.load(ordering: .relaxed) < priority.rawValue + (orEqual ? 1 : 0)
    }

    /// Hands the permit that the calling thread holds to such a one, if there is any, and waits for the next turn.
    /// Asked between two frames, so that work that nobody waits for stands back within one.
    public func giveWay(_ priority: Priority, orEqual: Bool = false) {
        guard isWanted(before: priority, orEqual: orEqual) else { return }
        let turn = DispatchSemaphore(value: 0)
        let (mustWait, next) = state.withLock { state -> (Bool, DispatchSemaphore?) in
            // What is owed is paid first, and nobody else gets it.
            let pays = state.free < 0
            let next = pays ? nil : state.waiting.take()
            guard pays || next != nil else { return (false, nil) }
            if pays { state.free += 1 }
            state.waiting.append(turn, priority)
            note(state)
            return (true, next)
        }
        next?.signal()
        if mustWait { turn.wait() }
    }

    private func take(_ priority: Priority, orOwe: Bool = false) {
        enqueue(priority, orOwe: orOwe)?.turn.wait()
    }

    private func take(_ urgency: Urgency) {
        guard let (turn, number) = enqueue(urgency.priority) else { return }
        let watch = urgency.watch { [weak self] priority in self?.raise(number, to: priority) }
        // For a raise that came in between.
        raise(number, to: urgency.priority)
        turn.wait()
        urgency.forget(watch)
    }

    /// `nil` where a permit was free.
    private func enqueue(_ priority: Priority, orOwe: Bool = false) -> (turn: DispatchSemaphore, number: Int)?
    {
        state.withLock { state in
            if state.free > (orOwe ? -count : 0) {
                state.free -= 1
                note(state)
                return nil
            }
            let turn = DispatchSemaphore(value: 0)
            let number = state.waiting.append(turn, priority)
            note(state)
            return (turn, number)
        }
    }

    private func raise(_ number: Int, to priority: Priority) {
        state.withLock { state in
            state.waiting.raise(number, to: priority)
            note(state)
        }
    }

    private func give() {
        let next = state.withLock { state -> DispatchSemaphore? in
            guard state.free >= 0, let next = state.waiting.take() else {
                state.free += 1
                note(state)
                return nil
            }
            note(state)
            return next
        }
        next?.signal()
    }

    /// Under the lock, so that the last to write saw the last state.
    private func note(_ state: borrowing State) {
        let waiting = state.waiting.mostUrgent?.rawValue ?? Int.max
        idle.store(state.free, ordering: .relaxed)
        urgent.store(state.free < 0 ? Priority.interactive.rawValue : waiting, ordering: .relaxed)
    }
}
