// The story of a worker: settle what ended, lease what there are free slots for, wait until something
// happens. One task does these three, so that a job that ends and a job that comes are booked in few steps,
// many at a time under load.
//
// Beside it run: a task for each job; the heartbeat, which holds on to what runs (it neither computes nor
// waits for who does, because covers are made on lanes of their own); the sweep, all the time and not only at
// the start; and the listener, which wakes the worker when jobs come.
//
// Stopping: no new leases, let run what runs; after `grace` the rest is handed back at once, without a try.

public import Framemill
internal import FramemillEngine
internal import Synchronization

public final class Worker: Sendable {
    public struct Options: Sendable {
        /// In leases and logs; two workers must not share one.
        public var name: String
        /// Jobs worked on at once. Most wait for bytes. One that takes longer than `late` gives its slot to another and
        /// goes on beside it, so that sources that stand still hold nobody up; twice as many jobs run at the very most.
        public var slots: Int = 32
        /// Interactive jobs beside them, so that whoever waits for one need not wait for a slot first. They are no slots
        /// where `jobs` bounds the run.
        public var reserve: Int { max(1, slots / 8) }
        /// Longer than nearly every job takes.
        public var late: Duration = .seconds(1)
        /// After a crash the others wait this long before they take over. Held on to three times within it.
        public var lease: Duration = .seconds(30)
        /// How long what runs may go on once the worker is told to stop.
        public var grace: Duration = .seconds(10)
        /// Jobs of one host at once.
        public var perHost: Int = 4
        /// Jobs of one host that this worker starts in a second; `nil`: any number.
        public var hostRate: Double?
        /// Ends by itself after so many; `nil`: never.
        public var jobs: Int?
        public var backoff = Backoff()

        public init(name: String) { self.name = name }
    }

    private struct Running {
        var leased: LeasedJob
        var begun: Int64
        var task: Task<Void, Never>?

        var lease: Lease { leased.lease }

        /// What is said of it when it ends for us before it ended.
        func ended(_ event: JobOutcome.Event, _ code: String, now: Int64) -> JobOutcome {
            var outcome = JobOutcome(leased, begun: begun)
            (outcome.event, outcome.code, outcome.seconds) = (event, code, Double(now - begun) / 1000)
            return outcome
        }
    }
    private struct State {
        /// By the id of the job.
        var running: [String: Running] = [:]
        var ended: [Settlement] = []
        var outcomes: [Lease: JobOutcome] = [:]
        var started = 0
        var isStopping = false
        /// Of the grace.
        var timer: Task<Void, Never>?
        /// The grace is over.
        var isOver = false
        /// When the read that waits for jobs last came back.
        var heard = ContinuousClock.now
    }
    private let queue: any JobQueue
    private let options: Options
    private let runner: JobRunner
    private let clock: QueueClock
    private let report: @Sendable (JobOutcome) -> Void
    private let trouble: @Sendable (Failure) -> Void
    private let state = Mutex(State())
    private let wakes: AsyncStream<Void>
    private let bell: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - make: what a job is: mostly `mill.cover(for:)`.
    ///   - report: told of each job where it ends, once.
    ///   - trouble: told when the queue can't be reached; the worker goes on trying.
    public init(
        _ queue: any JobQueue, _ options: Options, sink: any Sink = CacheSink(), callbacks: Callbacks? = nil,
        clock: QueueClock = .system, report: @escaping @Sendable (JobOutcome) -> Void = { _ in },
        trouble: @escaping @Sendable (Failure) -> Void = { _ in },
        make: @escaping @Sendable (Request) async throws(Failure) -> Artifact
    ) {
        self.queue = queue
        self.options = options
        self.clock = clock
        self.report = report
        self.trouble = trouble
        runner = JobRunner(
            hosts: Hosts(width: options.perHost, rate: options.hostRate, clock: clock),
            backoff: options.backoff, sink: sink,
            callbacks: callbacks, clock: clock, make: make)
        (wakes, bell) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Jobs being worked on now.
    public var running: Int { state.withLock { $0.running.count } }

    /// For how long the oldest of them has been in hand, in seconds; 0 where there is none.
    package var oldestSeconds: Double {
        let begun = state.withLock { $0.running.values.map(\.begun).min() }
        return begun.map { max(0, Double(clock.now() - $0) / 1000) } ?? 0
    }

    /// For how long the read that waits for jobs has not come back, or failed: on a connection of its own, which
    /// may be dead while all others live.
    package var deafSeconds: Double { state.withLock { $0.heard.duration(to: .now) / .seconds(1) } }

    /// Whether it takes no more jobs.
    package var isStopping: Bool { state.withLock { $0.isStopping } }

    /// Works until `stop()`, or until `Options.jobs` are done. Once only.
    public func run() async {
        let helpers = [
            Task { await self.holdOn() }, Task { await self.sweep() }, Task { await self.listen() },
        ]
        var iterator = wakes.makeAsyncIterator()
        repeat {
            let isSettled = await settle()
            await lease()
            let (isIdle, isOver) = state.withLock { state in
                let isEnding = state.isStopping || state.started >= options.jobs ?? .max
                return (isEnding && state.running.isEmpty && state.ended.isEmpty, state.isOver)
            }
            // A queue that can't be reached any more must not keep the process: leases end by themselves.
            if isIdle || isOver && !isSettled { break }
        } while await iterator.next() != nil
        let timer = state.withLock { $0.timer }
        for helper in helpers + [timer].compactMap(\.self) {
            helper.cancel()
            // Nothing of it is left behind, so that whoever owns the queue may close it. The listener needs a
            // moment.
            await helper.value
        }
    }

    /// Takes no more jobs, and ends `run` within the grace.
    public func stop() {
        state.withLock { state in
            guard !state.isStopping else { return }
            state.isStopping = true
            // A little earlier, so that the process is gone by then.
            let time = max(.zero, options.grace - .seconds(1))
            state.timer = Task {
                if await rest(time) { handBackAll() }
            }
        }
        bell.yield()
    }

    private func handBackAll() {
        let now = clock.now()
        let tasks = state.withLock { state in
            state.isOver = true
            let running = state.running.values
            state.ended += running.map { Settlement($0.lease, .handedBack(after: .zero)) }
            for one in running { state.outcomes[one.lease] = one.ended(.back, "cancelled", now: now) }
            state.running = [:]
            return running.compactMap(\.task)
        }
        for task in tasks { task.cancel() }
        bell.yield()
    }

    /// Books what ended, all in one step. `false` when the queue can't be reached; it is tried again.
    private func settle() async -> Bool {
        let ends = state.withLock { state in
            defer { state.ended = [] }
            return state.ended
        }
        guard !ends.isEmpty else { return true }
        do throws(Failure) {
            let refused = Set(try await queue.settle(ends))
            for end in ends {
                guard var outcome = state.withLock({ $0.outcomes.removeValue(forKey: end.lease) }) else {
                    continue
                }
                if refused.contains(end.lease) { outcome.event = .refused }
                report(outcome)
            }
            return true
        } catch {
            state.withLock { $0.ended = ends + $0.ended }
            await pause(error)
            return false
        }
    }

    private func lease() async {
        let limit = clock.now() - options.late.wholeMilliseconds
        let room: Room? = state.withLock { state in
            guard !state.isStopping else { return nil }
            let inTime = state.running.values.filter { $0.begun > limit }
            let hurried = inTime.count { $0.leased.job.priority == .interactive }
            return Room(
                options, hurried: hurried, others: inTime.count - hurried,
                late: state.running.count - inTime.count, started: state.started)
        }
        guard let room, room.free > 0 else { return }
        do throws(Failure) {
            let jobs = try await queue.lease(
                room.free, reserved: room.reserved, worker: options.name, for: options.lease)
            for job in jobs { start(job) }
        } catch {
            await pause(error)
        }
    }

    private func start(_ leased: LeasedJob) {
        let begun = clock.now()
        state.withLock { state in
            state.started += 1
            // Under the lock that `finish` takes first, so that the entry is there before the task can end.
            // What is urgent has threads of its own: else it waits for its turn behind all that is not.
            let task = Task(priority: leased.job.priority == .interactive ? .high : .low) {
                finish(leased, await runner.run(leased))
            }
            state.running[leased.lease.id] = Running(leased: leased, begun: begun, task: task)
        }
    }

    private func finish(_ leased: LeasedJob, _ ended: (Settlement.End, JobOutcome)) {
        state.withLock { state in
            // Handed back or lost meanwhile: somebody else's.
            guard state.running[leased.lease.id]?.lease == leased.lease else { return }
            state.running[leased.lease.id] = nil
            state.ended.append(Settlement(leased.lease, ended.0))
            state.outcomes[leased.lease] = ended.1
            if case .handedBack = ended.0 { state.started -= 1 }
        }
        bell.yield()
    }

    /// Says what is wrong and gives the queue a moment.
    private func pause(_ failure: Failure) async {
        trouble(failure)
        try? await Task.sleep(for: .seconds(1))  // cut short when the worker ends
        bell.yield()
    }

    private func holdOn() async {
        while await rest(options.lease / 3) {
            let leases = state.withLock { $0.running.values.map(\.lease) }
            guard !leases.isEmpty else { continue }
            do throws(Failure) { drop(try await queue.extend(leases, for: options.lease)) } catch {
                trouble(error)
            }
        }
    }

    /// What is lost runs for nobody.
    private func drop(_ lost: [Lease]) {
        let gone = state.withLock { state in
            lost.compactMap { lease -> Running? in
                guard state.running[lease.id]?.lease == lease else { return nil }
                return state.running.removeValue(forKey: lease.id)
            }
        }
        for one in gone {
            one.task?.cancel()
            report(one.ended(.refused, "cancelled", now: clock.now()))
        }
        bell.yield()
    }

    private func sweep() async {
        repeat {
            do throws(Failure) {
                if try await queue.sweep() != Swept() { bell.yield() }
            } catch {
                trouble(error)
            }
        } while await rest(options.lease / 3)
    }

    private func listen() async {
        while !Task.isCancelled {
            do throws(Failure) {
                try await queue.arrival(within: .milliseconds(500))
                state.withLock { $0.heard = .now }
                bell.yield()
            } catch {
                // Who leases says what is wrong.
                guard await rest(.seconds(1)) else { return }
            }
        }
    }

    /// `false` once the worker has ended.
    private func rest(_ time: Duration) async -> Bool {
        do { try await Task.sleep(for: time) } catch { return false }
        return true
    }
}
