internal import Dispatch
internal import Synchronization

/// A gate that a test opens by hand, so that a race is arranged and never slept for.
///
/// Tasks pass with `wait()`, plain threads with `block()`. Once open it stays open. Cancellation is not looked at:
/// a test that cancels a waiting task decides itself when the task goes on.
public final class Valve: Sendable {
    private struct State {
        var isOpen = false
        var tasks: [CheckedContinuation<Void, Never>] = []
        var threads: [DispatchSemaphore] = []
        /// Everyone who has come to the valve so far.
        var arrivals = 0
        var watchers: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []

        mutating func arrive() -> [CheckedContinuation<Void, Never>] {
            arrivals += 1
            let ready = watchers.filter { $0.count <= arrivals }
            watchers.removeAll { $0.count <= arrivals }
            return ready.map(\.continuation)
        }
    }
    private let state = Mutex(State())

    public init() {}

    /// Lets everyone pass, now and later.
    public func open() {
        let (tasks, threads) = state.withLock { state in
            state.isOpen = true
            defer { (state.tasks, state.threads) = ([], []) }
            return (state.tasks, state.threads)
        }
        for task in tasks { task.resume() }
        for thread in threads { thread.signal() }
    }

    /// Suspends the task until the valve is open.
    public func wait() async {
        await withCheckedContinuation { continuation in
            let (watchers, passes) = state.withLock { state in
                let watchers = state.arrive()
                if !state.isOpen { state.tasks.append(continuation) }
                return (watchers, state.isOpen)
            }
            for watcher in watchers { watcher.resume() }
            if passes { continuation.resume() }
        }
    }

    /// Blocks the calling thread until the valve is open. For a lane's threads, never for a task.
    public func block() {
        let thread = DispatchSemaphore(value: 0)
        let (watchers, passes) = state.withLock { state in
            let watchers = state.arrive()
            if !state.isOpen { state.threads.append(thread) }
            return (watchers, state.isOpen)
        }
        for watcher in watchers { watcher.resume() }
        if !passes { thread.wait() }
    }

    /// Suspends until `count` tasks and threads have come to the valve, those that passed included.
    public func arrivals(_ count: Int) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if state.arrivals < count { state.watchers.append((count, continuation)) }
                return state.arrivals >= count
            }
            if isReady { continuation.resume() }
        }
    }
}
