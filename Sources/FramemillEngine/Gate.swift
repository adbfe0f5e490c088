public import FramemillMedia
internal import Synchronization

/// The only place where work waits to be let in. What it admitted runs.
///
/// A counting semaphore for tasks: the most urgent is next, of these the one who has waited longest, and nobody starves.
/// It forgets a waiter whose task is cancelled.
public final class Gate: Sendable {
    private typealias Waiter = CheckedContinuation<Bool, Never>
    private struct State {
        var width: Int
        /// Below zero while more are in than it is wide, since it was made narrower.
        var free: Int
        var waiting = Turns<Waiter>()
        /// Cancelled before they began to wait.
        var gone: Set<Int> = []

        /// Whose turn it is, if there is a place.
        mutating func next() -> Waiter? {
            guard free > 0, let waiter = waiting.take() else { return nil }
            free -= 1
            return waiter
        }
    }
    private let state: Mutex<State>

    public init(width: Int) { state = Mutex(State(width: max(1, width), free: max(1, width))) }

    /// Tasks that wait now.
    public var waiting: Int { state.withLock { $0.waiting.count } }
    /// Tasks that are in.
    public var inside: Int { state.withLock { $0.width - $0.free } }
    public var width: Int { state.withLock { $0.width } }

    public func enter(_ priority: Priority = .interactive) async -> Bool { await enter(Urgency(priority)) }

    /// Waits for a place. `false` when the task was cancelled first; then there is nothing to leave.
    public func enter(_ urgency: Urgency) async -> Bool {
        let ticket = state.withLock { $0.waiting.draw() }
        // Before it waits: a raise that comes earlier is seen when it begins to.
        let watch = urgency.watch { [weak self] priority in
            self?.state.withLock { $0.waiting.raise(ticket, to: priority) }
        }
        defer { urgency.forget(watch) }
        let isIn = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let answer: Bool? = state.withLock { state in
                    if state.gone.remove(ticket) != nil { return false }
                    if state.free > 0 {
                        state.free -= 1
                        return true
                    }
                    state.waiting.insert(waiter, ticket, urgency.priority)
                    return nil
                }
                if let answer { waiter.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiting.remove(ticket)
                if waiter == nil { state.gone.insert(ticket) }
                return waiter
            }
            waiter?.resume(returning: false)
        }
        // Cancelled after it was let in, but before it got here: the handler can't run any more from now on.
        state.withLock { _ = $0.gone.remove(ticket) }
        return isIn
    }

    /// Gives the place back; whose turn it is gets it.
    public func leave() {
        let next = state.withLock { state in
            state.free += 1
            return state.next()
        }
        next?.resume(returning: true)
    }

    /// Makes it wider or narrower. Who is in stays in.
    public func resize(to width: Int) {
        let next = state.withLock { state -> [Waiter] in
            state.free += max(1, width) - state.width
            state.width = max(1, width)
            var next: [Waiter] = []
            while let waiter = state.next() { next.append(waiter) }
            return next
        }
        for waiter in next { waiter.resume(returning: true) }
    }

    /// What is kept of tasks that are gone: nothing, once their calls have returned.
    package var remembered: Int { state.withLock { $0.gone.count } }
}
