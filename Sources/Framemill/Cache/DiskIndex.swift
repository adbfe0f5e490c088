// The index of level 2: one row an entry, in `index.sqlite`; small entries lie in their row, larger ones in a
// file.
//
// A row is found by the first eight bytes of its key, which is one walk down one tree; the whole key stands
// in the entry and is compared there. The columns beside the entry are copies for listing and purging. What
// all entries take is kept by triggers, so that no way in or out can forget it, and asking for it costs one
// row.
//
// A file that is being written has a row in `pending` first: what is about to be written is counted before it
// is, and what a dead writer left behind is found without a walk through the folders.
//
// Pages of 8 KiB: the row of a small entry is one page, and a miss one page of the tree. No memory map: a
// page that can't be read (a bad disk, a file cut short from outside) would end the process by SIGBUS instead
// of being a miss; it would gain 2.5 of 7.7 µs at 20 KB.

internal import FramemillMedia

struct DiskIndex: ~Copyable {
    static let pageByteCount = 8192
    private static let version: Int64 = 0x464D_0002

    enum Place: Int64 {
        case row = 0
        case file = 1
    }

    /// What a key's row says.
    enum Lookup {
        case missing
        case whole(CacheFound, used: Int64)
        /// The payload lies in a file, behind the same bytes as here, or behind an older record.
        case file(CacheEntry.Head, [UInt8], used: Int64, stamp: Int64)
        case bad(stamp: Int64)
    }

    struct Row {
        var place: Place
        var used: Int64
        /// Bytes outside of this file.
        var cost: Int
        var found: CacheFound
        var entry: [UInt8]
    }

    struct Totals {
        var entries = 0
        /// Bytes of files, finished or being written.
        var files = 0
        var pages = 0
        var freePages = 0
        /// Whether the folder has been walked for files that have no row.
        var isWalked = false

        /// Bytes in use, and bytes that the disk holds.
        var used: Int { (pages - freePages) * DiskIndex.pageByteCount + files }
        var held: Int { pages * DiskIndex.pageByteCount + files }
    }

    let database: SQLite
    /// Which of the cache's openings this is; a number that is out of date says that the file was replaced.
    let generation: Int
    /// The second in which the file was last seen in its place.
    var checkedAt: Int64
    private let select: Statement
    private let upsert: Statement
    private let delete: Statement
    private let sum: Statement

    /// Opens it, and makes it when it is new.
    /// - Parameter logPages: pages of the write-ahead log after which it is copied into the database.
    static func open(
        _ path: String, generation: Int, logPages: Int, now: Int64
    ) throws(SQLite.Problem) -> DiskIndex {
        let database = try open(path, logPages)
        let select = try database.prepare("SELECT place, used, stamp, entry FROM entry WHERE id = ?")
        let upsert = try database.prepare(upsertText)
        let delete = try database.prepare("DELETE FROM entry WHERE id = ? AND stamp = ?")
        let sum = try database.prepare(
            """
            SELECT entries, files + (SELECT coalesce(sum(cost), 0) FROM pending), walked,
                (SELECT page_count FROM pragma_page_count), (SELECT freelist_count FROM pragma_freelist_count)
            FROM totals
            """)
        return DiskIndex(
            database: database, generation: generation, checkedAt: now, select: select, upsert: upsert,
            delete: delete, sum: sum)
    }

    private static func open(_ path: String, _ logPages: Int) throws(SQLite.Problem) -> SQLite {
        do throws(SQLite.Problem) {
            let database = try SQLite(path)
            try prepare(database, logPages)
            return database
        } catch {
            // A folder that can't be written: what is in it can be read all the same.
            guard error.isRefusal else { throw error }
            return try SQLite(path, readOnly: true)
        }
    }

    private static func prepare(_ database: borrowing SQLite, _ logPages: Int) throws(SQLite.Problem) {
        database.wait(5000)
        if try database.number("PRAGMA user_version") == 0 {
            // These two come before the first table.
            try database.run("PRAGMA page_size = \(pageByteCount); PRAGMA auto_vacuum = INCREMENTAL")
        }
        // NORMAL: "WAL mode is always consistent with synchronous=NORMAL"; what a power cut takes is the last
        // few entries.
        try database.run(
            """
            PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = \(logPages);
            PRAGMA journal_size_limit = \(logPages * pageByteCount); PRAGMA cache_size = -4096;
            PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON
            """)
        if try database.number("PRAGMA user_version") == 0 {
            try database.transaction { () throws(SQLite.Problem) in
                // Another process may have been faster.
                if try database.number("PRAGMA user_version") == 0 { try database.run(schema) }
            }
        }
        guard try database.number("PRAGMA user_version") == version else {
            throw SQLite.Problem(code: 26, words: "another version's index")
        }
    }

    private static let schema = """
        CREATE TABLE entry(
            id INTEGER PRIMARY KEY, place INTEGER NOT NULL, used INTEGER NOT NULL, cost INTEGER NOT NULL,
            stamp INTEGER NOT NULL, kind INTEGER NOT NULL, stored INTEGER NOT NULL, size INTEGER NOT NULL,
            class TEXT NOT NULL, version TEXT NOT NULL, host TEXT NOT NULL, url TEXT NOT NULL, entry BLOB NOT NULL);
        CREATE INDEX by_use ON entry(used);
        CREATE TABLE pending(
            name TEXT PRIMARY KEY, file TEXT NOT NULL, id INTEGER NOT NULL, cost INTEGER NOT NULL,
            since INTEGER NOT NULL) WITHOUT ROWID;
        CREATE TABLE totals(entries INTEGER NOT NULL, files INTEGER NOT NULL, walked INTEGER NOT NULL);
        INSERT INTO totals VALUES (0, 0, 0);
        CREATE TRIGGER comes AFTER INSERT ON entry BEGIN
            UPDATE totals SET entries = entries + 1, files = files + NEW.cost; END;
        CREATE TRIGGER goes AFTER DELETE ON entry BEGIN
            UPDATE totals SET entries = entries - 1, files = files - OLD.cost; END;
        CREATE TRIGGER changes AFTER UPDATE OF cost ON entry BEGIN
            UPDATE totals SET files = files - OLD.cost + NEW.cost; END;
        PRAGMA user_version = \(version);
        """

    private static let upsertText = """
        INSERT INTO entry VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
        ON CONFLICT (id) DO UPDATE SET place = ?2, used = ?3, cost = ?4, stamp = ?5, kind = ?6, stored = ?7,
            size = ?8, class = ?9, version = ?10, host = ?11, url = ?12, entry = ?13
        """

    func find(_ key: CacheKey) throws(SQLite.Problem) -> Lookup {
        var lookup = Lookup.missing
        try select.one(key.rowNumber) { row in
            let (used, stamp) = (row.int(1), row.int(2))
            lookup = unsafe row.blob(3) { bytes in
                switch Place(rawValue: row.int(0)) {
                case .row:
                    // The bytes hold still until this closure is over.
                    unsafe CacheEntry.decode(bytes, for: key).map { .whole($0, used: used) }
                        ?? .bad(stamp: stamp)
                case .file:
                    // As above.
                    unsafe CacheEntry.head(of: bytes, for: key).map {
                        .file($0, unsafe [UInt8](bytes), used: used, stamp: stamp)
                    } ?? .bad(stamp: stamp)
                case nil: .bad(stamp: stamp)
                }
            }
        }
        return lookup
    }

    func put(_ row: Row) throws(SQLite.Problem) {
        let record = row.found.record
        try upsert.each(
            .int(record.key.rowNumber), .int(row.place.rawValue), .int(row.used), .int(Int64(row.cost)),
            .int(.random(in: .min ... .max)), .int(Int64(record.kind.rawValue)), .int(record.storedAt),
            .int(Int64(record.byteCount)), .text(record.engineClass), .text(record.engineVersion),
            .text(record.host), .text(record.url), .blob(row.entry))
    }

    /// Removes a row if it still is the one that was read.
    func remove(_ id: Int64, stamp: Int64) throws(SQLite.Problem) {
        try delete.each(.int(id), .int(stamp))
    }

    func totals() throws(SQLite.Problem) -> Totals {
        var totals = Totals()
        try sum.each { row in
            totals = Totals(
                entries: Int(row.int(0)), files: Int(row.int(1)), pages: Int(row.int(3)),
                freePages: Int(row.int(4)), isWalked: row.int(2) != 0)
        }
        return totals
    }
}
