// Threads of our own for work that blocks: C libraries, files, databases. Swift's cooperative pool has one thread per
// core and must never wait; a lane's threads may. `run` is async outside and plain synchronous code inside, so a
// closure can neither deadlock its own lane nor hold a cooperative thread.
//
// Not DispatchQueue: its pool grows without bound under blocking work and has no per-thread context.

internal import Dispatch
public import FramemillMedia
internal import Foundation
internal import Synchronization

/// A few threads, each with a context made lazily on that thread and passed `inout`.
public final class Lane<Context: ~Copyable>: Sendable {
    private typealias Job = @Sendable (inout Context?, @Sendable () throws(Failure) -> Context) -> Void

    private struct Backlog {
        var jobs = Turns<Job>()
        var isClosed = false
    }

    /// What the threads hold: not the lane itself, so that a lane nobody holds any more closes.
    private final class Shared: Sendable {
        let backlog = Mutex(Backlog())
        let arrivals = DispatchSemaphore(value: 0)
        let ended = DispatchGroup()
    }

    private let shared = Shared()
    private let width: Int

    /// - Parameter stackBytes: decoders want more than the 512 KiB that Foundation gives; 4 MiB fits libdav1d.
    public init(
        _ name: String, width: Int, stackBytes: Int = 4 << 20,
        context make: @escaping @Sendable () throws(Failure) -> Context
    ) {
        self.width = width
        for index in 0..<width {
            shared.ended.enter()
            let thread = Thread { [shared] in
                var context: Context? = nil
                while true {
                    shared.arrivals.wait()
                    guard let job = shared.backlog.withLock({ $0.jobs.take() }) else { break }
                    job(&context, make)
                }
                context = nil
                shared.ended.leave()
            }
            thread.name = "\(name)-\(index)"
            thread.stackSize = stackBytes
            thread.start()
        }
    }

    /// Jobs that no thread has taken yet.
    public var queued: Int { shared.backlog.withLock { $0.jobs.count } }

    /// Runs `body` on one of the lane's threads. Cancelling the task raises `stop`; a job still queued is then answered
    /// at once and never runs, one that runs is answered when it has ended.
    public func run<Value: Sendable>(
        priority: Priority = .interactive, stop: Stop,
        _ body: @escaping @Sendable (inout Context, Stop) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await run(number: nil, priority, stop, body)
    }

    /// The same, where the job may become more urgent while it is queued.
    public func run<Value: Sendable>(
        urgency: Urgency, stop: Stop,
        _ body: @escaping @Sendable (inout Context, Stop) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let number = shared.backlog.withLock { $0.jobs.draw() }
        let watch = urgency.watch { [shared] priority in
            shared.backlog.withLock { $0.jobs.raise(number, to: priority) }
        }
        defer { urgency.forget(watch) }
        return try await run(number: number, urgency.priority, stop, body) {
            // A raise between the line above and the job's arrival found no job.
            [shared] in shared.backlog.withLock { $0.jobs.raise(number, to: urgency.priority) }
        }
    }

    private func run<Value: Sendable>(
        number: Int?, _ priority: Priority, _ stop: Stop,
        _ body: @escaping @Sendable (inout Context, Stop) throws(Failure) -> Value,
        queued: @Sendable () -> Void = {}
    ) async throws(Failure) -> Value {
        let caller = Caller<Value>()
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                guard caller.wait(waiter) else { return waiter.resume(returning: .failure(cancelled)) }
                let accepted = submit(priority, number) { context, make in
                    guard let waiter = caller.claim() else { return }
                    do throws(Failure) {
                        try stop.check(.queue)
                        if context == nil { context = try make() }
                        waiter.resume(returning: .success(try body(&context!, stop)))
                    } catch {
                        waiter.resume(returning: .failure(error))
                    }
                }
                if accepted {
                    queued()
                } else {
                    caller.claim()?.resume(
                        returning: .failure(Failure(.closed, .queue, "the lane is closed")))
                }
            }
        } onCancel: {
            stop.raise()
            caller.claim()?.resume(returning: .failure(cancelled))
        }
        return try outcome.get()
    }

    /// Runs `body` when a thread is idle, and tells nobody; not at all once the lane is closed.
    public func post(priority: Priority = .interactive, _ body: @escaping @Sendable () -> Void) {
        _ = submit(priority) { _, _ in body() }
    }

    private func submit(_ priority: Priority, _ number: Int? = nil, _ job: @escaping Job) -> Bool {
        let accepted = shared.backlog.withLock { backlog in
            guard !backlog.isClosed else { return false }
            backlog.jobs.insert(job, number ?? backlog.jobs.draw(), priority)
            return true
        }
        if accepted { shared.arrivals.signal() }
        return accepted
    }

    /// Refuses new jobs; those already queued still run, then the threads end.
    public func close() {
        let first = shared.backlog.withLock { backlog in
            defer { backlog.isClosed = true }
            return !backlog.isClosed
        }
        if first { for _ in 0..<width { shared.arrivals.signal() } }
    }

    /// Waits for the threads to end after `close()`. Blocks; call it from a thread that may.
    public func join() { shared.ended.wait() }

    deinit { close() }
}

private var cancelled: Failure { Failure(.cancelled, .queue, "cancelled by the caller") }

/// Who called `run`: answered once, by the thread that takes the job or by cancellation, whichever comes first.
private final class Caller<Value: Sendable>: Sendable {
    typealias Waiter = CheckedContinuation<Result<Value, Failure>, Never>
    private enum State { case arriving, waiting(Waiter), claimed }
    private let state = Mutex(State.arriving)

    /// `false` when cancellation came before the caller did.
    func wait(_ waiter: Waiter) -> Bool {
        state.withLock { state in
            guard case .arriving = state else { return false }
            state = .waiting(waiter)
            return true
        }
    }

    /// The right and the duty to answer; `nil` for all but the first.
    func claim() -> Waiter? {
        state.withLock { state in
            defer { state = .claimed }
            if case .waiting(let waiter) = state { return waiter }
            return nil
        }
    }
}
