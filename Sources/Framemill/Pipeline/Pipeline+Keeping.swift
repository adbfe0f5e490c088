internal import FramemillEngine
internal import FramemillMedia

/// What is kept, and how it is kept up.
extension Pipeline {
    /// The key names the first URL: mirrors are other ways to the same bytes, and come and go.
    func key(for url: String, _ recipe: Recipe) async throws(Failure) -> CacheKey {
        let stop = Stop(after: configuration.limits.deadline)
        return CacheKey(canonicalURL: try await source.fetcher.identity(of: url, stop: stop), recipe: recipe)
    }

    /// The source and its mirrors, each with what is remembered of it.
    func places(
        of request: Request, _ key: CacheKey, _ kept: Kept
    ) async throws(Failure) -> [Candidate] {
        var places: [Candidate] = []
        for (index, url) in ([request.url] + request.mirrors).enumerated() {
            var place = Candidate(url, request.reuse)
            // A mirror that is no URL fails in its turn.
            if index == 0 {
                (place.key, place.kept) = (key, kept)
            } else if let key = try? await self.key(for: url, request.recipe) {
                (place.key, place.kept) = (key, await keeper.kept(for: key))
            }
            if kept.mirror == (index == 0 ? nil : keeper.mirrorName(url)) {
                place.known = kept.validators(limits: keeper.conditions(of: url))
            }
            place.recall(request, now: clock.seconds, limits: keeper.conditions(of: url))
            places.append(place)
        }
        return places
    }

    func keep(_ artifact: Artifact, _ places: [Candidate], _ index: Int) async {
        for place in places[1...] where place.failure != nil { await keeper.note(place) }
        guard let key = places[0].key, places[index].isKeepable else { return }
        var new = Kept(artifact: artifact, freshness: places[index].freshness)
        if index > 0 {
            new.mirror = keeper.mirrorName(places[index].url)
            new.trouble = keeper.trouble(of: places[0]) ?? places[0].kept.trouble
        }
        await keeper.keep(new, of: places[0].url, for: key)
    }

    /// The origin says that what is kept still is right.
    func confirm(
        _ kept: Kept, _ place: Candidate, _ request: Request, _ key: CacheKey
    ) async throws(Failure) -> Artifact {
        var kept = kept
        if let freshness = place.freshness {
            kept.freshness = freshness
            if kept.artifact != nil { kept.trouble = nil }
            await keeper.renew(kept, of: request.url, for: key)
        }
        if let artifact = kept.artifact { return hit(artifact) }
        throw remembered(
            kept.trouble?.told(now: clock.seconds)
                ?? Failure(.internalError, .cache, "a source confirmed what nobody knew"))
    }

    /// Joins whoever asks for the same, or asks. Where another link to the same bytes was refused, this one may not be: it
    /// is asked for by itself.
    func shared(_ request: Request, _ key: CacheKey) async throws(Failure) -> Artifact {
        let own = Mark()
        do throws(Failure) {
            return try await inFlight.value(for: Flight(key, request), priority: request.priority) {
                [self] (urgency) async throws(Failure) -> Artifact in
                own.set()
                return try await ask(for: request, key, urgency)
            }
        } catch {
            guard case .http = error.reason, !own.isSet, keeper.isReduced(request.url) else { throw error }
            let flight = Flight(key, request, alone: true)
            return try await inFlight.value(for: flight, priority: request.priority) {
                [self] (urgency) async throws(Failure) -> Artifact in
                try await ask(for: request, key, urgency)
            }
        }
    }

    func askBehind(_ request: Request, _ key: CacheKey) {
        let flight = Flight(key, request)
        // One is enough; where two come at once, they share it.
        guard inFlight.waiting(for: flight) == 0 else { return }
        var request = request
        request.priority = .backfill
        Task { [self, request] in
            // Nobody waits for it: a failure is remembered like any other, and told by whoever asks next.
            _ = try? await inFlight.value(for: flight, priority: request.priority) {
                [self] (urgency) async throws(Failure) -> Artifact in
                try await ask(for: request, key, urgency)
            }
        }
    }

    func hit(_ artifact: Artifact) -> Artifact {
        meters.add(artifact.isStale ? "hit_stale" : "hit_\(artifact.origin.rawValue)")
        return artifact
    }

    func remembered(_ failure: Failure) -> Failure {
        meters.add("remembered")
        return failure
    }
}
