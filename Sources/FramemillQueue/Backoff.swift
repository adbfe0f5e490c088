public import FramemillMedia

/// When a job that failed is tried again. The class of the reason decides (`Failure.Reason`, the one table):
/// what is permanent is dead at once, what is transient waits longer each time. Two things are known beyond
/// the class: an origin that says when to come back is taken at its word, and 403 is mostly a block of
/// robots, which asking again makes last.
public struct Backoff: Sendable {
    /// The wait behind the first try; it doubles with each.
    public var first: Duration = .seconds(5)
    /// The longest wait.
    public var longest: Duration = .seconds(3600)
    /// Tries in all: with the defaults the last is about two and a half minutes behind the first.
    public var tries: Int = 6
    /// The same for 403.
    public var blockedFirst: Duration = .seconds(300)
    public var blockedTries: Int = 3
    /// An origin that asks for a longer wait than this is not waited for.
    public var longestAsked: Duration = .seconds(86400)

    public init() {}

    public enum Next: Sendable, Equatable {
        case retry(after: Duration)
        case dead
    }

    /// - Parameters:
    ///   - tries: hand-outs so far, the failed one included.
    ///   - chance: 0 up to 1; spreads those that failed together, so that they don't come back together.
    public func next(after failure: Failure, tries: Int, chance: Double) -> Next {
        guard failure.reason.class == .transient else { return .dead }
        let isBlocked = failure.reason == .http(403)
        guard tries < (isBlocked ? blockedTries : self.tries) else { return .dead }
        let wait = min(longest, (isBlocked ? blockedFirst : first) * (1 << min(max(tries, 1) - 1, 20)))
        // Half of it for certain, the other half by chance.
        let spread = wait / 2 + wait / 2 * chance
        guard let seconds = failure.retryAfterSeconds, seconds > 0 else { return .retry(after: spread) }
        let asked = Duration.seconds(seconds)
        guard asked <= longestAsked else { return .dead }
        // Never before it said, and not all in the same second after it.
        return .retry(after: max(spread, asked + (asked / 10 + .seconds(1)) * chance))
    }
}
