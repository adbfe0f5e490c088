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
        /// One queue per priority; within one, first come first served.
        var jobs: [[(number: Int, job: Job?)]] = Array(repeating: [], count: Priority.allCases.count)
        var heads: [Int] = Array(repeating: 0, count: Priority.allCases.count)
        var submitted = 0
        var started = 0
        var isClosed = false

        /// A job of lower priority that this many younger jobs have passed is taken next: nobody starves.
        static var ageingLimit: Int { 64 }

        mutating func take() -> Job? {
            var pick: Int?
            for priority in jobs.indices where heads[priority] < jobs[priority].count {
                if pick == nil { pick = priority }
                let waited = submitted - jobs[priority][heads[priority]].number
                if waited > Self.ageingLimit * priority, priority > pick!, started % 4 == 0 { pick = priority }
            }
            guard let pick else { return nil }
            started += 1
            let job = jobs[pick][heads[pick]].job
            // What the job holds must not live on until the queue is compacted.
            jobs[pick][heads[pick]].job = nil
            heads[pick] += 1
            // Compacts once half is used, so that taking stays O(1) and a long backlog is freed.
            if heads[pick] > 64, heads[pick] * 2 > jobs[pick].count {
                jobs[pick].removeFirst(heads[pick])
                heads[pick] = 0
            }
            return job
        }
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
                    guard let job = shared.backlog.withLock({ $0.take() }) else { break }
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

    /// Runs `body` on one of the lane's threads. Cancelling the task raises `stop`; a job still queued then never runs.
    public func run<Value: Sendable>(
        priority: Priority = .interactive, stop: Stop,
        _ body: @escaping @Sendable (inout Context, Stop) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { (waiter: CheckedContinuation<Result<Value, Failure>, Never>) in
                let accepted = submit(priority) { context, make in
                    do throws(Failure) {
                        try stop.check(.input)
                        if context == nil { context = try make() }
                        waiter.resume(returning: .success(try body(&context!, stop)))
                    } catch {
                        waiter.resume(returning: .failure(error))
                    }
                }
                if !accepted {
                    waiter.resume(returning: .failure(Failure(.closed, .input, "the lane is closed")))
                }
            }
        } onCancel: {
            stop.raise()
        }
        return try outcome.get()
    }

    private func submit(_ priority: Priority, _ job: @escaping Job) -> Bool {
        let accepted = shared.backlog.withLock { backlog in
            guard !backlog.isClosed else { return false }
            backlog.jobs[priority.rawValue].append((backlog.submitted, job))
            backlog.submitted += 1
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
