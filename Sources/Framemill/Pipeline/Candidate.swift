internal import FramemillMedia

/// The source, or one of its mirrors, within one job.
struct Candidate: Sendable {
    let url: String
    /// When bytes of it that are kept may be used unasked.
    let reuse: Reuse
    /// `nil` where nothing is remembered of it: a job that keeps nothing.
    var key: CacheKey?
    var kept = Kept()
    /// What the origin may be asked to confirm.
    var known: Freshness?
    /// Requests that failed.
    var tries = 0
    /// The last failure, one that is remembered included.
    var failure: Failure?
    /// Whether another try could help.
    var isOpen = true
    /// Of the last answer; `nil` for a file, where none came, and where none may be kept.
    var freshness: Freshness?
    var isKeepable = true

    init(_ url: String, _ reuse: Reuse) { (self.url, self.reuse) = (url, reuse) }

    /// Leaves it alone where its last failure still holds, or where nobody may be asked.
    mutating func recall(_ request: Request, now: Int, limits: String) {
        let isOut = request.reuse == .offline && !Location.isFile(url)
        guard let failure = isOut ? .notKept : kept.refusal(request, now: now, limits: limits) else { return }
        (self.failure, isOpen) = (failure, false)
    }

    mutating func take(_ opened: Opened, _ defaults: FreshnessDefaults) {
        freshness = opened.freshness(defaults)
        isKeepable = opened.answer == nil || freshness != nil
    }

    /// Whether bytes may be used without a question.
    func trusts(_ blocks: SourceBlocks, now: Int) -> Bool {
        switch reuse {
        case .offline: true
        case .onceConfirmed: false
        case .within(let seconds): (-59..<seconds).contains(now - blocks.freshness.checkedAt)
        case .whileFresh: blocks.freshness.state(now: now) == .fresh
        }
    }

    mutating func fail(_ error: Failure) {
        // The deadline that ends a second try tells less than what the first one met.
        if failure == nil || error.reason != .timeout { failure = error }
    }
}
