// A failure that is remembered, so that a dead link costs one request and not one per reader. How long depends on
// what failed:
//
// - What the bytes are (no media, corrupt, unsupported) follows from them alone: it holds as long as a cover of them
//   would, by the freshness of the answer, and an origin that confirms the bytes confirms the failure.
// - What the origin does (a status, silence, a name without an address) passes or does not; the table below.

package import FramemillMedia

package struct Trouble: Sendable, Equatable {
    package var failure: Failure
    /// Seconds since 1970.
    package var happenedAt: Int
    /// The origin is not asked before this; `nil` where the freshness of its answer decides.
    package var until: Int?
    /// How often in a row.
    package var tries: Int
    /// The limits it failed under: under others it may not fail.
    package var limits: String

    /// - Parameters:
    ///   - earlier: what was remembered of the same source before.
    ///   - freshness: of the answer, where one came.
    ///   - chance: 0 to 1, so that what failed together is not asked for again together.
    /// - Returns: `nil` for what says nothing of the source, or may not be kept.
    package init?(
        _ failure: Failure, after earlier: Trouble?, freshness: Freshness?, limits: String, now: Int,
        chance: Double
    ) {
        tries = (earlier?.tries ?? 0) + 1
        guard failure.memory == nil, failure.reason.fault == .source else { return nil }
        if failure.isOfTheBytes {
            guard freshness != nil else { return nil }
            until = nil
        } else {
            until = now + Self.seconds(failure, tries: tries, chance: chance)
        }
        self.failure = failure
        happenedAt = now
        self.limits = limits
    }

    /// Whether it answers in place of the origin.
    package func holds(_ freshness: Freshness?, now: Int, limits: String) -> Bool {
        guard limits == self.limits, now >= happenedAt - 60 else { return false }
        return until.map { now < $0 } ?? (freshness?.state(now: now) == .fresh)
    }

    /// Read back from where it was kept.
    package init(_ failure: Failure, happenedAt: Int, until: Int?, tries: Int, limits: String) {
        self.failure = failure
        (self.happenedAt, self.until, self.tries, self.limits) = (happenedAt, until, tries, limits)
    }

    /// The failure as it was, and how it is known.
    package func told(now: Int) -> Failure {
        let left = until.map { max(0, $0 - now) }
        var failure = failure
        failure.memory = .init(ageSeconds: max(0, now - happenedAt), leftSeconds: left, tries: tries)
        failure.retryAfterSeconds = failure.reason.class == .transient ? left : nil
        return failure
    }

    static let day = 86_400

    /// How long the origin is left in peace.
    private static func seconds(_ failure: Failure, tries: Int, chance: Double) -> Int {
        // A tenth more or less.
        func about(_ seconds: Int) -> Int { seconds + Int(Double(seconds) * (chance - 0.5) / 5) }
        switch failure.reason {
        case .http(410): return about(7 * day)
        // A bot block passes, mostly; but who keeps knocking stays blocked.
        case .http(403): return about(tries == 1 ? 600 : tries == 2 ? 3600 : day)
        case .http(429), .http(503):
            // As told, and never earlier.
            if let told = failure.retryAfterSeconds {
                return min(max(1, told), day) + Int(Double(min(told, 600)) * chance / 5)
            }
        case _ where failure.reason.class == .permanent: return about(day)
        default: break
        }
        return about(30 << min(tries - 1, 4))
    }
}

extension Failure {
    /// Whether it follows from what the bytes are, however and whenever they are fetched.
    var isOfTheBytes: Bool {
        switch reason {
        case .http, .tooManyRedirects: false
        default: reason.fault == .source && reason.class == .permanent
        }
    }
}
