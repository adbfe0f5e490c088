// How long an answer of an origin holds: RFC 9111 for what it says, and defaults of our own where it says nothing.
//
// Arithmetic over header values and times that are handed in; nothing in here reads a clock. Ages are counted by our
// own clock from the moment of the answer, so that a clock of the origin that is off makes an answer older at most.

/// What is assumed of origins that say nothing. All in seconds.
package struct FreshnessDefaults: Sendable, Equatable {
    /// The lifetime where neither `Cache-Control` nor `Expires` nor `Last-Modified` is given.
    package var maxAge = 86_400
    /// A tenth of the time since the last change (RFC 9111, 4.2.2), within these bounds.
    package var heuristic = 60...604_800
    package var staleWhileRevalidate = 0
    package var staleIfError = 604_800

    package init() {}
}

/// The validators of one answer, and until when it may be used without asking. Times are seconds since 1970.
package struct Freshness: Sendable, Hashable {
    /// As it came, `W/` and quotes included.
    package var entityTag: String?
    package var lastModified: String?
    /// When the origin last answered or confirmed.
    package var checkedAt: Int
    package var freshUntil: Int
    /// Until then it may be used while it is asked for behind.
    package var usableUntil: Int
    /// Until then it may stand in for an origin that fails.
    package var standsInUntil: Int

    package enum State: Equatable { case fresh, usableWhileAsking, stale }

    /// - Parameters:
    ///   - field: the value of a header by its lower-case name; lines of one name joined by commas.
    ///   - asked, answered: by our clock.
    /// - Returns: `nil` when the origin forbids keeping anything (`no-store`).
    package init?(
        _ field: (String) -> String?, asked: Int, answered: Int, defaults: FreshnessDefaults
    ) {
        let control = CacheControl(field("cache-control") ?? "")
        if control.noStore { return nil }
        entityTag = field("etag").flatMap { $0.isEmpty ? nil : $0 }
        lastModified = field("last-modified").flatMap { HTTPDate.seconds($0) == nil ? nil : $0 }
        checkedAt = answered
        // 4.2.3: the larger of what the clocks say and of what the caches on the way say.
        let date = field("date").flatMap(HTTPDate.seconds) ?? answered
        let age = field("age").flatMap(CacheControl.seconds) ?? 0
        let initialAge = max(0, answered - date, age + max(0, answered - asked))
        var lifetime =
            Self.lifetime(control, expires: field("expires"), date: date)
            ?? Self.guess(lastModified, date: date, defaults)
        // "A stored response with a Vary header field value containing a member "*" always fails to match" (4.1).
        if field("vary")?.contains("*") ?? false { lifetime = 0 }
        freshUntil = answered + max(0, lifetime - initialAge)
        // What was stale on arrival is so by this much already.
        let late = max(0, initialAge - lifetime)
        let mustAsk = control.noCache || control.mustRevalidate
        let usable = mustAsk ? 0 : control.staleWhileRevalidate ?? defaults.staleWhileRevalidate
        let standIn = mustAsk ? 0 : control.staleIfError ?? defaults.staleIfError
        usableUntil = freshUntil + max(0, usable - late)
        standsInUntil = freshUntil + max(0, standIn - late)
    }

    package init(
        entityTag: String?, lastModified: String?, checkedAt: Int, freshUntil: Int, usableUntil: Int,
        standsInUntil: Int
    ) {
        (self.entityTag, self.lastModified, self.checkedAt) = (entityTag, lastModified, checkedAt)
        (self.freshUntil, self.usableUntil, self.standsInUntil) = (freshUntil, usableUntil, standsInUntil)
    }

    /// Whether the origin can be asked if this is still what it has.
    package var hasValidator: Bool { entityTag != nil || lastModified != nil }

    package func state(now: Int) -> State {
        // A clock that was set back makes an answer come from the future: nobody knows how old it is.
        guard now > checkedAt - 60 else { return .stale }
        return now < freshUntil ? .fresh : now < usableUntil ? .usableWhileAsking : .stale
    }

    /// Whether it may stand in for an origin that fails.
    package func mayStandIn(now: Int) -> Bool { now < max(freshUntil, standsInUntil) }

    /// What a `304` leaves of this: its fields replace ours, those it does not have stay (RFC 9111, 3.2).
    package func renewed(
        _ field: (String) -> String?, asked: Int, answered: Int, defaults: FreshnessDefaults
    ) -> Freshness? {
        let merged: (String) -> String? = { [lastModified, entityTag] name in
            switch name {
            // Another tag on "not modified" contradicts itself; what we hold has ours.
            case "etag": entityTag ?? field(name)
            case "last-modified": field(name) ?? lastModified
            default: field(name)
            }
        }
        guard var new = Freshness(merged, asked: asked, answered: answered, defaults: defaults) else {
            return nil
        }
        // It says nothing new: as long again.
        if field("cache-control") == nil, field("expires") == nil {
            new.freshUntil = answered + freshUntil - checkedAt
            new.usableUntil = answered + usableUntil - checkedAt
            new.standsInUntil = answered + standsInUntil - checkedAt
        }
        return new
    }

    private static func lifetime(_ control: CacheControl, expires: String?, date: Int) -> Int? {
        if control.noCache { return 0 }
        if let maxAge = control.maxAge { return maxAge }
        guard let expires else { return nil }
        // "A cache recipient MUST interpret invalid date formats, especially the value "0", as representing a time
        // in the past" (5.3).
        return HTTPDate.seconds(expires).map { max(0, $0 - date) } ?? 0
    }

    private static func guess(_ lastModified: String?, date: Int, _ defaults: FreshnessDefaults) -> Int {
        guard let changed = lastModified.flatMap(HTTPDate.seconds) else { return defaults.maxAge }
        return min(max((date - changed) / 10, defaults.heuristic.lowerBound), defaults.heuristic.upperBound)
    }
}
