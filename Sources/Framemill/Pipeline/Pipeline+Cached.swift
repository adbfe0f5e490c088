internal import FramemillEngine
internal import FramemillMedia

/// The way of a hit in memory: no `await`, no lock but one table's, and no allocation for a URL in its canonical form.
extension Pipeline {
    /// What memory may answer without asking anybody.
    func cached(_ request: Request) -> Artifact? {
        guard !isOver, let identity = source.fetcher.identityHere(of: request.url) else { return nil }
        return served(CacheKey(canonicalURL: identity, recipe: request.recipe), request)
    }

    /// The key, where it takes no look at the disk.
    func keyAtOnce(_ request: Request) -> CacheKey? {
        source.fetcher.identityAtOnce(of: request.url).map {
            CacheKey(canonicalURL: $0, recipe: request.recipe)
        }
    }

    func served(_ key: CacheKey, _ request: Request) -> Artifact? {
        keeper.cache.served(for: key, request.reuse, now: clock.seconds)
    }

    /// What happened, by name.
    var counts: [String: Int] {
        var counts = meters.all
        let served = keeper.cache.served
        // Counted where the entries are: one counter for all would be one more place for threads to meet at.
        if served > 0 { counts["hit_memory", default: 0] += served }
        return counts
    }
}
