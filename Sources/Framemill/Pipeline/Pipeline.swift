// The story of one cover: key, cache, in flight, lease, gate, fetch, render, store. `Kept` decides what is served,
// `SourceReader` asks, `Keeper` remembers.

internal import FramemillEngine
internal import FramemillMedia
internal import Synchronization

final class Pipeline: Sendable {
    let meters = Meters()
    let configuration: Configuration
    private let renderer: any Renderer
    let clock: WallClock
    let keeper: Keeper
    let source: SourceReader
    /// `nil` where nothing is shared with other processes.
    private let leases: Leases?
    let inFlight = InFlight<Flight, Artifact>()
    private let play: Lane<Void>
    private let isClosed = Atomic<Bool>(false)

    init(
        _ configuration: Configuration, _ renderer: any Renderer, clock: WallClock,
        engine: EngineVersions = .current
    ) throws(Failure) {
        self.configuration = configuration
        self.renderer = renderer
        self.clock = clock
        let cache = TwoLevelCache(
            directory: configuration.cacheDirectory, memoryBytes: configuration.memoryCacheBytes,
            diskBytes: configuration.diskCacheBytes, diskEntries: configuration.diskCacheEntries,
            meters: meters, accepts: { !engine.isOlder($0) })
        let fetcher = try Fetcher(configuration, meters: meters, now: { clock.seconds })
        keeper = Keeper(
            cache, clock, configuration.limits, ignoring: fetcher.ignoredQuery, engine: engine)
        leases = configuration.cacheDirectory.map { Leases(folder: $0, width: min(configuration.jobs, 64)) }
        let permits = Permits(count: configuration.permits)
        source = SourceReader(
            configuration: configuration, clock: clock,
            fetcher: fetcher, hosts: HostGates(width: configuration.perHost),
            sources: SourceStore(configuration, fetcher.ignoredQuery, meters),
            gate: Gate(width: configuration.jobs), permits: permits,
            // A thread for each admitted job, up to 64: most wait for bytes, and only `permits` of them compute. And
            // some for first frames, which nobody admits.
            decode: Lane("decode", width: max(1, min(configuration.jobs, 64)) + permits.count) { () },
            meters: meters)
        // Frames behind the first wait for no bytes, so they need no more threads than can compute; and threads of
        // their own, or they would hold all of those that first frames and covers need.
        play = Lane("play", width: permits.count) { () }
    }

    func cover(for request: Request) async throws(Failure) -> Artifact {
        try refuseWhenClosed()
        let known = keyAtOnce(request)
        if let known, let artifact = served(known, request) { return artifact }
        let key = if let known { known } else { try await key(for: request.url, request.recipe) }
        switch keeper.verdict(await keeper.kept(for: key), request) {
        case .serve(let artifact): return hit(artifact)
        case .refuse(let failure): throw remembered(failure)
        case .serveAndAsk(let artifact):
            askBehind(request, key)
            return hit(artifact)
        case .ask: break
        }
        return try await shared(request, key)
    }

    /// One at a time for each key, if possible of all processes: asks the source, unless somebody just has.
    func ask(
        for request: Request, _ key: CacheKey, _ urgency: Urgency
    ) async throws(Failure) -> Artifact {
        let kept = await keeper.kept(for: key)
        if let answer = try unasked(kept, request) { return answer }
        guard let leases else { return try await refresh(kept, request, key, urgency) }
        let isAlone = await leases.take(key, within: configuration.limits.deadline)
        defer { if isAlone { leases.give(key) } }
        let latest = kept.newer(await keeper.keptOnDisk(for: key))
        if let answer = try unasked(latest, request) { return answer }
        return try await refresh(latest, request, key, urgency)
    }

    /// Whoever missed just before another call finished must not ask again. `nil` when the source is to be asked.
    private func unasked(_ kept: Kept, _ request: Request) throws(Failure) -> Artifact? {
        switch keeper.verdict(kept, request) {
        case .serve(let artifact): return hit(artifact)
        case .refuse(let failure): throw remembered(failure)
        case .serveAndAsk, .ask: return nil
        }
    }

    /// Makes a cover, unless the source confirms the one that is kept. Where the source fails, an old one may do.
    private func refresh(
        _ kept: Kept, _ request: Request, _ key: CacheKey, _ urgency: Urgency
    ) async throws(Failure) -> Artifact {
        var places = try await places(of: request, key, kept)
        do throws(Failure) {
            let outcome = try await make(request, &places, urgency)
            switch outcome {
            case .confirmed(let index):
                meters.add("confirmed")
                return try await confirm(kept, places[index], request, key)
            case .read(let artifact, let index):
                meters.add("made")
                await keep(artifact, places, index)
                return artifact
            }
        } catch {
            meters.add("failed")
            if [.cancelled, .closed].contains(error.reason) { throw error }
            for place in places { await keeper.note(place) }
            guard error.mayPass || places.contains(where: { $0.failure?.mayPass ?? false }),
                let old = kept.standIn(clock.seconds)
            else { throw error }
            return hit(old)
        }
    }

    private func make(
        _ request: Request, _ places: inout [Candidate], _ urgency: Urgency
    ) async throws(Failure) -> SourceReader.Outcome<Artifact> {
        let crew = Crew(source.decode, permits: source.permits, urgency: urgency)
        return try await source.read(&places, urgency) {
            [renderer, configuration] reader, stop throws(Failure) in
            let isStill = request.recipe.animated == nil
            return try renderer.render(
                isStill ? reader : try KeptReader.keepingAnimations(of: reader), recipe: request.recipe,
                limits: configuration.limits, crew: crew, stop: stop)
        }
    }

    /// Who waits for the source to be asked for this.
    func waiting(for request: Request) async throws(Failure) -> Int {
        inFlight.waiting(for: Flight(try await key(for: request.url, request.recipe), request))
    }

    func probe(_ request: Request) async throws(Failure) -> Facts {
        try refuseWhenClosed()
        return try await reading(request) { [renderer, configuration] reader, stop throws(Failure) in
            try renderer.probe(reader, limits: configuration.limits, stop: stop)
        }
    }

    func animation(for request: Request) async throws(Failure) -> Animation {
        try refuseWhenClosed()
        let decoder = try await reading(request) { [renderer, configuration] reader, stop throws(Failure) in
            let limits = configuration.limits
            if reader.isLocal { return try renderer.animation(reader, limits: limits, stop: stop) }
            let kept = try KeptReader(reader)
            let decoder = try renderer.animation(kept, limits: limits, stop: stop)
            try kept.keepRest()
            return decoder
        }
        return Animation(
            decoder,
            AnimationPool(
                decode: source.decode, play: play, permits: source.permits,
                deadline: configuration.limits.deadline,
                windowBytes: configuration.animationWindowBytes, priority: request.priority))
    }

    /// Where nothing is kept.
    private func reading<Value: Sendable>(
        _ request: Request, _ work: @escaping @Sendable (any ByteReader, Stop) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        var places = ([request.url] + request.mirrors).map { Candidate($0, request.reuse) }
        guard case .read(let value, _) = try await source.read(&places, Urgency(request.priority), work)
        else { throw Failure(.internalError, .fetch, "a source confirmed what nobody knew") }
        return value
    }

    var isOver: Bool { isClosed.load(ordering: .acquiring) }

    private func refuseWhenClosed() throws(Failure) {
        if isOver { throw Failure(.closed, .input, "framemill is closed") }
    }

    /// Ends the threads after what runs has finished.
    func close() async {
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        source.decode.close()
        play.close()
        keeper.cache.close()
        source.sources?.close()
        source.fetcher.close()
    }
}
