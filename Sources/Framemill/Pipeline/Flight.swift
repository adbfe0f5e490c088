internal import FramemillMedia
internal import Synchronization

/// What calls share one computation: the same source and recipe, the same mirrors to fall back on, and the same right
/// to be answered by what is kept.
struct Flight: Hashable, Sendable {
    var key: CacheKey
    var mirrors: [String]
    var mustAsk: Bool
    /// Of a link that shares its key with others and is not answered by what they met.
    var link: String?

    init(_ key: CacheKey, _ request: Request, alone: Bool = false) {
        link = alone ? request.url : nil
        self.key = key
        mirrors = request.mirrors
        mustAsk = request.reuse == .onceConfirmed || request.retriesFailed
    }
}

/// Set once, by whoever did something.
final class Mark: Sendable {
    private let value = Atomic<Bool>(false)
    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
}
