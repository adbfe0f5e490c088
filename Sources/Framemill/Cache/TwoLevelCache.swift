package import FramemillEngine
package import FramemillMedia

/// Memory in front of disk. Nothing that goes wrong in here is an error to its caller: it is a miss, or a picture that
/// is not kept, and a count in `Meters`.
package final class TwoLevelCache: Sendable {
    private let memory: MemoryCache
    private let disk: DiskCache?
    /// Two threads: one may walk the folder while the other answers.
    private let lane: Lane<Void>?
    /// Ends a walk when the cache closes.
    private let closing = Stop(after: .seconds(100 * 365 * 86400))

    /// - Parameter directory: made when it isn't there; `nil` keeps pictures in memory alone.
    package init(directory: String?, memoryBytes: Int, diskBytes: Int64, meters: Meters) {
        memory = MemoryCache(bytes: memoryBytes)
        guard let directory, diskBytes > 0 else {
            (disk, lane) = (nil, nil)
            return
        }
        disk = DiskCache(folder: directory, bytes: diskBytes, meters: meters)
        lane = Lane("store", width: 2, stackBytes: 1 << 20) { () }
        trim()
    }

    /// The picture, from memory or else from disk. A hit in memory takes no thread but the caller's.
    package func artifact(for key: CacheKey, stop: Stop) async -> Artifact? {
        if let artifact = memory.artifact(for: key) { return artifact }
        guard let disk, let lane else { return nil }
        // Cancelled or closed: whoever asked finds that out at the next step, from the same `Stop`.
        guard let found = try? await lane.run(stop: stop, { _, _ in disk.artifact(for: key) }) else {
            return nil
        }
        memory.store(found, for: key)
        return found
    }

    /// The picture, from memory alone.
    package func remembered(for key: CacheKey) -> Artifact? { memory.artifact(for: key) }

    /// Keeps a finished picture in both levels; returns when it is on disk, or will not be.
    package func store(_ artifact: Artifact, for key: CacheKey, stop: Stop) async {
        memory.store(artifact, for: key)
        guard let disk, let lane else { return }
        // Cancelled or closed: the picture is not kept on disk, and made again when it is asked for again.
        try? await lane.run(priority: .prefetch, stop: stop) { _, _ in disk.store(artifact, for: key) }
        if disk.wantsTrim { trim() }
    }

    /// Counts and trims the folder behind everything else that the lane has to do.
    private func trim() {
        guard let disk, let lane else { return }
        Task { [closing] in
            // Refused when the cache has been closed: the next start walks the folder anyway.
            try? await lane.run(priority: .backfill, stop: closing) { _, stop in disk.trim(stop: stop) }
        }
    }

    /// Finishes what is queued, refuses what is new, and ends the threads. Pictures in memory can still be had.
    package func close() {
        closing.raise()
        lane?.close()
    }
}
