package import FramemillEngine
package import FramemillMedia
internal import Synchronization

/// Memory in front of disk. Nothing that goes wrong in here is an error to its caller: it is a miss, or a
/// picture that is not kept, and a count in `Meters`.
package final class TwoLevelCache: Sendable {
    private let memory: MemoryCache
    private let disk: DiskCache?
    /// Whether an entry that is on disk may be used.
    private let accepts: @Sendable (CacheRecord) -> Bool
    /// Two threads: one may trim while the other answers.
    private let lane: Lane<Void>?
    private let isClosed = Atomic<Bool>(false)
    /// Ends a trim when the cache closes.
    private let closing = Stop(after: .seconds(100 * 365 * 86400))

    /// - Parameters:
    ///   - directory: made when it isn't there; `nil` keeps pictures in memory alone.
    ///   - accepts: whether an entry on disk may be used, which an older version may have made; a miss where not.
    package init(
        directory: String?, memoryBytes: Int, diskBytes: Int64, diskEntries: Int = 1_000_000,
        meters: Meters, accepts: @escaping @Sendable (CacheRecord) -> Bool = { _ in true }
    ) {
        self.accepts = accepts
        memory = MemoryCache(bytes: memoryBytes)
        guard let directory, diskBytes > 0 else {
            (disk, lane) = (nil, nil)
            return
        }
        disk = DiskCache(folder: directory, bytes: diskBytes, entries: diskEntries, meters: meters)
        lane = Lane("store", width: 2, stackBytes: 1 << 20) { () }
        trim()
    }

    /// The entry, from memory or else from disk. A hit takes no thread but the caller's where the disk is
    /// quick.
    package func entry(for key: CacheKey, stop: Stop) async -> CacheFound? {
        if let found = memory.entry(for: key) { return found }
        guard let disk, let lane else { return nil }
        if !stop.isCancelled, !isClosed.load(ordering: .relaxed) {
            switch disk.entryAtOnce(for: key) {
            case .missing: return nil
            case .found(let found):
                guard accepts(found.record) else { return nil }
                memory.store(found, for: key)
                if disk.wantsTrim { trim() }
                return found
            case .askTheLane: break
            }
        }
        // Cancelled or closed: whoever asked finds that out at the next step, from the same `Stop`.
        guard let found = try? await lane.run(stop: stop, { _, _ in disk.entry(for: key) }),
            accepts(found.record)
        else { return nil }
        memory.store(found, for: key)
        return found
    }

    /// The entry as it is on disk, where another process may know more; memory then knows it too.
    package func diskEntry(for key: CacheKey, stop: Stop) async -> CacheFound? {
        guard let disk, let lane else { return nil }
        // As above.
        guard let found = try? await lane.run(stop: stop, { _, _ in disk.entry(for: key) }),
            accepts(found.record)
        else { return nil }
        if memory.entry(for: key).map({ $0.record.learnedAt < found.record.learnedAt }) ?? true {
            memory.store(found, for: key)
        }
        return found
    }

    /// The entry, from memory alone.
    package func rememberedEntry(for key: CacheKey) -> CacheFound? { memory.entry(for: key) }

    /// The picture, from memory alone, if it may be served without a question to anybody.
    package func served(for key: CacheKey, _ reuse: Reuse, now: Int) -> Artifact? {
        memory.served(for: key, reuse, now: now)
    }

    /// How often `served` gave one.
    package var served: Int { memory.served }

    /// Keeps a finished picture or a failure in both levels; returns when it is on disk, or will not be. A
    /// failure is kept as `record.refusal` has it.
    package func store(
        _ outcome: Result<Artifact, Failure>, record: CacheRecord, for key: CacheKey, stop: Stop
    ) async {
        let found = CacheFound(outcome, record)
        memory.store(found, for: key)
        guard let disk, let lane else { return }
        // Cancelled or closed: the picture is not kept on disk, and made again when it is asked for again.
        try? await lane.run(priority: .prefetch, stop: stop) { _, _ in disk.store(found, for: key) }
        if disk.wantsTrim { trim() }
    }

    /// Takes a new record for what is kept under its key, payload untouched; nothing when there is none.
    package func renew(_ record: CacheRecord, stop: Stop) async {
        memory.renew(record)
        guard let disk, let lane else { return }
        // As above.
        try? await lane.run(priority: .prefetch, stop: stop) { _, _ in disk.renew(record) }
    }

    /// Forgets what is kept under `key`.
    package func remove(_ key: CacheKey, stop: Stop) async {
        memory.remove(key)
        guard let disk, let lane else { return }
        // Cancelled or closed: whoever removes finds that out from the same `Stop`.
        try? await lane.run(stop: stop) { _, _ in disk.remove(key) }
    }

    /// Opens and trims behind everything else that the lane has to do.
    private func trim() {
        guard let disk, let lane else { return }
        Task { [closing] in
            // Refused when the cache has been closed: the next start does it.
            try? await lane.run(priority: .backfill, stop: closing) { _, stop in disk.trim(stop: stop) }
        }
    }

    /// Finishes what is queued, refuses what is new, and ends the threads. Pictures in memory can still be
    /// had.
    package func close() {
        guard !isClosed.exchange(true, ordering: .relaxed) else { return }
        closing.raise()
        if let disk { lane?.post { disk.saveUse() } }
        lane?.close()
    }
}

extension TwoLevelCache {
    /// The picture alone.
    package func artifact(for key: CacheKey, stop: Stop) async -> Artifact? {
        try? await entry(for: key, stop: stop)?.outcome.get()
    }

    /// The picture, from memory alone.
    package func remembered(for key: CacheKey) -> Artifact? {
        try? rememberedEntry(for: key)?.outcome.get()
    }

    /// Keeps a picture that stays fresh for ever.
    package func store(_ artifact: Artifact, for key: CacheKey, stop: Stop) async {
        await store(.success(artifact), record: CacheRecord(key: key), for: key, stop: stop)
    }
}
