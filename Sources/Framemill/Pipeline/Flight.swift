internal import FramemillMedia

/// What calls share one computation: the same source and recipe, the same mirrors to fall back on, and the same right
/// to be answered by what is kept.
struct Flight: Hashable, Sendable {
    var key: CacheKey
    var mirrors: [String]
    var mustAsk: Bool

    init(_ key: CacheKey, _ request: Request) {
        self.key = key
        mirrors = request.mirrors
        mustAsk = request.reuse == .onceConfirmed || request.retriesFailed
    }
}
