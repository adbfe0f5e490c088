// What trimming, sweeping, listing and purging ask of the index. These statements are prepared as they are
// needed.

extension DiskIndex {
    /// The mark of a key's row as it is now.
    func stamp(_ id: Int64) throws(SQLite.Problem) -> Int64? {
        var stamp: Int64?
        try database.prepare("SELECT stamp FROM entry WHERE id = ?").each(.int(id)) {
            stamp = $0.int(0)
        }
        return stamp
    }

    func hasFile(_ id: Int64) throws(SQLite.Problem) -> Bool {
        var hasFile = false
        try database.prepare("SELECT place FROM entry WHERE id = ?").each(.int(id)) {
            hasFile = $0.int(0) == Place.file.rawValue
        }
        return hasFile
    }

    // MARK: - Files that are being written

    /// Both paths are relative to the cache's folder, which may be reached by another path tomorrow.
    func announce(
        _ name: String, _ file: String, id: Int64, cost: Int, since: Int64
    ) throws(SQLite.Problem) {
        try database.prepare("INSERT INTO pending VALUES (?, ?, ?, ?, ?)").each(
            .text(name), .text(file), .int(id), .int(Int64(cost)), .int(since))
    }

    func withdraw(_ name: String) throws(SQLite.Problem) {
        try database.prepare("DELETE FROM pending WHERE name = ?").each(.text(name))
    }

    struct Pending {
        var name: String
        var file: String
        var id: Int64
        var since: Int64
    }

    func pending() throws(SQLite.Problem) -> [Pending] {
        var all: [Pending] = []
        try database.prepare("SELECT name, file, id, since FROM pending").each {
            all.append(Pending(name: $0.text(0), file: $0.text(1), id: $0.int(2), since: $0.int(3)))
        }
        return all
    }

    // MARK: - Making room

    struct Victim {
        var id: Int64
        var stamp: Int64
        var place: Place?
        /// `nil` where the entry is too damaged to say.
        var key: CacheKey?
    }

    /// The entries that were not used for longest.
    func oldest(_ count: Int) throws(SQLite.Problem) -> [Victim] {
        try victims(
            "SELECT id, stamp, place, entry FROM entry ORDER BY used LIMIT ?", [.int(Int64(count))])
    }

    fileprivate func victims(_ sql: String, _ values: [SQLValue]) throws(SQLite.Problem) -> [Victim] {
        var victims: [Victim] = []
        try database.prepare(sql).each(values) { row in
            // The bytes hold still until the closure is over.
            let key = unsafe row.blob(3) { unsafe CacheEntry.key(of: $0) }
            victims.append(
                Victim(id: row.int(0), stamp: row.int(1), place: Place(rawValue: row.int(2)), key: key))
        }
        return victims
    }

    /// Gives pages that hold nothing back to the disk, from the end of the file.
    func release(pages: Int) throws(SQLite.Problem) {
        try database.prepare("PRAGMA incremental_vacuum(\(max(1, pages)))").each()
    }

    func markUsed(_ used: [Int64: Int64]) throws(SQLite.Problem) {
        let update = try database.prepare("UPDATE entry SET used = ?2 WHERE id = ?1 AND used < ?2")
        for (id, second) in used { try update.each(.int(id), .int(second)) }
    }

    func markWalked() throws(SQLite.Problem) { try database.run("UPDATE totals SET walked = 1") }

    // MARK: - Looking through all of it

    private static let condition = """
        (?3 IS NULL OR url = ?3) AND (?4 IS NULL OR host = ?4) AND (?5 IS NULL OR substr(url, 1, length(?5)) = ?5)
            AND (?6 IS NULL OR stored <= ?6) AND (?7 IS NULL OR class = ?7) AND (?8 IS NULL OR version = ?8)
            AND (?9 IS NULL OR kind = ?9)
        """

    /// Up to `count` rows that match, behind the row `id`; in the order of their numbers, so that a walk can
    /// go on where it was, in a transaction of its own each time.
    func matching(_ filter: CacheFilter, after id: Int64?, _ count: Int) throws(SQLite.Problem)
        -> [Victim]
    {
        try victims(
            """
            SELECT id, stamp, place, entry FROM entry WHERE (?1 IS NULL OR id > ?1) AND \(Self.condition)
            ORDER BY id LIMIT ?2
            """,
            [
                id.map(SQLValue.int) ?? .null, .int(Int64(count)), SQLValue(filter.url),
                SQLValue(filter.host),
                SQLValue(filter.prefix), filter.storedUntil.map(SQLValue.int) ?? .null,
                SQLValue(filter.engineClass), SQLValue(filter.engineVersion),
                filter.kind.map { .int(Int64($0.rawValue)) } ?? .null,
            ])
    }

    /// The pages of the file contradict each other nowhere.
    func isSound() throws(SQLite.Problem) -> Bool {
        var words = ""
        try database.prepare("PRAGMA quick_check(1)").each { words = $0.text(0) }
        return words == "ok"
    }
}

/// Which entries are meant; what is `nil` doesn't matter.
package struct CacheFilter: Sendable {
    /// As `CacheRecord.url` has it.
    package var url: String?
    package var host: String?
    /// Of the URL.
    package var prefix: String?
    /// Seconds since 1970.
    package var storedUntil: Int64?
    package var engineClass: String?
    package var engineVersion: String?
    package var kind: CacheRecord.Kind?

    package init() {}
}
