// The file of `SQLiteQueue`: its tables, and the ways in and out of them.
//
// One row a job, in the state it is in. What waits is found by an index over (priority, due) that holds
// nothing else, so that handing out costs the same however many are dead or run.

internal import Framemill
internal import FramemillMedia

struct QueueFile: ~Copyable {
    static let version: Int64 = 0x464D_5102
    static let pageByteCount: Int64 = 4096
    static let logPages: Int64 = 1000

    /// As numbers in the column `state`; what is delayed is waiting, with a time to come.
    enum State: Int64 { case waiting = 0, running, dead, parked }

    private let path: String
    private let identity: FileIdentity?
    let database: SQLite
    let insert: Statement
    let holder: Statement
    let nextReady: Statement
    let nextAged: Statement
    let start: Statement
    let park: Statement
    let keep: Statement
    let finish: Statement
    let release: Statement
    let bury: Statement
    let result: Statement

    static func open(_ path: String) throws(SQLite.Problem) -> QueueFile {
        let database = try SQLite(path)
        try prepare(database)
        let insert = try database.prepare(
            """
            INSERT OR IGNORE INTO job(id, key, job, priority, due, added, host) VALUES (?, ?, ?, ?, ?, ?, ?)
            RETURNING number
            """)
        let holder = try database.prepare(
            "SELECT id FROM job WHERE id = ?1 OR key = ?2 ORDER BY id <> ?1 LIMIT 1")
        let columns = "number, id, job, tries, added, priority, host"
        let nextReady = try database.prepare(
            "SELECT \(columns) FROM job WHERE state = 0 AND priority = ? AND due <= ? ORDER BY due, number LIMIT ?"
        )
        let nextAged = try database.prepare(
            """
            SELECT \(columns), due FROM job WHERE state = 0 AND priority = ? AND due < ? ORDER BY due, number LIMIT ?
            """)
        let start = try database.prepare(
            "UPDATE job SET state = 1, token = ?, tries = tries + 1, worker = ?, expires = ? WHERE number = ?"
        )
        let park = try database.prepare("UPDATE job SET state = 3, host = ?2 WHERE number = ?1")
        let keep = try database.prepare(
            "UPDATE job SET expires = ? WHERE id = ? AND token = ? AND state = 1 RETURNING number")
        let finish = try database.prepare(
            "DELETE FROM job WHERE id = ? AND token = ? AND state = 1 RETURNING key")
        let release = try database.prepare(
            """
            UPDATE job SET state = 0, worker = NULL, expires = NULL, due = coalesce(?3, due), tries = tries - ?4,
                code = coalesce(?5, code), class = coalesce(?6, class), message = coalesce(?7, message)
            WHERE id = ?1 AND token = ?2 AND state = 1 RETURNING number
            """)
        let bury = try database.prepare(
            """
            UPDATE job SET state = 2, worker = NULL, expires = NULL, ended = ?3, code = ?4, class = ?5, message = ?6
            WHERE id = ?1 AND token = ?2 AND state = 1 RETURNING key
            """)
        let result = try database.prepare(
            "INSERT INTO result(id, key, code, result, ended) VALUES (?, ?, ?, ?, ?)")
        return QueueFile(
            path: path, identity: FileIdentity(path), database: database, insert: insert, holder: holder,
            nextReady: nextReady, nextAged: nextAged,
            start: start, park: park, keep: keep, finish: finish, release: release, bury: bury, result: result
        )
    }

    /// SQLite goes on with a file that has no name any more, and what is put there is lost with the process.
    /// - Throws: `writeFailed` once the file was removed, or another stands in its place.
    func checkPlace() throws(Failure) {
        guard FileIdentity(path) != identity else { return }
        throw Failure(
            .writeFailed, .queue,
            "the queue's file \(path) was removed or replaced while it was in use; put it back, or start anew"
        )
    }

    private static func prepare(_ database: borrowing SQLite) throws(SQLite.Problem) {
        database.wait(10_000)
        try database.run(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = \(logPages);
            PRAGMA journal_size_limit = \(logPages * pageByteCount * 4); PRAGMA trusted_schema = OFF;
            PRAGMA cell_size_check = ON; PRAGMA cache_size = -8192
            """)
        if try database.number("PRAGMA user_version") == 0 {
            try database.transaction { () throws(SQLite.Problem) in
                // Another process may have been faster.
                guard try database.number("PRAGMA user_version") == 0 else { return }
                guard try database.number("SELECT count(*) FROM sqlite_schema") == 0 else {
                    throw SQLite.Problem(code: 26, words: "the file holds something else than a queue")
                }
                try database.run(schema)
            }
        }
        guard try database.number("PRAGMA user_version") == version else {
            throw SQLite.Problem(code: 26, words: "the file is no queue, or that of another version")
        }
    }

    static let schema = """
        CREATE TABLE job(
            number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, key TEXT UNIQUE, job TEXT NOT NULL,
            priority INTEGER NOT NULL, state INTEGER NOT NULL DEFAULT 0, due INTEGER NOT NULL,
            added INTEGER NOT NULL, host TEXT, tries INTEGER NOT NULL DEFAULT 0,
            token INTEGER NOT NULL DEFAULT 0, worker TEXT, expires INTEGER, code TEXT, class TEXT, message TEXT,
            ended INTEGER);
        CREATE INDEX ready ON job(priority, due, number) WHERE state = 0;
        CREATE INDEX running ON job(expires) WHERE state = 1;
        CREATE INDEX dead ON job(ended) WHERE state = 2;
        CREATE INDEX parked ON job(host) WHERE state = 3;
        CREATE TABLE result(
            number INTEGER PRIMARY KEY, id TEXT NOT NULL, key TEXT, code TEXT NOT NULL, result TEXT NOT NULL,
            ended INTEGER NOT NULL);
        -- How many jobs are in each state: kept by triggers, so that it holds for what is written by hand too, and to
        -- know it takes no look at a million rows.
        CREATE TABLE tally(
            state INTEGER NOT NULL, priority INTEGER NOT NULL, jobs INTEGER NOT NULL,
            PRIMARY KEY(state, priority)) WITHOUT ROWID;
        INSERT INTO tally SELECT s.value, p.value, 0 FROM json_each('[0, 1, 2, 3]') s, json_each('[0, 1, 2]') p;
        CREATE TRIGGER job_added AFTER INSERT ON job BEGIN
            UPDATE tally SET jobs = jobs + 1 WHERE state = NEW.state AND priority = NEW.priority;
        END;
        CREATE TRIGGER job_gone AFTER DELETE ON job BEGIN
            UPDATE tally SET jobs = jobs - 1 WHERE state = OLD.state AND priority = OLD.priority;
        END;
        CREATE TRIGGER job_moved AFTER UPDATE OF state, priority ON job
        WHEN (OLD.state, OLD.priority) <> (NEW.state, NEW.priority) BEGIN
            UPDATE tally SET jobs = jobs - 1 WHERE state = OLD.state AND priority = OLD.priority;
            UPDATE tally SET jobs = jobs + 1 WHERE state = NEW.state AND priority = NEW.priority;
        END;
        CREATE TABLE paused(host TEXT PRIMARY KEY) WITHOUT ROWID;
        CREATE TABLE queue(
            token INTEGER NOT NULL, turn INTEGER NOT NULL, done INTEGER NOT NULL, paused INTEGER NOT NULL);
        INSERT INTO queue VALUES (0, 0, 0, 0);
        CREATE VIEW enqueue AS SELECT job FROM job;
        CREATE TRIGGER enqueue_insert INSTEAD OF INSERT ON enqueue BEGIN
            INSERT OR IGNORE INTO job(id, key, job, priority, due, added)
            SELECT coalesce(json_extract(NEW.job, '$.id'), lower(hex(randomblob(16)))),
                json_extract(NEW.job, '$.key'), NEW.job,
                CASE json_extract(NEW.job, '$.priority')
                    WHEN 'interactive' THEN 0 WHEN 'prefetch' THEN 1 ELSE 2 END,
                -- A time that no job may name is none: whoever takes the job finds it wrong, and it is buried at once.
                CASE WHEN start BETWEEN 0 AND 1e11 THEN max(now, CAST(start * 1000 AS INTEGER)) ELSE now END, now
            FROM (SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) AS now,
                json_extract(NEW.job, '$."not-before"') AS start);
        END;
        PRAGMA user_version = \(version);
        """

    static func failure(_ problem: SQLite.Problem) -> Failure {
        // 26 is SQLITE_NOTADB, ours too for a file that is something else.
        if problem.code & 0xFF == 26 {
            return Failure(.badOption, .queue, "the queue can't be opened: \(problem.words)")
        }
        return Failure(
            .writeFailed, .queue, "the queue's file can't be used",
            cause: "\(problem.words), SQLite \(problem.code)")
    }
}
