// The queue in one SQLite file: any number of processes on one machine share it. Not over a network file
// system, whose locks can't be trusted.
//
// Every call is one `BEGIN IMMEDIATE` transaction. The write-ahead log is copied back after a thousand pages
// and cut when nothing waits, and no read outlives its query, so that the log can't grow without bound.
//
// `synchronous = NORMAL`: a crash of the process, even by kill -9, loses nothing. "A transaction committed in
// WAL mode with synchronous=NORMAL might roll back following a power loss or system crash": then a job just
// added may be gone, and one just done is done again. FULL would cost one sync per call.
//
// A producer in any language adds a job by
//
//     INSERT INTO enqueue(job) VALUES ('{"url": "https://example.org/clip.mp4"}');
//
// `enqueue` is a view, whose trigger takes what the queue must know out of the text.

internal import Framemill
internal import FramemillEngine
public import FramemillMedia

public final class SQLiteQueue: JobQueue {
    public let rules: QueueRules
    private let clock: QueueClock
    private let lane: Lane<QueueFile>
    private let watch: Lane<FileWatch>

    /// Opens the file at the first call, and makes it when it is new. The folder must be there.
    /// - Parameter mustExist: makes none; then calls fail with `notFound` where there is no such file.
    public init(
        _ path: String, rules: QueueRules = QueueRules(), mustExist: Bool = false, clock: QueueClock = .system
    ) {
        self.rules = rules
        self.clock = clock
        watch = Lane("watch", width: 1, stackBytes: 1 << 18) { FileWatch(path + "-wal") }
        lane = Lane("queue", width: 1, stackBytes: 1 << 20) { () throws(Failure) in
            if mustExist, FileIdentity(path) == nil {
                throw Failure(.notFound, .queue, "there is no queue at \(path)")
            }
            do throws(SQLite.Problem) { return try QueueFile.open(path) } catch {
                throw QueueFile.failure(error)
            }
        }
    }

    public func arrival(within longest: Duration) async throws(Failure) {
        try await watch.run(stop: Stop()) { file, _ throws(Failure) in file.wait(longest) }
    }

    public func add(_ jobs: [Job]) async throws(Failure) -> [Added] {
        let (now, depth) = (clock.now(), rules.depth)
        let records = jobs.map { JobRecord($0, now: now) }
        let outcome = try await perform { file throws(SQLite.Problem) in
            try file.add(records, depth: depth)
        }
        return try outcome.get()
    }

    public func handOut(
        _ count: Int, reserved: Int, worker: String, for time: Duration
    ) async throws(Failure) -> [RawJob] {
        let (now, ageing) = (clock.now(), rules.ageing.wholeMilliseconds)
        return try await perform { file throws(SQLite.Problem) in
            try file.handOut(
                count, reserved: reserved, worker: worker, now: now, until: now + time.wholeMilliseconds,
                ageing: ageing)
        }
    }

    public func extend(_ leases: [Lease], for time: Duration) async throws(Failure) -> [Lease] {
        let expires = clock.now() + time.wholeMilliseconds
        return try await perform { file throws(SQLite.Problem) in try file.extend(leases, until: expires) }
    }

    public func settle(_ ends: [Settlement]) async throws(Failure) -> [Lease] {
        let now = clock.now()
        return try await perform { file throws(SQLite.Problem) in try file.settle(ends, now: now) }
    }

    public func sweep() async throws(Failure) -> Swept {
        let (now, rules) = (clock.now(), rules)
        return try await perform { file throws(SQLite.Problem) in try file.sweep(now: now, rules) }
    }

    public func stats() async throws(Failure) -> QueueStats {
        let now = clock.now()
        return try await perform { file throws(SQLite.Problem) in try file.stats(now: now) }
    }

    public func show(_ id: String) async throws(Failure) -> JobRecord? {
        let now = clock.now()
        return try await perform { file throws(SQLite.Problem) in try file.show(id, now: now) }
    }

    public func page(_ state: JobState, after place: String?, count: Int) async throws(Failure) -> JobPage {
        let (now, from) = (clock.now(), place.flatMap { Int64($0) } ?? 0)
        return try await perform { file throws(SQLite.Problem) in
            try file.page(state, after: from, count: count, now: now)
        }
    }

    public func replay(_ ids: [String]) async throws(Failure) -> Int {
        let now = clock.now()
        return try await perform { file throws(SQLite.Problem) in try file.replay(ids, now: now) }
    }

    public func purge(_ ids: [String]) async throws(Failure) -> Int {
        try await perform { file throws(SQLite.Problem) in try file.purge(ids) }
    }

    public func pause(host: String?) async throws(Failure) {
        try await perform { file throws(SQLite.Problem) in try file.pause(host?.lowercased()) }
    }

    public func resume(host: String?) async throws(Failure) {
        try await perform { file throws(SQLite.Problem) in try file.resume(host?.lowercased()) }
    }

    public func close() {
        lane.close()
        watch.close()
    }

    private func perform<Value: Sendable>(
        _ body: @escaping @Sendable (inout QueueFile) throws(SQLite.Problem) -> Value
    ) async throws(Failure) -> Value {
        try await shielded { [lane] () throws(Failure) in
            try await lane.run(stop: Stop()) { file, _ throws(Failure) in
                try file.checkPlace()
                do throws(SQLite.Problem) { return try body(&file) } catch {
                    throw QueueFile.failure(error)
                }
            }
        }
    }
}

/// Runs `body` to its end although the calling task may be cancelled: what happened must be booked all the
/// same.
func shielded<Value: Sendable>(
    _ body: @escaping @Sendable () async throws(Failure) -> Value
) async throws(Failure) -> Value {
    let outcome = await Task { () -> Result<Value, Failure> in
        do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
    }.value
    return try outcome.get()
}
