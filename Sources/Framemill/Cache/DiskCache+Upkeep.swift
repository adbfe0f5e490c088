// What the command asks of the cache: how much there is, what it is, whether it is sound, and to drop some of
// it.

package import FramemillEngine
package import FramemillMedia
internal import Synchronization

extension DiskCache {
    package struct Status: Sendable {
        package var entries: Int
        /// Bytes that the folder holds: index, log, and files, finished or not.
        package var bytes: Int
        package var limit: Int
        package var entryLimit: Int
    }

    /// Kept in the index: asking takes the same time for a million entries as for one. `nil` when there is no
    /// index.
    package func status() -> Status? {
        read { index throws(SQLite.Problem) in
            let totals = try index.totals()
            return Status(
                entries: totals.entries, bytes: totals.held + logBytes + 32 << 10, limit: limit,
                entryLimit: entryLimit)
        }
    }

    /// Bytes that the folder holds.
    package var held: Int { status()?.bytes ?? 0 }

    /// What verifying found.
    package struct Verdict: Sendable {
        package var checked = 0
        /// Entries that are not what was written, and an index whose pages contradict each other. They are
        /// removed.
        package var bad = 0
        /// Rows whose file is gone: a miss, no damage.
        package var missing = 0
        /// Files that could not be read now.
        package var unreadable = 0
        package var indexIsSound = true
    }

    /// Reads every entry as a hit would. `nil` when there is no index.
    package func verify(stop: Stop) -> Verdict? {
        var verdict = Verdict()
        guard let isSound = read({ index throws(SQLite.Problem) in try index.isSound() }) else {
            return nil
        }
        verdict.indexIsSound = isSound
        if !isSound { verdict.bad += 1 }
        var last: Int64?
        while !stop.isOver {
            let after = last
            guard
                let some = read({ index throws(SQLite.Problem) in
                    try index.matching(CacheFilter(), after: after, 64)
                })
            else { return nil }
            for row in some { check(row, &verdict) }
            last = some.last?.id
            if some.isEmpty { break }
        }
        if !isSound {
            meters.add("cache_index_damaged")
            replaceIndex(seenBy: state.withLock { $0.generation })
        }
        return verdict
    }

    private func check(_ row: DiskIndex.Victim, _ verdict: inout Verdict) {
        verdict.checked += 1
        // A row whose number is not its key's is found by nobody.
        guard let key = row.key, key.rowNumber == row.id else {
            verdict.bad += 1
            meters.add("cache_bad_entry")
            write { index throws(SQLite.Problem) in try index.remove(row.id, stamp: row.stamp) }
            return
        }
        let before = (meters.count("cache_bad_entry"), meters.count("cache_read_failed"))
        if entry(for: key) != nil { return }
        if meters.count("cache_bad_entry") > before.0 {
            verdict.bad += 1
        } else if meters.count("cache_read_failed") > before.1 {
            verdict.unreadable += 1
        } else {
            verdict.missing += 1
        }
    }

    /// Hands out the records that match, some at a time.
    package func list(
        _ filter: CacheFilter, stop: Stop, _ body: (CacheRecord) throws(Failure) -> Void
    ) throws(Failure) {
        var last: Int64?
        while !stop.isOver {
            let after = last
            let some = read { index throws(SQLite.Problem) in try index.matching(filter, after: after, 64)
            }
            guard let some, !some.isEmpty else { return }
            for row in some {
                if let key = row.key, let found = peek(key) { try body(found) }
            }
            last = some.last?.id
        }
    }

    /// The record of a key, without its payload.
    private func peek(_ key: CacheKey) -> CacheRecord? {
        switch read({ index throws(SQLite.Problem) in try index.find(key) }) {
        case .whole(let found, _): found.record
        case .file(let head, _, _, _): head.record
        case .missing, .bad, nil: nil
        }
    }

    /// Removes what matches, a few entries a transaction; how many that were.
    package func purge(_ filter: CacheFilter, stop: Stop) -> Int {
        var count = 0
        while !stop.isOver {
            let removed = write { index throws(SQLite.Problem) in
                try emptyLog(index)
                return try index.database.transaction { () throws(SQLite.Problem) in
                    let some = try index.matching(filter, after: nil, 64)
                    for row in some {
                        try index.remove(row.id, stamp: row.stamp)
                        if let key = row.key, row.place != .row { removeFile(DiskPlace(key, in: folder)) }
                    }
                    return some.count
                }
            }
            guard let removed, removed > 0 else { break }
            count += removed
        }
        return count
    }
}
