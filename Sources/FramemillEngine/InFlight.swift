public import FramemillMedia
internal import Synchronization

/// One computation per key, however many wait for it. It ends early only when its last waiter has left; a failure is
/// told to those who waited and then forgotten. It is as urgent as the most urgent that ever waited.
public final class InFlight<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private struct Entry {
        /// Tells this computation from a later one of the same key, so that a late leave can't hit the newer.
        var generation: Int
        var waiters: [Int: CheckedContinuation<Result<Value, Failure>, Never>] = [:]
        var work: Task<Void, Never>?
        let urgency: Urgency
    }
    private struct State {
        var entries: [Key: Entry] = [:]
        var counter = 0
        var gone: Set<Int> = []
    }
    private let state = Mutex(State())

    public init() {}

    /// Keys being computed now.
    public var count: Int { state.withLock { $0.entries.count } }

    /// Who waits for `key` now.
    public func waiting(for key: Key) -> Int { state.withLock { $0.entries[key]?.waiters.count ?? 0 } }

    /// What is kept of callers that are gone: nothing, once their calls have returned.
    package var remembered: Int { state.withLock { $0.gone.count } }

    /// Joins the computation of `key`, or starts it with `make`, where nobody is more urgent than others.
    public func value(
        for key: Key, _ make: @escaping @Sendable () async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await value(for: key, priority: .interactive) { (_) async throws(Failure) in try await make() }
    }

    /// Joins the computation of `key`, and raises it to `priority` if it is less urgent; or starts it with `make`, which
    /// gets how urgent it is.
    public func value(
        for key: Key, priority: Priority,
        _ make: @escaping @Sendable (Urgency) async throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let ticket = state.withLock { state in
            state.counter += 1
            return state.counter
        }
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in join(key, ticket, waiter, priority, make) }
        } onCancel: {
            leave(key, ticket)
        }
        // Cancelled when the answer was already on its way: the handler can't run any more from now on.
        _ = state.withLock { $0.gone.remove(ticket) }
        return try outcome.get()
    }

    private func join(
        _ key: Key, _ ticket: Int, _ waiter: CheckedContinuation<Result<Value, Failure>, Never>,
        _ priority: Priority, _ make: @escaping @Sendable (Urgency) async throws(Failure) -> Value
    ) {
        let (refused, joined) = state.withLock { state -> (Bool, Urgency?) in
            if state.gone.remove(ticket) != nil { return (true, nil) }
            if state.entries[key] != nil {
                state.entries[key]!.waiters[ticket] = waiter
                return (false, state.entries[key]!.urgency)
            }
            let urgency = Urgency(priority)
            let work = Task {
                let outcome: Result<Value, Failure>
                do throws(Failure) { outcome = .success(try await make(urgency)) } catch {
                    outcome = .failure(error)
                }
                finish(key, ticket, outcome)
            }
            // Under the lock that `finish` takes first, so the entry is there before the work can end.
            state.entries[key] = Entry(
                generation: ticket, waiters: [ticket: waiter], work: work, urgency: urgency)
            return (false, nil)
        }
        joined?.raise(to: priority)
        if refused { waiter.resume(returning: .failure(Self.left)) }
    }

    private func finish(_ key: Key, _ generation: Int, _ outcome: Result<Value, Failure>) {
        let waiters = state.withLock { state -> [CheckedContinuation<Result<Value, Failure>, Never>] in
            guard let entry = state.entries[key], entry.generation == generation else { return [] }
            state.entries[key] = nil
            return Array(entry.waiters.values)
        }
        for waiter in waiters { waiter.resume(returning: outcome) }
    }

    private func leave(_ key: Key, _ ticket: Int) {
        let (waiter, work) = state.withLock {
            state -> (CheckedContinuation<Result<Value, Failure>, Never>?, Task<Void, Never>?) in
            guard let waiter = state.entries[key]?.waiters.removeValue(forKey: ticket) else {
                state.gone.insert(ticket)
                return (nil, nil)
            }
            guard state.entries[key]!.waiters.isEmpty else { return (waiter, nil) }
            // The last one left: forget the entry at once, so that a new caller starts afresh.
            return (waiter, state.entries.removeValue(forKey: key)?.work)
        }
        work?.cancel()
        waiter?.resume(returning: .failure(Self.left))
    }

    private static var left: Failure { Failure(.cancelled, .input, "cancelled by the caller") }
}
