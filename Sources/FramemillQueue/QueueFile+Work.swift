internal import Framemill
internal import FramemillMedia

// The ways of a job from one state to the next: one transaction each.

extension QueueFile {
    func add(_ records: [JobRecord], depth: Int) throws(SQLite.Problem) -> Result<[Added], Failure> {
        try database.transaction { () throws(SQLite.Problem) in
            let waiting = Int(try database.number("SELECT sum(jobs) FROM tally WHERE state = 0"))
            guard waiting + records.count <= depth else {
                return .failure(Full.failure(waiting, records.count, rules: depth))
            }
            var outcome: [Added] = []
            for record in records {
                var isNew = false
                let priority = Priority(name: record.priority) ?? .backfill
                try insert.each(
                    .text(record.id), SQLValue(record.key), .text(record.job), .int(Int64(priority.rawValue)),
                    .int(record.due), .int(record.added), .text(record.host)
                ) { _ in isNew = true }
                if isNew {
                    outcome.append(.added)
                    continue
                }
                var id = record.id
                try holder.each(.text(record.id), SQLValue(record.key)) { id = $0.text(0) }
                outcome.append(.duplicate(of: id))
            }
            return .success(outcome)
        }
    }

    private struct Candidate {
        var number: Int64
        var raw: RawJob
        var host: String
        var due: Int64

        init(_ row: borrowing SQLRow) {
            number = row.int(0)
            raw = RawJob(
                lease: Lease(id: row.text(1), token: 0), tries: Int(row.int(3)) + 1, added: row.int(4),
                priority: Priority(rawValue: Int(row.int(5))) ?? .backfill, json: row.text(2))
            host = row.text(6)
            due = row.int(7)
        }
    }

    func handOut(
        _ count: Int, reserved: Int, worker: String, now: Int64, until expires: Int64, ageing: Int64
    ) throws(SQLite.Problem) -> [RawJob] {
        try database.transaction { () throws(SQLite.Problem) in
            var (token, turn, isPaused): (Int64, Int64, Bool) = (0, 0, true)
            try database.prepare("SELECT token, turn, paused FROM queue").each {
                (token, turn, isPaused) = ($0.int(0), $0.int(1), $0.int(2) != 0)
            }
            guard !isPaused else { return [] }
            let paused = try pausedHosts()
            var picks: [RawJob] = []
            func take(_ candidates: [Candidate]) throws(SQLite.Problem) {
                for candidate in candidates where try !parks(candidate, paused) {
                    token += 1
                    try start.each(.int(token), .text(worker), .int(expires), .int(candidate.number))
                    var raw = candidate.raw
                    raw.lease.token = token
                    picks.append(raw)
                }
            }
            let common = max(0, count - reserved)
            let aged = min(common, QueueRules.agedTurns(after: turn, count: count))
            if aged > 0 { try take(try agedOnes(aged, before: now - ageing)) }
            for priority in Priority.allCases {
                while true {
                    let others = picks.count { $0.priority > .interactive }
                    let room = min(
                        count - picks.count, priority == .interactive ? .max : common - others)
                    guard room > 0 else { break }
                    var ready: [Candidate] = []
                    try nextReady.each(.int(Int64(priority.rawValue)), .int(now), .int(Int64(room))) {
                        ready.append(Candidate($0))
                    }
                    if ready.isEmpty { break }
                    try take(ready)
                }
            }
            guard !picks.isEmpty else { return [] }
            try database.prepare("UPDATE queue SET token = ?, turn = turn + ?").each(
                .int(token), .int(Int64(picks.count)))
            return picks
        }
    }

    private func agedOnes(_ count: Int, before limit: Int64) throws(SQLite.Problem) -> [Candidate] {
        var aged: [Candidate] = []
        for priority in [Priority.prefetch, .backfill] {
            try nextAged.each(.int(Int64(priority.rawValue)), .int(limit), .int(Int64(count))) {
                aged.append(Candidate($0))
            }
        }
        aged.sort { ($0.due, $0.number) < ($1.due, $1.number) }
        return Array(aged.prefix(count))
    }

    /// Puts a job aside whose host is paused.
    private func parks(_ candidate: Candidate, _ paused: Set<String>) throws(SQLite.Problem) -> Bool {
        guard !paused.isEmpty else { return false }
        let host = candidate.host.isEmpty ? Job.host(inJSON: candidate.raw.json) : candidate.host
        guard paused.contains(host) else { return false }
        try park.each(.int(candidate.number), .text(host))
        return true
    }

    func pausedHosts() throws(SQLite.Problem) -> Set<String> {
        var hosts: Set<String> = []
        try database.prepare("SELECT host FROM paused").each { hosts.insert($0.text(0)) }
        return hosts
    }

    func extend(_ leases: [Lease], until expires: Int64) throws(SQLite.Problem) -> [Lease] {
        try database.transaction { () throws(SQLite.Problem) in
            var lost: [Lease] = []
            for lease in leases {
                var isHeld = false
                try keep.each(.int(expires), .text(lease.id), .int(lease.token)) { _ in isHeld = true }
                if !isHeld { lost.append(lease) }
            }
            return lost
        }
    }

    func settle(_ ends: [Settlement], now: Int64) throws(SQLite.Problem) -> [Lease] {
        try database.transaction { () throws(SQLite.Problem) in
            var (refused, done): ([Lease], Int64) = ([], 0)
            for end in ends {
                let isHeld = try settle(end, now)
                guard isHeld else {
                    refused.append(end.lease)
                    continue
                }
                if case .done = end.end { done += 1 }
            }
            if done > 0 { try database.prepare("UPDATE queue SET done = done + ?").each(.int(done)) }
            return refused
        }
    }

    private func settle(_ end: Settlement, _ now: Int64) throws(SQLite.Problem) -> Bool {
        let (id, token) = (SQLValue.text(end.lease.id), SQLValue.int(end.lease.token))
        // `nil`: the lease is not held; `.some(nil)`: it is, and the job has no key.
        var key: SQLValue?
        switch end.end {
        case .done(let words):
            try finish.each(id, token) { key = $0.isNull(0) ? .null : .text($0.text(0)) }
            if let key { try result.each(id, key, .text("ok"), .text(words), .int(now)) }
        case .dead(let failure):
            try bury.each(
                id, token, .int(now), .text(failure.reason.code), .text(failure.reason.class.rawValue),
                .text(failure.message)
            ) { key = $0.isNull(0) ? .null : .text($0.text(0)) }
            if let key {
                try result.each(id, key, .text(failure.reason.code), .text(failure.message), .int(now))
            }
        case .retry(let wait, let failure):
            try release.each(
                id, token, .int(now + wait.wholeMilliseconds), .int(0), .text(failure.reason.code),
                .text(failure.reason.class.rawValue), .text(failure.message)
            ) { _ in key = .null }
        case .handedBack(let wait):
            let due = wait > .zero ? SQLValue.int(now + wait.wholeMilliseconds) : .null
            try release.each(id, token, due, .int(1), .null, .null, .null) { _ in key = .null }
        }
        return key != nil
    }
}
