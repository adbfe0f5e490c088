internal import Framemill
internal import FramemillMedia

// What is done beside the work: sweeping, counting, listing.

extension QueueFile {
    func sweep(now: Int64, _ rules: QueueRules) throws(SQLite.Problem) -> Swept {
        let swept = try database.transaction { () throws(SQLite.Problem) in
            var swept = Swept()
            // A row without an end of its lease was broken by hand; its lease is over.
            let lapsed = "state = 1 AND (expires IS NULL OR expires <= ?)"
            let words = Vanished.failure(rules.crashes)
            try database.prepare(
                """
                UPDATE job SET state = 2, worker = NULL, expires = NULL, ended = ?1, code = ?3, class = ?4,
                    message = ?5 || tries || ' (QueueRules.crashes)'
                WHERE state = 1 AND (expires IS NULL OR expires <= ?1) AND tries >= ?2 RETURNING number
                """
            ).each(
                .int(now), .int(Int64(rules.crashes)), .text(words.reason.code),
                .text(words.reason.class.rawValue), .text(Vanished.words + " ")
            ) { _ in swept.buried += 1 }
            try database.prepare(
                "UPDATE job SET state = 0, worker = NULL, expires = NULL WHERE \(lapsed) RETURNING number"
            ).each(.int(now)) { _ in swept.reclaimed += 1 }
            try database.prepare("DELETE FROM job WHERE state = 2 AND ended < ?").each(
                .int(now - rules.deadKept.wholeMilliseconds))
            try database.prepare("DELETE FROM result WHERE number <= (SELECT max(number) FROM result) - ?")
                .each(
                    .int(Int64(rules.results)))
            return swept
        }
        // Cut to nothing while nobody works; beside others it would have to wait for them.
        if try database.number("SELECT sum(jobs) FROM tally WHERE state <= 1") == 0 {
            try database.run("PRAGMA wal_checkpoint(TRUNCATE)")
        }
        return swept
    }

    func stats(now: Int64) throws(SQLite.Problem) -> QueueStats {
        var stats = QueueStats()
        var counts: [Int64: Int] = [:]
        try database.prepare("SELECT state, sum(jobs) FROM tally GROUP BY state").each {
            counts[$0.int(0)] = Int($0.int(1))
        }
        func count(_ state: State) -> Int { counts[state.rawValue] ?? 0 }
        (stats.running, stats.dead, stats.parked) = (count(.running), count(.dead), count(.parked))
        // Of those that wait only the delayed ones are looked at: mostly few.
        let depths = try database.prepare(
            """
            SELECT jobs, (SELECT count(*) FROM job WHERE state = 0 AND priority = ?1 AND due > ?2),
                (SELECT due FROM job WHERE state = 0 AND priority = ?1 AND due <= ?2 ORDER BY due LIMIT 1)
            FROM tally WHERE state = 0 AND priority = ?1
            """)
        for priority in Priority.allCases {
            var depth = QueueStats.Depth()
            try depths.each(.int(Int64(priority.rawValue)), .int(now)) { row in
                depth.waiting = Int(row.int(0) - row.int(1))
                stats.delayed += Int(row.int(1))
                if !row.isNull(2) { depth.oldestMilliseconds = max(0, now - row.int(2)) }
            }
            stats.priorities[priority.name] = depth
        }
        try database.prepare("SELECT done, paused FROM queue").each {
            (stats.done, stats.isPaused) = ($0.int(0), $0.int(1) != 0)
        }
        stats.pausedHosts = try pausedHosts().sorted()
        stats.bytes = try database.number(
            "SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        return stats
    }

    private static let columns = """
        number, id, state, priority, host, tries, added, due, key, worker, expires, code, class, message, ended, job
        """

    func show(_ id: String, now: Int64) throws(SQLite.Problem) -> JobRecord? {
        var record: JobRecord?
        try database.prepare("SELECT \(Self.columns) FROM job WHERE id = ?").each(.text(id)) {
            record = JobRecord($0, now: now)
        }
        return record
    }

    func page(
        _ state: JobState, after place: Int64, count: Int, now: Int64
    ) throws(SQLite.Problem) -> JobPage {
        let condition =
            switch state {
            case .waiting: "state = 0 AND due <= ?1"
            case .delayed: "state = 0 AND due > ?1"
            case .running: "state = 1"
            case .dead: "state = 2"
            case .parked: "state = 3"
            }
        var (records, last): ([JobRecord], Int64) = ([], place)
        let select =
            "SELECT \(Self.columns) FROM job WHERE \(condition) AND number > ?2 ORDER BY number LIMIT ?3"
        try database.prepare(select).each(.int(now), .int(place), .int(Int64(count))) { row in
            records.append(JobRecord(row, now: now))
            last = row.int(0)
        }
        return JobPage(jobs: records, next: records.count == count ? "\(last)" : nil, now: now)
    }

    func replay(_ ids: [String], now: Int64) throws(SQLite.Problem) -> Int {
        try change(
            ids, "UPDATE job SET state = 0, tries = 0, due = \(now), ended = NULL WHERE id = ? AND state = 2")
    }

    func purge(_ ids: [String]) throws(SQLite.Problem) -> Int {
        try change(ids, "DELETE FROM job WHERE id = ? AND state <> 1")
    }

    private func change(_ ids: [String], _ sql: String) throws(SQLite.Problem) -> Int {
        try database.transaction { () throws(SQLite.Problem) in
            var count = 0
            let statement = try database.prepare(sql + " RETURNING number")
            for id in ids { try statement.each(.text(id)) { _ in count += 1 } }
            return count
        }
    }

    func pause(_ host: String?) throws(SQLite.Problem) {
        guard let host else { return try database.run("UPDATE queue SET paused = 1") }
        try database.prepare("INSERT OR IGNORE INTO paused VALUES (?)").each(.text(host))
    }

    func resume(_ host: String?) throws(SQLite.Problem) {
        guard let host else { return try database.run("UPDATE queue SET paused = 0") }
        try database.transaction { () throws(SQLite.Problem) in
            try database.prepare("DELETE FROM paused WHERE host = ?").each(.text(host))
            try database.prepare("UPDATE job SET state = 0 WHERE state = 3 AND host = ?").each(.text(host))
        }
    }
}

extension JobRecord {
    fileprivate init(_ row: borrowing SQLRow, now: Int64) {
        let json = row.text(15)
        func text(_ column: CInt) -> String? { row.isNull(column) ? nil : row.text(column) }
        func number(_ column: CInt) -> Int64? { row.isNull(column) ? nil : row.int(column) }
        let state: JobState =
            switch QueueFile.State(rawValue: row.int(2)) {
            case .running: .running
            case .dead: .dead
            case .parked: .parked
            case .waiting, nil: row.int(7) > now ? .delayed : .waiting
            }
        self.init(
            id: row.text(1), state: state, priority: (Priority(rawValue: Int(row.int(3))) ?? .backfill).name,
            host: text(4) ?? Job.host(inJSON: json), tries: Int(row.int(5)), added: row.int(6),
            due: row.int(7),
            key: text(8), worker: text(9), expires: number(10), code: text(11), class: text(12),
            message: text(13), ended: number(14), job: json)
    }
}
