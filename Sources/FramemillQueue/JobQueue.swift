// The contract that every driver keeps, and `Tests/FramemillQueueTests` holds each of them to:
//
// - A job is handed out at least once. Its effect is once, because a cover is a function of its key.
// - Whoever holds a job holds a lease: a time, and a token that only grows. What comes after the lease passed
//   to somebody else carries an old token and is refused, whatever it says.
// - Each call is one atomic step, and adds before it removes: whatever is killed in between, no job is lost.
// - `tries` counts hand-outs that count: a crash does, because nobody was left to say otherwise; a hand-back
//   does not.
// - Priority first, then age: of every four jobs handed out one is the oldest of those that have waited for
//   more than `QueueRules.ageing`, so that nobody starves and a person waits for a quarter at most.

public import FramemillMedia

/// Where jobs wait for workers. Calls may be made from any task; those that book what happened are not
/// cancelled with it.
public protocol JobQueue: Sendable {
    var rules: QueueRules { get }

    /// Puts jobs in, all or none. A job whose id or key is there already is not added again.
    /// - Throws: `writeFailed` when the queue would hold more than `QueueRules.depth`, or can't be written.
    func add(_ jobs: [Job]) async throws(Failure) -> [Added]

    /// Hands out up to `count` jobs that nobody holds, as their producers wrote them; none when nothing is
    /// due, or while paused. `lease` is what a worker calls.
    /// - Parameter reserved: so many of `count` are for interactive jobs alone, aged or not.
    func handOut(
        _ count: Int, reserved: Int, worker: String, for time: Duration
    ) async throws(Failure) -> [RawJob]

    /// Holds on to jobs for `time` from now.
    /// - Returns: those that are lost, whose results nobody wants any more.
    func extend(_ leases: [Lease], for time: Duration) async throws(Failure) -> [Lease]

    /// Books how jobs ended, all in one step.
    /// - Returns: those that were refused, because the lease is somebody else's or nobody's by now.
    func settle(_ ends: [Settlement]) async throws(Failure) -> [Lease]

    /// Takes jobs back whose lease is over, mends what was broken by hand, and forgets what is older than the
    /// rules say. Any worker does this again and again, not only at its start.
    func sweep() async throws(Failure) -> Swept

    /// Returns once jobs may have come, and at the latest after about `longest`: jobs whose time has come
    /// wake nobody.
    func arrival(within longest: Duration) async throws(Failure)

    func stats() async throws(Failure) -> QueueStats

    func show(_ id: String) async throws(Failure) -> JobRecord?

    /// Up to `count` jobs in one state, in order, behind the place that the page before ended at.
    func page(_ state: JobState, after place: String?, count: Int) async throws(Failure) -> JobPage

    /// Lets dead jobs wait again, with all their tries. Ids of jobs that aren't dead are passed over.
    /// - Returns: how many.
    func replay(_ ids: [String]) async throws(Failure) -> Int

    /// Removes jobs for good, unless they run.
    /// - Returns: how many.
    func purge(_ ids: [String]) async throws(Failure) -> Int

    /// Hands out nothing any more: of one host, or at all. What runs goes on.
    func pause(host: String?) async throws(Failure)
    func resume(host: String?) async throws(Failure)

    /// Frees connections; later calls fail with `closed`.
    func close()
}

/// The right to say how a job ended.
public struct Lease: Sendable, Hashable {
    public var id: String
    /// Grows with every hand-out of the queue.
    public var token: Int64

    public init(id: String, token: Int64) {
        self.id = id
        self.token = token
    }
}

/// A job as it stands in the queue.
public struct RawJob: Sendable, Equatable {
    public var lease: Lease
    /// This one included.
    public var tries: Int
    /// Milliseconds since 1970.
    public var added: Int64
    public var priority: Priority
    public var json: String
}

/// A job that is held.
public struct LeasedJob: Sendable {
    public var lease: Lease
    public var job: Job
    /// This one included.
    public var tries: Int
    /// Milliseconds since 1970.
    public var added: Int64
}

/// What became of a job that was handed out.
public struct Settlement: Sendable {
    public var lease: Lease
    public var end: End

    public init(_ lease: Lease, _ end: End) {
        self.lease = lease
        self.end = end
    }

    public enum End: Sendable {
        /// With what whoever waits for it is told, such as the facts as JSON.
        case done(String)
        case retry(after: Duration, Failure)
        case dead(Failure)
        /// Does not count as a try.
        case handedBack(after: Duration)
    }
}

/// What `add` did with one job.
public enum Added: Sendable, Equatable {
    case added
    /// The job of this id is there already, or has the key.
    case duplicate(of: String)
}

/// What one `sweep` found.
public struct Swept: Sendable, Equatable, Codable {
    /// Their worker vanished; they wait again.
    public var reclaimed = 0
    /// Their worker vanished once too often.
    public var buried = 0
    /// Somebody took their place in the queue away by hand; they have one again.
    public var repaired = 0

    public init() {}
}

extension JobQueue {
    /// Hands out up to `count` jobs, whatever their priority.
    public func handOut(_ count: Int, worker: String, for time: Duration) async throws(Failure) -> [RawJob] {
        try await handOut(count, reserved: 0, worker: worker, for: time)
    }

    /// Hands out up to `count` jobs. Those that can't be understood go to the dead ones at once.
    /// - Parameter reserved: so many of `count` are for interactive jobs alone.
    public func lease(
        _ count: Int, reserved: Int = 0, worker: String, for time: Duration
    ) async throws(Failure) -> [LeasedJob] {
        var jobs: [LeasedJob] = []
        while jobs.count < count {
            let raw = try await handOut(
                count - jobs.count, reserved: reserved, worker: worker, for: time)
            var broken: [Settlement] = []
            for one in raw {
                do throws(Failure) {
                    var job = try Job(json: one.json, id: one.lease.id)
                    // Where it was put decides, also when its text says something else.
                    job.priority = one.priority
                    jobs.append(LeasedJob(lease: one.lease, job: job, tries: one.tries, added: one.added))
                } catch {
                    broken.append(Settlement(one.lease, .dead(error)))
                }
            }
            if broken.isEmpty { break }
            _ = try await settle(broken)
        }
        return jobs
    }

    /// Puts one job in that could be made.
    ///
    ///     let queue = try QueueAddress.open("sqlite:queue.sqlite")
    ///     var job = Job("https://example.org/clip.mp4", priority: .interactive)
    ///     job.callback = "https://example.org/done"
    ///     _ = try await queue.enqueue(job)
    ///
    /// For many at once `add` is faster, and checks nothing.
    /// - Returns: whether it was added, or which job is there in its place.
    /// - Throws: as `add` does, and what `Job.check` does.
    public func enqueue(_ job: Job) async throws(Failure) -> Added {
        try job.check()
        return try await add([job])[0]
    }

    /// Jobs in one state that the filter lets through, `limit` at most, in the order of the queue.
    public func list(
        _ state: JobState, _ filter: JobFilter = JobFilter(), limit: Int = .max
    ) async throws(Failure) -> [JobRecord] {
        var (found, place): ([JobRecord], String?) = ([], nil)
        repeat {
            let page = try await page(state, after: place, count: 500)
            found += page.jobs.filter { filter.matches($0, now: page.now) }.prefix(limit - found.count)
            place = page.next
        } while place != nil && found.count < limit
        return found
    }

    /// Lets the dead jobs that the filter lets through wait again.
    public func replay(_ filter: JobFilter) async throws(Failure) -> Int {
        try await replay(try await list(.dead, filter).map(\.id))
    }

    /// Removes the jobs of one state that the filter lets through.
    public func purge(_ state: JobState, _ filter: JobFilter) async throws(Failure) -> Int {
        try await purge(try await list(state, filter).map(\.id))
    }
}
