// Bytes of sources that covers were made from, so that a second size of the same clip asks nobody, and a whole download
// goes on from what is there. A cache of its own beside that of covers, in the folder `source` below it: its own bound,
// the same files, checksums and sweeping, and as many processes.
//
// Kept is only what an origin gave a version to, an `ETag` or `Last-Modified`: what comes later must be known to belong
// to it. Not more than a reader holds in memory (`BlockStore.memory`), which is what it had no need to throw away.

internal import FramemillEngine
internal import FramemillMedia

package enum SourceFolder {
    /// Below the cache's folder.
    package static let name = "source"
}

struct SourceStore: Sendable {
    static let engineClass = "source"
    private let cache: TwoLevelCache
    private let ignoredQuery: IgnoredQuery
    private let deadline: Duration
    private let meters: Meters

    /// `nil` where nothing is to be kept.
    init?(_ configuration: Configuration, _ ignoredQuery: IgnoredQuery, _ meters: Meters) {
        guard let folder = configuration.cacheDirectory, configuration.sourceCacheBytes > 0 else {
            return nil
        }
        self.ignoredQuery = ignoredQuery
        self.meters = meters
        deadline = configuration.limits.deadline
        // Counts of its own: what is not kept here costs no cover.
        cache = TwoLevelCache(
            directory: "\(folder)/\(SourceFolder.name)", memoryBytes: 0,
            diskBytes: configuration.sourceCacheBytes,
            diskEntries: configuration.diskCacheEntries, meters: Meters())
    }

    /// What is kept of a URL; nothing of a file.
    func blocks(of url: String) async -> SourceBlocks? {
        guard let (key, _) = place(url), let found = await cache.entry(for: key, stop: Stop(after: deadline)),
            case .success(let artifact) = found.outcome, let blocks = SourceBlocks(decoding: artifact.bytes)
        else { return nil }
        return blocks
    }

    /// In place of what was there.
    func keep(_ blocks: SourceBlocks, of url: String) async {
        guard let (key, web) = place(url) else { return }
        var record = CacheRecord(
            key: key, url: Location.http(web).identity(ignoredQuery), host: web.host,
            engineClass: Self.engineClass, storedAt: Int64(blocks.freshness.checkedAt))
        record.freshUntil = Int64(blocks.freshness.freshUntil)
        (record.etag, record.lastModified) = (blocks.freshness.entityTag, blocks.freshness.lastModified)
        let entry = Artifact(bytes: blocks.encoded, facts: Facts(), origin: .made)
        await cache.store(.success(entry), record: record, for: key, stop: Stop(after: deadline))
        meters.add("source_kept")
    }

    func drop(_ url: String) async {
        guard let (key, _) = place(url) else { return }
        await cache.remove(key, stop: Stop(after: deadline))
        meters.add("source_dropped")
    }

    func close() { cache.close() }

    private func place(_ url: String) -> (CacheKey, Location.Web)? {
        guard let location = try? Location(url), case .http(let web) = location else { return nil }
        return (CacheKey(canonicalURL: location.identity(ignoredQuery), recipe: Recipe()), web)
    }
}
