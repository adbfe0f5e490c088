internal import Synchronization

/// The only place where work waits to be let in. What it admitted runs.
///
/// A plain counting semaphore for tasks, first come first served, that forgets a waiter whose task is cancelled.
public final class Gate: Sendable {
    private struct State {
        var free: Int
        var nextTicket = 0
        var waiting: [Int: CheckedContinuation<Bool, Never>] = [:]
        var order: [Int] = []
        var gone: Set<Int> = []
    }
    private let state: Mutex<State>

    public init(width: Int) { state = Mutex(State(free: max(1, width))) }

    /// Waits for a place. `false` when the task was cancelled first; then there is nothing to leave.
    public func enter() async -> Bool {
        let ticket = state.withLock { state in
            defer { state.nextTicket += 1 }
            return state.nextTicket
        }
        return await withTaskCancellationHandler {
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
                if waiter == nil { state.gone.insert(ticket) }
                return waiter
            }
            waiter?.resume(returning: false)
        }
    }

    public func leave() {
        let next = state.withLock { state in
            while !state.order.isEmpty {
                let ticket = state.order.removeFirst()
                if let waiter = state.waiting.removeValue(forKey: ticket) { return Optional(waiter) }
            }
            state.free += 1
            return nil
        }
        next?.resume(returning: true)
    }
}
