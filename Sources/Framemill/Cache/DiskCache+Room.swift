// Keeping below the limits: bytes, entries, and what must stay free on the disk.
//
// Above 95 % of the limit a trim begins and goes down to 90 %, a few entries a step, each step a transaction
// of its own. A store that would pass the limit all the same makes its own room. Pages that entries leave are
// used again by the next ones; only when they stand in the way of a file are they given back to the disk,
// which costs moving others.

package import FramemillEngine
internal import Synchronization

extension DiskCache {
    /// What is left for entries: the log may take its share twice for a moment, and 64 KiB are the log's
    /// index.
    private var budget: Int { limit - 2 * logByteCount - 64 << 10 }

    /// Whether `trim` has something to do.
    package var wantsTrim: Bool {
        state.withLock { state in
            !state.isTrimming && state.failedAt == nil
                && (state.isFull || state.used.count > 256 || state.sweptGeneration != state.generation)
        }
    }

    /// Brings the folder below its limits, sweeps what dead writers left, and writes down what was used. One
    /// at a time; a second caller returns at once.
    package func trim(stop: Stop) {
        let isFirst = state.withLock { state in
            defer { state.isTrimming = true }
            return !state.isTrimming
        }
        guard isFirst else { return }
        defer { state.withLock { $0.isTrimming = false } }
        if needsSweep { sweep(stop) }
        saveUse()
        var isAbove = write { index throws(SQLite.Problem) in try level(index) > 95 } ?? false
        while isAbove, !stop.isOver {
            isAbove =
                write { index throws(SQLite.Problem) in
                    try emptyLog(index)
                    return try index.database.transaction { () throws(SQLite.Problem) in
                        guard try evict(index) else { return false }
                        return try level(index) > 90
                    }
                } ?? false
        }
        write { index throws(SQLite.Problem) in try emptyLog(index) }
        state.withLock { $0.isFull = false }
    }

    /// Writes down what was used since the last time.
    package func saveUse() {
        let used = state.withLock { state in
            defer { state.used = [:] }
            return state.used
        }
        guard !used.isEmpty else { return }
        write { index throws(SQLite.Problem) in
            try index.database.transaction { () throws(SQLite.Problem) in try index.markUsed(used) }
        }
    }

    /// Percent of the limit that is nearest, of bytes or of entries.
    private func level(_ index: borrowing DiskIndex) throws(SQLite.Problem) -> Int {
        let totals = try index.totals()
        guard budget > 0 else { return totals.entries > 0 ? 100 : 0 }
        return max(totals.used * 100 / budget, totals.entries * 100 / max(1, entryLimit))
    }

    /// Evicts a few entries, in the transaction of whoever calls; `false` when there are none.
    private func evict(_ index: borrowing DiskIndex) throws(SQLite.Problem) -> Bool {
        // Few, so that a step is short and its pages fit the log, and so that the last step doesn't go far
        // beyond its aim.
        let count = min(64, logByteCount / DiskIndex.pageByteCount / 8, try index.totals().entries / 64)
        let victims = try index.oldest(max(1, count))
        for victim in victims {
            try index.remove(victim.id, stamp: victim.stamp)
            if let key = victim.key, victim.place != .row { removeFile(DiskPlace(key, in: folder)) }
        }
        meters.add("cache_evicted", victims.count)
        return !victims.isEmpty
    }

    /// Room for a row of this many bytes, by evicting if need be; `false` when there is none. In the
    /// transaction that fills it, so that no other process can take it.
    func makeRoom(_ index: borrowing DiskIndex, forRow byteCount: Int) throws(SQLite.Problem) -> Bool {
        // Its own pages, and one of the tree that may split.
        try makeRoom(index, byteCount + 2 * DiskIndex.pageByteCount, isFile: false)
    }

    func makeRoom(_ index: borrowing DiskIndex, forFile cost: Int) throws(SQLite.Problem) -> Bool {
        try makeRoom(index, cost + DiskIndex.pageByteCount, isFile: true)
    }

    private func makeRoom(
        _ index: borrowing DiskIndex, _ cost: Int, isFile: Bool
    ) throws(SQLite.Problem) -> Bool {
        guard cost <= budget, logBytes <= 2 * logByteCount else { return false }
        var (totals, growth, steps) = (try index.totals(), 0, 0)
        while true {
            growth = isFile ? cost : max(0, cost - totals.freePages * DiskIndex.pageByteCount)
            let fits = totals.used + cost <= budget && totals.entries < entryLimit
            if fits, growth == 0 || isDiskFree(for: growth) { break }
            if fits { steps += 1 }
            // It is somebody else who fills the disk: emptying the cache for one entry would be no help.
            guard steps <= 8, try evict(index) else { return false }
            totals = try index.totals()
        }
        let excess = totals.held + growth - budget
        if excess > 0 { try index.release(pages: excess / DiskIndex.pageByteCount + 1) }
        if (totals.used + cost) / 95 > budget / 100 || totals.entries / 95 >= entryLimit / 100 {
            state.withLock { $0.isFull = true }
        }
        return true
    }

    /// Copies the log into the database when it has grown beyond its share: another process may have been
    /// reading each time SQLite tried by itself. Where that doesn't help either, nothing is stored.
    func emptyLog(_ index: borrowing DiskIndex) throws(SQLite.Problem) {
        guard logBytes > logByteCount else { return }
        try index.database.prepare("PRAGMA wal_checkpoint(TRUNCATE)").each()
    }

    /// What must stay free, for others: 2 % of the disk and of its files, at most 256 MiB and 10,000. And
    /// room for the log: evicting writes to it as well, and a log that can't be copied into the database
    /// would fill the disk for good.
    private func isDiskFree(for cost: Int) -> Bool {
        // What can't be asked shows when it is written.
        guard let space = CacheFiles.space(at: folder) else { return true }
        let bytes = min(space.allBytes / 50, 256 << 20)
        let files = min(space.allFiles / 50, 10_000)
        return space.freeBytes - cost - logBytes - 2 * logByteCount >= bytes
            && (space.allFiles == 0 || space.freeFiles > files)
    }
}
