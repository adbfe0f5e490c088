// What the cache holds of one source and recipe, and what it is good for at this moment: pure, over a clock that is
// handed in. A cover and the last failure of its source may both be there: an origin that is down does not take away
// what it once gave.

internal import FramemillMedia

struct Kept: Sendable {
    var artifact: Artifact?
    /// Of the answer that the cover, or a failure of the bytes, comes from; `nil` for files of this machine.
    var freshness: Freshness?
    /// The last failure of the source, where its last answer was one.
    var trouble: Trouble?
    /// Which mirror the cover comes from; `nil` where it is the source itself.
    var mirror: String?

    enum Verdict {
        case serve(Artifact)
        /// And ask for it anew, behind.
        case serveAndAsk(Artifact)
        case refuse(Failure)
        case ask
    }

    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - limits: those of now, as `Trouble` holds them.
    func verdict(for request: Request, now: Int, limits: String) -> Verdict {
        if case .offline = request.reuse { return offline(request, now) }
        if case .onceConfirmed = request.reuse { return .ask }
        if let artifact {
            switch state(request.reuse, now) {
            case .fresh: return .serve(artifact)
            case .usableWhileAsking: return .serveAndAsk(artifact.asStale)
            case .stale: break
            }
        }
        // What is known to fail is not asked; its mirrors may be.
        guard request.mirrors.isEmpty, let failure = refusal(request, now: now, limits: limits) else {
            return .ask
        }
        return standIn(now).map { .serve($0) } ?? .refuse(failure)
    }

    /// The last failure of the source itself, while it answers in its place.
    func refusal(_ request: Request, now: Int, limits: String) -> Failure? {
        guard !request.retriesFailed, request.reuse != .onceConfirmed, let trouble,
            trouble.holds(freshness, now: now, limits: limits),
            request.reuse.allows(secondsSince: trouble.happenedAt, now)
        else { return nil }
        return trouble.told(now: now)
    }

    /// The old cover, for an origin that fails.
    func standIn(_ now: Int) -> Artifact? {
        freshness?.mayStandIn(now: now) ?? false ? artifact?.asStale : nil
    }

    /// The one of the two that was learned later.
    func newer(_ other: Kept) -> Kept { other.learnedAt > learnedAt ? other : self }

    private var learnedAt: Int {
        artifact == nil && trouble == nil ? .min : max(freshness?.checkedAt ?? 0, trouble?.happenedAt ?? 0)
    }

    /// A short name of a URL, with nothing of it in it.
    static func name(_ url: String) -> String { Digest.hex(Digest.sha256(Array(url.utf8)).prefix(8)) }

    /// What the origin may be asked to confirm.
    func validators(limits: String) -> Freshness? {
        guard let freshness, freshness.hasValidator else { return nil }
        if artifact != nil { return freshness }
        return trouble?.until == nil && trouble?.limits == limits ? freshness : nil
    }

    private func offline(_ request: Request, _ now: Int) -> Verdict {
        if let artifact {
            let isFresh = freshness.map { $0.state(now: now) == .fresh } ?? true
            return .serve(isFresh ? artifact : artifact.asStale)
        }
        if let trouble { return .refuse(trouble.told(now: now)) }
        return Location.isFile(request.url) ? .ask : .refuse(.notKept)
    }

    private func state(_ reuse: Reuse, _ now: Int) -> Freshness.State {
        guard let freshness else { return .fresh }
        if case .within = reuse {
            return reuse.allows(secondsSince: freshness.checkedAt, now) ? .fresh : .stale
        }
        return freshness.state(now: now)
    }
}

extension Reuse {
    fileprivate func allows(secondsSince then: Int, _ now: Int) -> Bool {
        if case .within(let seconds) = self { return now - then < seconds && now - then > -60 }
        return true
    }
}

extension Artifact {
    fileprivate var asStale: Artifact {
        var copy = self
        copy.isStale = true
        return copy
    }
}

extension Location {
    /// What is no URL fails when it is opened.
    static func isFile(_ url: String) -> Bool {
        if case .file? = try? Location(url) { return true }
        return false
    }
}

extension Failure {
    static var notKept: Failure {
        Failure(.notKept, .cache, "nothing is kept for this source and recipe, and --offline asks nobody")
    }

    /// Whether it says nothing of the source itself, only of this moment.
    var mayPass: Bool { reason.class == .transient && ![.cancelled, .closed].contains(reason) }
}
