/// One picture that somebody wants.
public struct Request: Sendable, Hashable {
    /// `http`, `https`, `file:` or a local path.
    public var url: String
    /// Other places of the same bytes, tried in order when one before is dead.
    public var mirrors: [String]
    public var recipe: Recipe
    public var priority: Priority

    public init(
        _ url: String, mirrors: [String] = [], recipe: Recipe = Recipe(), priority: Priority = .interactive
    ) {
        self.url = url
        self.mirrors = mirrors
        self.recipe = recipe
        self.priority = priority
    }
}

/// Who waits: a person, a person soon, or nobody.
public enum Priority: Int, Sendable, Hashable, Comparable, CaseIterable {
    case interactive, prefetch, backfill
    public static func < (left: Priority, right: Priority) -> Bool { left.rawValue < right.rawValue }
}
