// The queue in Redis (7.0 or later) or Valkey: any number of machines share it.
//
// For each priority one stream with the consumer group `workers`, which says who was handed what. Beside
// them, under the same prefix (`framemill` unless told otherwise):
//
//     framemill:interactive, :prefetch, :backfill   streams; an entry is a place in line, and gone once the job is done
//     framemill:job:ID                              hash: the job's text, state, tries, token, and the entry it has
//     framemill:running, :delayed, :dead, :parked   sorted sets of ids, by the end of the lease, the time due, of death
//     framemill:keys                                hash: idempotency key to id
//     framemill:token, :turn, :counts, :paused, :paused-hosts, :scan
//     framemill:results                             stream: how jobs ended, the newest ten thousand
//
// A stream alone can't delay, fence or bury. So the hash is the job and the stream entry only its place in
// line: a retry takes the place away and puts the id among the delayed; when it is due it gets a new place.
// The lease is in `running` and not the entry's idle time, because it must be given a length and a token, and
// be judged by one clock. That clock is the server's own: workers whose clocks are off agree all the same.
//
// Every step is one Lua script (Scripts.swift) by EVALSHA. A lost connection is made anew and the step sent
// once more, which the scripts bear: an id is added once, a token settles once. But a hand-out whose answer
// was lost is held until its lease is over.
//
// Redis must not throw keys away: `maxmemory-policy noeviction` (its default); `stats` warns of any other.
// Full, it then refuses what is added and nothing is lost. To survive a crash of Redis it needs `appendonly
// yes`; with `appendfsync everysec` a power cut takes the last second: what was added in it is gone, what was
// done in it is done again.
//
// A producer in any language adds a job by
//
//     XADD framemill:backfill * job '{"url": "https://example.org/clip.mp4"}'
//
// and must not trim the stream (no MAXLEN). The stream decides the priority, and the job's id is that of its
// entry unless its text has one.

internal import FramemillEngine
public import FramemillMedia

public final class RedisQueue: JobQueue {
    public let rules: QueueRules
    private let address: RedisAddress
    private let prefix: String
    private let clock: QueueClock?
    private let lane: Lane<Session>
    /// With a connection of its own: a read that blocks must hold up nothing else.
    private let ear: Lane<RedisEar>

    /// Connects at the first call.
    /// - Parameters:
    ///   - prefix: of every key. In a cluster it must have a hash tag, such as `{framemill}`.
    ///   - clock: for tests; `nil` is the server's own.
    public init(
        _ address: RedisAddress, prefix: String = "framemill", rules: QueueRules = QueueRules(),
        clock: QueueClock? = nil
    ) {
        self.address = address
        self.prefix = prefix
        self.rules = rules
        self.clock = clock
        // Two, so that Redis has work while the answer before is read.
        lane = Lane("redis", width: 2, stackBytes: 1 << 20) { Session(address) }
        ear = Lane("redis-ear", width: 1, stackBytes: 1 << 20) { RedisEar(address, prefix) }
    }

    public func add(_ jobs: [Job]) async throws(Failure) -> [Added] {
        var words = ["\(rules.depth)"]
        for job in jobs {
            words += [
                job.id, job.key ?? "", "\(job.priority.rawValue)", "\(job.notBeforeMilliseconds)", job.host,
                job.json,
            ]
        }
        let reply = try await run(.add, words)
        if let waiting = reply.number { throw Full.failure(Int(waiting), jobs.count, rules: rules.depth) }
        return reply.list.map { holder in
            holder.text.flatMap { $0.isEmpty ? nil : .duplicate(of: $0) } ?? .added
        }
    }

    public func handOut(
        _ count: Int, reserved: Int, worker: String, for time: Duration
    ) async throws(Failure) -> [RawJob] {
        let (lease, ageing) = (time.wholeMilliseconds, rules.ageing.wholeMilliseconds)
        let fields = try await run(.hand, ["\(count)", worker, "\(lease)", "\(ageing)", "\(reserved)"]).list
        return stride(from: 0, to: fields.count - 5, by: 6).map { index in
            RawJob(
                lease: Lease(id: fields[index].text ?? "", token: fields[index + 1].number ?? 0),
                tries: Int(fields[index + 2].number ?? 1), added: fields[index + 3].number ?? 0,
                priority: Priority(rawValue: Int(fields[index + 4].number ?? 2)) ?? .backfill,
                json: fields[index + 5].text ?? "")
        }
    }

    public func extend(_ leases: [Lease], for time: Duration) async throws(Failure) -> [Lease] {
        guard !leases.isEmpty else { return [] }
        let words = leases.flatMap { [$0.id, "\($0.token)"] }
        let lost = try await run(.extend, ["\(time.wholeMilliseconds)"] + words)
        return lost.list.compactMap { $0.number.map { leases[Int($0)] } }
    }

    public func settle(_ ends: [Settlement]) async throws(Failure) -> [Lease] {
        guard !ends.isEmpty else { return [] }
        var words = ["\(rules.results)"]
        for end in ends {
            words += [end.lease.id, "\(end.lease.token)"]
            switch end.end {
            case .done(let result): words += ["done", "0", "", "", result]
            case .retry(let wait, let failure):
                words += ["retry", "\(wait.wholeMilliseconds)"] + failure.words
            case .dead(let failure): words += ["dead", "0"] + failure.words
            case .handedBack(let wait): words += ["back", "\(wait.wholeMilliseconds)", "", "", ""]
            }
        }
        return try await run(.settle, words).list.compactMap { $0.number.map { ends[Int($0)].lease } }
    }

    public func sweep() async throws(Failure) -> Swept {
        let gone = Vanished.failure(rules.crashes)
        let kept = (clock?.now() ?? QueueClock.system.now()) - rules.deadKept.wholeMilliseconds
        let counts = try await run(
            .sweep,
            [
                "\(rules.crashes)", "\(rules.unleased.wholeMilliseconds)", "\(max(0, kept))",
                "\(rules.results)",
                gone.reason.code, gone.reason.class.rawValue, Vanished.words,
            ]
        ).list.map { Int($0.number ?? 0) }
        var swept = Swept()
        guard counts.count == 3 else { throw unexpected(.sweep) }
        (swept.reclaimed, swept.buried, swept.repaired) = (counts[0], counts[1], counts[2])
        return swept
    }

    public func pause(host: String?) async throws(Failure) {
        _ = try await run(.pause, ["pause", host?.lowercased() ?? ""])
    }

    public func resume(host: String?) async throws(Failure) {
        _ = try await run(.pause, ["resume", host?.lowercased() ?? ""])
    }

    public func replay(_ ids: [String]) async throws(Failure) -> Int { try await count(.replay, ids) }

    public func purge(_ ids: [String]) async throws(Failure) -> Int { try await count(.purge, ids) }

    /// In parts, so that no step keeps Redis from others for long.
    private func count(_ script: Script, _ ids: [String]) async throws(Failure) -> Int {
        var count = 0
        for start in stride(from: 0, to: ids.count, by: 500) {
            let part = ids[start..<min(start + 500, ids.count)]
            count += Int(try await run(script, Array(part)).number ?? 0)
        }
        return count
    }

    /// A blocking read of the streams, which takes nothing out of them. It can't outlive the connection's own
    /// limit, so a connection that was cut without a word is found out some seconds later.
    public func arrival(within longest: Duration) async throws(Failure) {
        try await ear.run(stop: Stop()) { ear, _ throws(Failure) in try ear.wait(longest) }
    }

    public func close() {
        lane.close()
        ear.close()
    }

    /// One script, and its answer.
    func run(_ script: Script, _ words: [String]) async throws(Failure) -> Reply {
        let now = clock.map { "\($0.now())" } ?? "-1"
        let (prefix, arguments) = (prefix, [now] + words)
        return try await shielded { [lane] () throws(Failure) in
            try await lane.run(stop: Stop()) { session, _ throws(Failure) in
                try session.run(script, prefix, arguments)
            }
        }
    }

    /// One plain command.
    func ask(_ words: [String]) async throws(Failure) -> Reply {
        try await shielded { [lane] () throws(Failure) in
            try await lane.run(stop: Stop()) { session, _ throws(Failure) in try session.ask(words) }
        }
    }

    func unexpected(_ script: Script) -> Failure {
        Failure(
            .internalError, .queue, "\(address.displayName) gave an unexpected answer to \(script.rawValue)")
    }
}

extension Failure {
    fileprivate var words: [String] { [reason.code, reason.class.rawValue, message] }
}
