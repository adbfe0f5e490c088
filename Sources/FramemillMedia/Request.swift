/// One picture that somebody wants.
public struct Request: Sendable, Hashable {
    /// `http`, `https`, `file:` or a local path.
    public var url: String
    /// Other places of the same bytes, tried in order when one before is dead.
    public var mirrors: [String]
    public var recipe: Recipe
    public var priority: Priority
    /// When something kept may answer, and when the source is asked.
    public var reuse: Reuse = .whileFresh
    /// Whether the source is asked although a failure of it is remembered.
    public var retriesFailed = false

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

/// When something kept may answer, and when the source is asked.
public enum Reuse: Sendable, Hashable {
    /// As long as the origin says, or the defaults of `Configuration` where it says nothing.
    case whileFresh
    /// What was asked for or confirmed within so many seconds, whatever the origin says.
    case within(seconds: Int)
    /// Nothing unasked: the origin must confirm it first.
    case onceConfirmed
    /// Whatever is kept, however old; the network is left alone. Files of this machine are read as ever.
    case offline
}
