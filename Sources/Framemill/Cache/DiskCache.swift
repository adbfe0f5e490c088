// Level 2: an index in SQLite, with small entries in its rows and larger ones as files `ab/cd/<key>`, in a
// folder that several processes may share.
//
// What it guarantees: an entry is whole or a miss; no failure leaves this type; the folder never holds more
// than the limit and one entry, files that are being written included. A folder that is full, read-only, gone
// or damaged costs what was in it, and time; each failure is counted in `Meters`.
//
// There are three connections: one for whoever asks on a thread that must not wait, one for reads on the
// store lane, one for everything that writes. All but `entryAtOnce` may take as long as the disk likes: only
// a lane's threads call them.

package import FramemillEngine
package import FramemillMedia
internal import Synchronization

package final class DiskCache: Sendable {
    /// Entries up to this many bytes lie in their row. Measured by `framemill-bench cache --bytes N --row-bytes 1` and
    /// with all in rows, medians in µs: a hit takes 14.5 from a file and 11.4 from a row at 8 KB, 12.1 and 12.0 at 16,
    /// 14.0 and 14.1 at 24, 16.4 and 16.6 at 32; a store 320 to 530 as a file, which is synced, and 110 to 270 in a row.
    /// So the limit lies where the slower tenth of the hits, which a row has in its overflow pages, begins to show.
    package static let rowByteCount = 24 << 10

    let folder: String
    let limit: Int
    let entryLimit: Int
    let meters: Meters
    /// Seconds since 1970.
    let clock: @Sendable () -> Int64
    private let touchSeconds: Int64
    let storesInRowUpTo: Int

    /// A connection, opened when it is first needed.
    final class Slot: Sendable { let index = Mutex<DiskIndex?>(nil) }
    private let quick = Slot()
    private let reader = Slot()
    let writer = Slot()

    struct State {
        /// Counts how often the index was opened anew because it had been replaced.
        var generation = 0
        /// The second in which opening failed: once a second is often enough to try.
        var failedAt: Int64?
        /// The generation that has been swept and, where it was new, filled from the folder.
        var sweptGeneration = -1
        /// Of the whole disk; a log must not fill a small one.
        var diskBytes = Int.max
        var isTrimming = false
        var isFull = false
        /// Rows that were used, for `by_use`: written in bulk, because a hit must not write.
        var used: [Int64: Int64] = [:]
    }
    let state = Mutex(State())

    /// Reads on the lane in a row that were quick. See `entryAtOnce`.
    private let quickReads = Atomic<Int>(0)
    private static let slow = Duration.milliseconds(5)

    package init(
        folder: String, bytes: Int64, entries: Int = 1_000_000, meters: Meters,
        touchSeconds: Int64 = 600,
        rowByteCount: Int = DiskCache.rowByteCount,
        clock: @escaping @Sendable () -> Int64 = { Int64(CacheFiles.now) }
    ) {
        self.folder = folder.hasSuffix("/") && folder != "/" ? String(folder.dropLast()) : folder
        limit = Int(clamping: bytes)
        entryLimit = entries
        self.meters = meters
        self.touchSeconds = touchSeconds
        storesInRowUpTo = rowByteCount
        self.clock = clock
    }

    // MARK: - Reading

    package enum Answer {
        case found(CacheFound)
        case missing, askTheLane
    }

    /// The entry, on the caller's own thread, where that is quick; a hop to a lane and back would take longer
    /// than all of it.
    ///
    /// The thread may be one of Swift's, which must not wait. It reads from the page cache nearly always;
    /// when it doesn't, this is what bounds the harm: only one caller at a time is in here, so that a disk
    /// that hangs holds one thread; after a read that took longer than 5 ms everybody asks the lane, until 16
    /// reads there in a row were quick. Files of more than 64 KiB are always read on the lane: next to
    /// reading them the hop is small.
    package func entryAtOnce(for key: CacheKey) -> Answer {
        guard quickReads.load(ordering: .relaxed) >= 0 else { return .askTheLane }
        let start = ContinuousClock.now
        let lookup = quick.index.withLockIfAvailable { index -> DiskIndex.Lookup? in
            guard index != nil, isCurrent(&index!) else { return nil }
            // Whatever is wrong is found once more, and dealt with, on the lane.
            return try? index!.find(key)
        }
        guard let lookup = lookup ?? nil else { return .askTheLane }
        defer { if start.duration(to: .now) > Self.slow { quickReads.store(-16, ordering: .relaxed) } }
        switch lookup {
        case .missing: return .missing
        case .whole(let found, let used):
            note(key, used)
            return .found(found)
        case .file(let head, let bytes, let used, _) where head.payloadByteCount <= 64 << 10:
            guard let found = try? read(key, head, bytes) else { return .askTheLane }
            note(key, used)
            return .found(found)
        case .file, .bad: return .askTheLane
        }
    }

    package func entry(for key: CacheKey) -> CacheFound? {
        let start = ContinuousClock.now
        defer {
            let isSlow = start.duration(to: .now) > Self.slow
            let reads = quickReads.load(ordering: .relaxed)
            if reads < 0 { quickReads.store(isSlow ? -16 : reads + 1, ordering: .relaxed) }
        }
        // Whoever has no index has no entries; the problem was counted where it arose.
        _ = try? use(quick) { _ in }
        guard let lookup = read({ index throws(SQLite.Problem) in try index.find(key) }) else {
            return nil
        }
        switch lookup {
        case .missing: return nil
        case .whole(let found, let used):
            note(key, used)
            return found
        case .file(let head, let bytes, let used, let stamp):
            do throws(CacheFiles.Trouble) {
                guard let found = try read(key, head, bytes) else { return discard(key, stamp) }
                note(key, used)
                return found
            } catch {
                switch error {
                // Evicted since, or removed from outside: a row without a file says nothing.
                case .missing: forget(key, stamp)
                case .bad: return discard(key, stamp)
                case .unreadable: meters.add("cache_read_failed")
                }
                return nil
            }
        case .bad(let stamp): return discard(key, stamp)
        }
    }

    /// The entry in a key's file, with the record that the index has.
    private func read(
        _ key: CacheKey, _ head: CacheEntry.Head, _ bytes: [UInt8]
    ) throws(CacheFiles.Trouble) -> CacheFound? {
        let path = DiskPlace.file(key, in: folder)
        if let found = try CacheEntry.read(path, head, bytes) { return found }
        // Damaged; or its record was renewed, or all of it replaced a moment ago, and it is whole by itself.
        guard var found = try CacheEntry.read(path, for: key) else { return nil }
        found.record = head.record
        return found
    }

    /// Removes an entry that can't be believed. Should another process have put a good file there since, that
    /// costs a miss.
    private func discard(_ key: CacheKey, _ stamp: Int64) -> CacheFound? {
        meters.add("cache_bad_entry")
        forget(key, stamp)
        return nil
    }

    private func forget(_ key: CacheKey, _ stamp: Int64) {
        write { index throws(SQLite.Problem) in
            try index.database.transaction { () throws(SQLite.Problem) in
                guard try index.stamp(key.rowNumber) == stamp else { return }
                try index.remove(key.rowNumber, stamp: stamp)
                removeFile(DiskPlace(key, in: folder))
            }
        }
    }

    /// Remembers that an entry was used, if that was long ago.
    private func note(_ key: CacheKey, _ used: Int64) {
        let now = clock()
        guard now - used >= touchSeconds else { return }
        state.withLock { if $0.used.count < 4096 { $0.used[key.rowNumber] = now } }
    }

    // MARK: - The connections

    /// - Parameter isStore: an entry is lost when there is no index; upkeep then has nothing to do.
    @discardableResult
    func write<Value: Sendable>(
        isStore: Bool = false, _ body: (inout DiskIndex) throws(SQLite.Problem) -> Value
    ) -> Value? {
        do throws(SQLite.Problem) { return try use(writer, isWriting: true, body) } catch {
            if isStore || error.code != SQLite.Problem.noIndex { meters.add("cache_write_failed") }
            return nil
        }
    }

    func read<Value: Sendable>(_ body: (inout DiskIndex) throws(SQLite.Problem) -> Value) -> Value? {
        do throws(SQLite.Problem) { return try use(reader, body) } catch {
            if error.code != SQLite.Problem.noIndex { meters.add("cache_read_failed") }
            return nil
        }
    }

    private func use<Value: Sendable>(
        _ slot: Slot, isWriting: Bool = false, _ body: (inout DiskIndex) throws(SQLite.Problem) -> Value
    ) throws(SQLite.Problem) -> Value {
        try slot.index.withLock { index throws(SQLite.Problem) in
            // A second process may have replaced a damaged index, and somebody may have removed the folder.
            if index != nil, !isCurrent(&index!, surely: isWriting) { index = nil }
            if index == nil { index = try open() }
            let generation = index?.generation ?? 0
            do throws(SQLite.Problem) { return try body(&index!) } catch {
                if error.isDamage || error.isMissingTable || error.isWriteRefused && forbidsWriting {
                    meters.add("cache_index_damaged")
                    replaceIndex(seenBy: generation)
                }
                throw error
            }
        }
    }

    /// Whether the connection's file is still the index. Asks the disk once a second, or at once when it must
    /// be sure.
    private func isCurrent(_ index: inout DiskIndex, surely: Bool = false) -> Bool {
        guard index.generation == state.withLock({ $0.generation }) else { return false }
        let now = clock()
        if !surely, index.checkedAt == now { return true }
        guard !index.database.hasMoved else { return false }
        index.checkedAt = now
        return true
    }
}

extension DiskCache {
    /// The picture alone.
    package func artifact(for key: CacheKey) -> Artifact? { try? entry(for: key)?.outcome.get() }
}
