import FramemillMedia
import FramemillQueue
import Synchronization
import TestSupport
import Testing

/// A clock that stands still until a test moves it.
final class HandClock: Sendable {
    private let time = Mutex<Int64>(1_000_000_000)
    var clock: QueueClock { QueueClock { self.time.withLock { $0 } } }
    func advance(_ duration: Duration) {
        time.withLock {
            $0 += duration.components.seconds * 1000 + duration.components.attoseconds / 1_000_000_000_000_000
        }
    }
}

enum Driver: String, CaseIterable, CustomTestStringConvertible {
    case memory, sqlite, redis
    var testDescription: String { rawValue }
    static var present: [Driver] { allCases.filter { $0 != .redis || RedisServer.isInstalled } }
    static var shared: [Driver] { present.filter { $0 != .memory } }
}

/// One queue for one test, and as many connections to it as the test wants; gone with all it holds.
final class Place: JobQueue {
    let driver: Driver
    let rules: QueueRules
    let hand = HandClock()
    private let queue: any JobQueue
    let server: RedisServer?
    private let folder: TemporaryFolder

    init(_ driver: Driver, rules: QueueRules = QueueRules()) throws {
        self.driver = driver
        self.rules = rules
        folder = try TemporaryFolder()
        server = driver == .redis ? try RedisServer() : nil
        queue = try Self.open(driver, rules, hand, folder, server)
    }

    var path: String { folder.file("queue.sqlite") }

    /// Another connection, as another process would have.
    func another() throws -> any JobQueue {
        driver == .memory ? queue : try Self.open(driver, rules, hand, folder, server)
    }

    private static func open(
        _ driver: Driver, _ rules: QueueRules, _ hand: HandClock, _ folder: TemporaryFolder,
        _ server: RedisServer?
    ) throws -> any JobQueue {
        switch driver {
        case .memory: MemoryQueue(rules: rules, clock: hand.clock)
        case .sqlite: SQLiteQueue(folder.file("queue.sqlite"), rules: rules, clock: hand.clock)
        case .redis: RedisQueue(try RedisAddress("unix://\(server!.socket)"), rules: rules, clock: hand.clock)
        }
    }
}

/// A place is used as its queue, so that it lives as long as that is.
extension Place {
    func add(_ jobs: [Job]) async throws(Failure) -> [Added] { try await queue.add(jobs) }
    func handOut(
        _ count: Int, reserved: Int, worker: String, for time: Duration
    ) async throws(Failure) -> [RawJob] {
        try await queue.handOut(count, reserved: reserved, worker: worker, for: time)
    }
    func extend(_ leases: [Lease], for time: Duration) async throws(Failure) -> [Lease] {
        try await queue.extend(leases, for: time)
    }
    func settle(_ ends: [Settlement]) async throws(Failure) -> [Lease] { try await queue.settle(ends) }
    func sweep() async throws(Failure) -> Swept { try await queue.sweep() }
    func arrival(within longest: Duration) async throws(Failure) { try await queue.arrival(within: longest) }
    func stats() async throws(Failure) -> QueueStats { try await queue.stats() }
    func show(_ id: String) async throws(Failure) -> JobRecord? { try await queue.show(id) }
    func page(_ state: JobState, after place: String?, count: Int) async throws(Failure) -> JobPage {
        try await queue.page(state, after: place, count: count)
    }
    func replay(_ ids: [String]) async throws(Failure) -> Int { try await queue.replay(ids) }
    func purge(_ ids: [String]) async throws(Failure) -> Int { try await queue.purge(ids) }
    func pause(host: String?) async throws(Failure) { try await queue.pause(host: host) }
    func resume(host: String?) async throws(Failure) { try await queue.resume(host: host) }
    func close() { queue.close() }
}

extension JobQueue {
    func add(_ job: Job) async throws(Failure) -> Added { try await add([job])[0] }

    /// Urls of what is handed out.
    func urls(_ count: Int, worker: String = "one") async throws(Failure) -> [String] {
        try await lease(count, worker: worker, for: .seconds(30)).map(\.job.url)
    }

    func take(worker: String = "one") async throws -> LeasedJob {
        let jobs = try await lease(1, worker: worker, for: .seconds(30))
        guard let job = jobs.first else { throw Failure(.internalError, .queue, "the test got no job") }
        return job
    }

    func end(_ lease: Lease, _ end: Settlement.End) async throws(Failure) -> [Lease] {
        try await settle([Settlement(lease, end)])
    }
}

func jobs(_ range: Range<Int>, _ priority: Priority = .backfill) -> [Job] {
    range.map { Job("https://example.org/\($0).mp4", priority: priority) }
}

let passing = Failure(.timeout, .fetch, "it took too long")
let lasting = Failure(.http(404), .fetch, "it is gone")
