internal import Synchronization

/// The only place where work waits to be let in. What it admitted runs.
///
/// A plain counting semaphore for tasks, first come first served, that forgets a waiter whose task is cancelled.
public final class Gate: Sendable {
    private struct State {
        var free: Int
        var nextTicket = 0
        var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
        /// Tickets in order of arrival, from `head` on; those of waiters that have left are passed over.
        var order: [Int] = []
        var head = 0
        /// Cancelled before they began to wait.
        var gone: Set<Int> = []

        /// Drops what is used up or has left once that is more than half: constant work per waiter.
        mutating func compact() {
            guard order.count > 64, order.count > waiting.count * 2 else { return }
            order = order[head...].filter { waiting[$0] != nil }
            head = 0
        }
    }
    private let state: Mutex<State>

    public init(width: Int) { state = Mutex(State(free: max(1, width))) }

    /// Tasks that wait now.
    public var waiting: Int { state.withLock { $0.waiting.count } }

    /// Waits for a place. `false` when the task was cancelled first; then there is nothing to leave.
    public func enter() async -> Bool {
        let ticket = state.withLock { state in
            defer { state.nextTicket += 1 }
            return state.nextTicket
        }
        let isIn = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                let answer: Bool? = state.withLock { state in
                    if state.gone.remove(ticket) != nil { return false }
                    if state.free > 0 {
                        state.free -= 1
                        return true
                    }
                    state.waiting[ticket] = waiter
                    state.order.append(ticket)
                    return nil
                }
                if let answer { waiter.resume(returning: answer) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiting.removeValue(forKey: ticket)
                if waiter == nil { state.gone.insert(ticket) } else { state.compact() }
                return waiter
            }
            waiter?.resume(returning: false)
        }
        // Cancelled after it was let in, but before it got here: the handler can't run any more from now on.
        state.withLock { _ = $0.gone.remove(ticket) }
        return isIn
    }

    /// Gives the place back; the one who has waited longest gets it.
    public func leave() {
        let next = state.withLock { state in
            while state.head < state.order.count {
                let ticket = state.order[state.head]
                state.head += 1
                if let waiter = state.waiting.removeValue(forKey: ticket) {
                    state.compact()
                    return Optional(waiter)
                }
            }
            state.free += 1
            return nil
        }
        next?.resume(returning: true)
    }

    /// What is kept of tasks that are gone: nothing, once their calls have returned.
    package var remembered: Int { state.withLock { $0.gone.count } }
}
