internal import FramemillEngine
internal import FramemillMedia

/// The cache as the pipeline sees it: what is kept of a source and recipe goes in and out as `Kept`.
struct Keeper: Sendable {
    let cache: TwoLevelCache
    let clock: WallClock
    let deadline: Duration
    /// The limits of this process, as `Trouble` holds them.
    private let limits: String
    private let ignoredQuery: IgnoredQuery
    private let engine: EngineVersions

    init(
        _ cache: TwoLevelCache, _ clock: WallClock, _ limits: Limits,
        ignoring ignoredQuery: IgnoredQuery = .nothing, engine: EngineVersions = .current
    ) {
        self.engine = engine
        self.ignoredQuery = ignoredQuery
        self.cache = cache
        self.clock = clock
        deadline = limits.deadline
        self.limits = Digest.hex(Digest.sha256(Array("\(limits)".utf8)).prefix(8))
    }

    /// What a failure of `url` depends on beside the source: the limits, and the parameters that its key leaves out. A
    /// link whose signature has run out says nothing of the next one.
    func conditions(of url: String) -> String {
        isReduced(url) ? limits + "+" + Kept.name(url) : limits
    }

    /// Whether other links share its key.
    func isReduced(_ url: String) -> Bool {
        guard !ignoredQuery.isNothing, let location = try? Location(url) else { return false }
        return location.identity(ignoredQuery) != location.canonical
    }

    /// What tells a mirror from others, and nothing of its URL.
    func mirrorName(_ url: String) -> String { Kept.name(Request(url).identity(ignoredQuery)) }

    /// Nothing, when nothing is kept.
    func kept(for key: CacheKey) async -> Kept {
        if let found = cache.rememberedEntry(for: key) { return Kept(found) }
        guard let found = await cache.entry(for: key, stop: Stop(after: deadline)) else { return Kept() }
        return Kept(found)
    }

    /// Past the memory of this process, for what another one has learned since.
    func keptOnDisk(for key: CacheKey) async -> Kept {
        guard let found = await cache.diskEntry(for: key, stop: Stop(after: deadline)) else { return Kept() }
        return Kept(found)
    }

    func verdict(_ kept: Kept, _ request: Request) -> Kept.Verdict {
        kept.verdict(for: request, now: clock.seconds, limits: conditions(of: request.url))
    }

    /// Puts `kept` in place of what was there.
    func keep(_ kept: Kept, of url: String, for key: CacheKey) async {
        let stop = Stop(after: deadline)
        guard let outcome = kept.outcome else { return await cache.remove(key, stop: stop) }
        await cache.store(outcome, record: record(of: kept, url, key), for: key, stop: stop)
    }

    /// As `keep`, where the picture itself is the one that is there.
    func renew(_ kept: Kept, of url: String, for key: CacheKey) async {
        guard kept.artifact != nil else { return await keep(kept, of: url, for: key) }
        await cache.renew(record(of: kept, url, key), stop: Stop(after: deadline))
    }

    private func record(of kept: Kept, _ url: String, _ key: CacheKey) -> CacheRecord {
        var record = kept.record(of: url, ignoredQuery, for: key, storedAt: clock.seconds)
        if let outcome = kept.outcome { (record.engineClass, record.engineVersion) = engine.mark(outcome) }
        return record
    }

    /// Remembers what came of a place that failed. What may pass leaves a picture in its place; what does not, does not.
    func note(_ place: Candidate) async {
        guard let key = place.key, let trouble = trouble(of: place) else { return }
        var kept = place.kept
        kept.trouble = trouble
        if trouble.failure.reason.class == .permanent {
            (kept.artifact, kept.mirror) = (nil, nil)
            kept.freshness = trouble.until == nil ? place.freshness : nil
        }
        await renew(kept, of: place.url, for: key)
    }

    /// What is to be remembered of a place that failed; `nil` where there is nothing new.
    func trouble(of place: Candidate) -> Trouble? {
        place.failure.flatMap { failure in
            Trouble(
                failure, after: place.kept.trouble, freshness: place.freshness,
                limits: conditions(of: place.url), now: clock.seconds, chance: clock.chance())
        }
    }
}

extension Kept {
    init(_ found: CacheFound) {
        let record = found.record
        mirror = record.mirror
        switch found.outcome {
        case .success(let artifact):
            self.artifact = artifact
            freshness = Freshness(record)
            trouble = record.trouble.flatMap { Trouble($0) }
        case .failure:
            trouble = record.refusal.flatMap { Trouble($0) }
            if trouble?.until == nil { freshness = Freshness(record) }
        }
    }

    /// `nil` where there is nothing to keep.
    fileprivate var outcome: Result<Artifact, Failure>? {
        artifact.map { .success($0) } ?? trouble.map { .failure($0.failure) }
    }

    /// - Parameter storedAt: for what no origin was asked for, files and the like.
    fileprivate func record(
        of url: String, _ ignored: IgnoredQuery, for key: CacheKey, storedAt: Int
    ) -> CacheRecord {
        var (canonical, host) = (url, "")
        if let location = try? Location(url) {
            canonical = location.identity(ignored)
            if case .http(let web) = location { host = web.host }
        }
        var record = CacheRecord(key: key, url: canonical, host: host, storedAt: Int64(storedAt))
        record.mirror = mirror
        if let freshness {
            record.storedAt = Int64(freshness.checkedAt)
            record.freshUntil = Int64(freshness.freshUntil)
            record.staleWhileRevalidateUntil = Int64(freshness.usableUntil)
            record.staleIfErrorUntil = Int64(freshness.standsInUntil)
            (record.etag, record.lastModified) = (freshness.entityTag, freshness.lastModified)
        }
        let refusal = trouble.map { CacheRecord.Refusal($0) }
        if artifact != nil {
            record.trouble = refusal
        } else {
            record.refusal = refusal
            if let trouble, let until = trouble.until {
                record.storedAt = Int64(trouble.happenedAt)
                record.freshUntil = Int64(until)
                (record.staleWhileRevalidateUntil, record.staleIfErrorUntil) = (Int64(until), Int64(until))
            }
        }
        return record
    }
}

extension Freshness {
    /// `nil` for a picture that stays fresh for ever.
    fileprivate init?(_ record: CacheRecord) {
        guard record.freshUntil < .max else { return nil }
        self.init(
            entityTag: record.etag, lastModified: record.lastModified, checkedAt: Int(record.storedAt),
            freshUntil: Int(record.freshUntil), usableUntil: Int(record.staleWhileRevalidateUntil),
            standsInUntil: Int(record.staleIfErrorUntil))
    }
}

extension Trouble {
    /// `nil` for a reason that this version does not know.
    fileprivate init?(_ refusal: CacheRecord.Refusal) {
        guard let failure = refusal.failure else { return nil }
        self.init(
            failure, happenedAt: refusal.happenedAt, until: refusal.until, tries: refusal.attempts,
            limits: refusal.limits)
    }
}

extension CacheRecord.Refusal {
    fileprivate init(_ trouble: Trouble) {
        self.init(trouble.failure, attempts: trouble.tries)
        (happenedAt, until, limits) = (trouble.happenedAt, trouble.until, trouble.limits)
    }
}
