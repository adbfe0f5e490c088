// The contract in its plainest form: a dictionary under one lock. For tests, and for a process that needs a
// queue for as long as it lives. Every call looks at all jobs, which is right for thousands and slow for
// millions.

public import FramemillMedia
internal import Synchronization

public final class MemoryQueue: JobQueue {
    fileprivate struct Entry {
        var number: Int64
        var record: JobRecord
        var token: Int64 = 0
        var priority: Priority
    }
    fileprivate struct State {
        var entries: [String: Entry] = [:]
        var keys: [String: String] = [:]
        var added: Int64 = 0
        var token: Int64 = 0
        var turn: Int64 = 0
        var done: Int64 = 0
        var isPaused = false
        var pausedHosts: Set<String> = []
        var isClosed = false
        var bells: [AsyncStream<Void>.Continuation] = []
    }
    public let rules: QueueRules
    private let clock: QueueClock
    private let state = Mutex(State())

    public init(rules: QueueRules = QueueRules(), clock: QueueClock = .system) {
        self.rules = rules
        self.clock = clock
    }

    public func add(_ jobs: [Job]) async throws(Failure) -> [Added] {
        let (now, depth) = (clock.now(), rules.depth)
        return try withState { state throws(Failure) in
            let waiting = state.entries.values.count { [.waiting, .delayed].contains($0.record.state) }
            for bell in state.bells { bell.yield() }
            state.bells = []
            guard waiting + jobs.count <= depth else { throw Full.failure(waiting, jobs.count, rules: depth) }
            return jobs.map { state.add($0, now) }
        }
    }

    public func handOut(
        _ count: Int, reserved: Int, worker: String, for time: Duration
    ) async throws(Failure) -> [RawJob] {
        let (now, ageing) = (clock.now(), rules.ageing.wholeMilliseconds)
        return try withState { state throws(Failure) in
            guard !state.isPaused else { return [] }
            for entry in state.entries.values where entry.record.state == .waiting {
                if state.pausedHosts.contains(entry.record.host) {
                    state.entries[entry.record.id]!.record.state = .parked
                }
            }
            let ready = state.entries.values.filter { $0.record.state == .waiting && $0.record.due <= now }
                .sorted { ($0.record.due, $0.number) < ($1.record.due, $1.number) }
            let common = max(0, count - reserved)
            let aged = ready.filter { $0.priority > .interactive && now - $0.record.due > ageing }
                .prefix(min(common, QueueRules.agedTurns(after: state.turn, count: count)))
            let chosen = Set(aged.map(\.number))
            let rest = Priority.allCases.flatMap { priority in
                ready.filter { $0.priority == priority && !chosen.contains($0.number) }
            }
            var left = common
            let picks = (aged + rest).filter { entry in
                if entry.priority > .interactive { left -= 1 }
                return entry.priority == .interactive || left >= 0
            }.prefix(count)
            state.turn += Int64(picks.count)
            return picks.map { state.hand($0.record.id, worker, until: now + time.wholeMilliseconds) }
        }
    }

    public func extend(_ leases: [Lease], for time: Duration) async throws(Failure) -> [Lease] {
        let expires = clock.now() + time.wholeMilliseconds
        return try withState { state throws(Failure) in
            leases.filter { lease in
                guard state.holds(lease) else { return true }
                state.entries[lease.id]!.record.expires = expires
                return false
            }
        }
    }

    public func settle(_ ends: [Settlement]) async throws(Failure) -> [Lease] {
        let now = clock.now()
        return try withState { state throws(Failure) in
            ends.compactMap { end in
                guard state.holds(end.lease) else { return end.lease }
                state.settle(end, now)
                return nil
            }
        }
    }

    public func sweep() async throws(Failure) -> Swept {
        let (now, crashes, kept) = (clock.now(), rules.crashes, rules.deadKept.wholeMilliseconds)
        return try withState { state throws(Failure) in
            var swept = Swept()
            for entry in state.entries.values {
                let record = entry.record
                if record.state == .running, (record.expires ?? 0) <= now {
                    if record.tries >= crashes {
                        state.bury(record.id, Vanished.failure(record.tries), now)
                        swept.buried += 1
                    } else {
                        state.release(record.id, due: record.due)
                        swept.reclaimed += 1
                    }
                } else if record.state == .dead, now - (record.ended ?? now) > kept {
                    state.remove(record.id)
                }
            }
            return swept
        }
    }

    public func arrival(within longest: Duration) async throws(Failure) {
        let (rings, bell) = AsyncStream.makeStream(of: Void.self)
        let timer = Task {
            try? await Task.sleep(for: longest)  // cut short when jobs come
            bell.finish()
        }
        state.withLock { $0.bells.append(bell) }
        for await _ in rings { break }
        timer.cancel()
    }

    public func stats() async throws(Failure) -> QueueStats {
        let now = clock.now()
        return try withState { state throws(Failure) in
            var stats = QueueStats()
            for priority in Priority.allCases { stats.priorities[priority.name] = .init() }
            for entry in state.entries.values {
                switch entry.record.state(at: now) {
                case .waiting:
                    stats.priorities[entry.record.priority]!.waiting += 1
                    let age = now - entry.record.due
                    let oldest = stats.priorities[entry.record.priority]!.oldestMilliseconds
                    stats.priorities[entry.record.priority]!.oldestMilliseconds = max(age, oldest)
                case .delayed: stats.delayed += 1
                case .running: stats.running += 1
                case .dead: stats.dead += 1
                case .parked: stats.parked += 1
                }
            }
            (stats.done, stats.isPaused) = (state.done, state.isPaused)
            stats.pausedHosts = state.pausedHosts.sorted()
            return stats
        }
    }

    public func show(_ id: String) async throws(Failure) -> JobRecord? {
        let now = clock.now()
        return try withState { state throws(Failure) in
            state.entries[id].map { entry in
                var record = entry.record
                record.state = record.state(at: now)
                return record
            }
        }
    }

    public func page(_ wanted: JobState, after place: String?, count: Int) async throws(Failure) -> JobPage {
        let (now, from) = (clock.now(), place.flatMap { Int64($0) } ?? 0)
        return try withState { state throws(Failure) in
            let all = state.entries.values.filter { $0.number > from && $0.record.state(at: now) == wanted }
                .sorted { $0.number < $1.number }
            let records = all.prefix(count).map { entry in
                var record = entry.record
                record.state = wanted
                return record
            }
            return JobPage(
                jobs: records, next: all.count > count ? "\(all[count - 1].number)" : nil, now: now)
        }
    }

    public func replay(_ ids: [String]) async throws(Failure) -> Int {
        let now = clock.now()
        return try withState { state throws(Failure) in
            let dead = ids.filter { state.entries[$0]?.record.state == .dead }
            for id in dead {
                state.release(id, due: now)
                state.entries[id]!.record.tries = 0
                state.entries[id]!.record.ended = nil
            }
            return dead.count
        }
    }

    public func purge(_ ids: [String]) async throws(Failure) -> Int {
        try withState { state throws(Failure) in
            let idle = ids.filter { state.entries[$0].map { $0.record.state != .running } ?? false }
            for id in idle { state.remove(id) }
            return idle.count
        }
    }

    public func pause(host: String?) async throws(Failure) {
        try withState { state throws(Failure) in
            if let host { state.pausedHosts.insert(host.lowercased()) } else { state.isPaused = true }
        }
    }

    public func resume(host: String?) async throws(Failure) {
        try withState { state throws(Failure) in
            guard let host = host?.lowercased() else { return state.isPaused = false }
            state.pausedHosts.remove(host)
            for entry in state.entries.values where entry.record.state == .parked && entry.record.host == host
            {
                state.entries[entry.record.id]!.record.state = .waiting
            }
        }
    }

    public func close() { state.withLock { $0.isClosed = true } }

    private func withState<Value>(
        _ body: (inout State) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let outcome = state.withLock { state -> Result<Value, Failure> in
            guard !state.isClosed else { return .failure(Failure(.closed, .queue, "the queue is closed")) }
            do throws(Failure) { return .success(try body(&state)) } catch { return .failure(error) }
        }
        return try outcome.get()
    }
}

extension MemoryQueue.State {
    fileprivate mutating func add(_ job: Job, _ now: Int64) -> Added {
        if entries[job.id] != nil { return .duplicate(of: job.id) }
        if let key = job.key, let holder = keys[key] { return .duplicate(of: holder) }
        if let key = job.key { keys[key] = job.id }
        added += 1
        let record = JobRecord(job, now: now)
        entries[job.id] = MemoryQueue.Entry(number: added, record: record, priority: job.priority)
        return .added
    }

    fileprivate mutating func hand(_ id: String, _ worker: String, until expires: Int64) -> RawJob {
        var entry = entries[id]!
        token += 1
        entry.token = token
        entry.record.state = .running
        entry.record.tries += 1
        (entry.record.worker, entry.record.expires) = (worker, expires)
        entries[id] = entry
        return RawJob(
            lease: Lease(id: id, token: token), tries: entry.record.tries, added: entry.record.added,
            priority: entry.priority, json: entry.record.job)
    }

    fileprivate func holds(_ lease: Lease) -> Bool {
        entries[lease.id].map { $0.record.state == .running && $0.token == lease.token } ?? false
    }

    fileprivate mutating func settle(_ end: Settlement, _ now: Int64) {
        let id = end.lease.id
        switch end.end {
        case .done:
            remove(id)
            done += 1
        case .retry(let wait, let failure):
            release(id, due: now + wait.wholeMilliseconds)
            entries[id]!.record.note(failure)
        case .dead(let failure): bury(id, failure, now)
        case .handedBack(let wait):
            let due = wait > .zero ? now + wait.wholeMilliseconds : entries[id]!.record.due
            release(id, due: due)
            entries[id]!.record.tries -= 1
        }
    }

    fileprivate mutating func release(_ id: String, due: Int64) {
        entries[id]!.record.state = .waiting
        entries[id]!.record.due = due
        (entries[id]!.record.worker, entries[id]!.record.expires) = (nil, nil)
    }

    fileprivate mutating func bury(_ id: String, _ failure: Failure, _ now: Int64) {
        release(id, due: entries[id]!.record.due)
        entries[id]!.record.state = .dead
        entries[id]!.record.ended = now
        entries[id]!.record.note(failure)
    }

    fileprivate mutating func remove(_ id: String) {
        guard let entry = entries.removeValue(forKey: id) else { return }
        if let key = entry.record.key, keys[key] == id { keys[key] = nil }
    }
}
