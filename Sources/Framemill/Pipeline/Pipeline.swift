// The story of one cover: key, cache, in flight, gate, fetch, render, store.

internal import FramemillEngine
internal import FramemillMedia
internal import Synchronization

final class Pipeline: Sendable {
    let meters = Meters()
    private let configuration: Configuration
    private let renderer: any Renderer
    private let fetcher: Fetcher
    private let cache: TwoLevelCache
    private let inFlight = InFlight<CacheKey, Artifact>()
    private let gate: Gate
    let permits: Permits
    private let decode: Lane<Void>
    private let play: Lane<Void>
    private let isClosed = Atomic<Bool>(false)

    init(_ configuration: Configuration, _ renderer: any Renderer) throws(Failure) {
        self.configuration = configuration
        self.renderer = renderer
        fetcher = try Fetcher(configuration, meters: meters)
        cache = TwoLevelCache(
            directory: configuration.cacheDirectory, memoryBytes: configuration.memoryCacheBytes,
            diskBytes: configuration.diskCacheBytes, diskEntries: configuration.diskCacheEntries,
            meters: meters)
        gate = Gate(width: configuration.jobs)
        permits = Permits(count: configuration.permits)
        // A thread for each admitted job, up to 64: most wait for bytes, and only `permits` of them compute. And some
        // for first frames, which nobody admits.
        decode = Lane("decode", width: max(1, min(configuration.jobs, 64)) + permits.count) { () }
        // Frames behind the first wait for no bytes, so they need no more threads than can compute; and threads of
        // their own, or they would hold all of those that first frames and covers need.
        play = Lane("play", width: permits.count) { () }
    }

    func cover(for request: Request) async throws(Failure) -> Artifact {
        try refuseWhenClosed()
        let key = try await key(for: request)
        if let hit = await cache.artifact(for: key, stop: Stop(after: configuration.limits.deadline)) {
            meters.add("hit_\(hit.origin.rawValue)")
            return hit
        }
        return try await inFlight.value(for: key) { [self] () async throws(Failure) -> Artifact in
            // Whoever missed just before another call finished must not make the same again.
            if let hit = cache.remembered(for: key) { return hit }
            do throws(Failure) {
                let made = try await make(request)
                meters.add("made")
                await cache.store(made, for: key, stop: Stop(after: configuration.limits.deadline))
                return made
            } catch {
                meters.add("failed")
                throw error
            }
        }
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
                decode: decode, play: play, permits: permits, deadline: configuration.limits.deadline,
                windowBytes: configuration.animationWindowBytes, priority: request.priority))
    }

    private func make(_ request: Request) async throws(Failure) -> Artifact {
        let crew = Crew(decode, permits: permits, priority: request.priority)
        return try await reading(request) { [renderer, configuration] reader, stop throws(Failure) in
            let source = request.recipe.animated == nil ? reader : try Self.readTwice(reader)
            return try renderer.render(
                source, recipe: request.recipe, limits: configuration.limits, crew: crew, stop: stop)
        }
    }

    /// An animation is read for its index and again for its frames: from far away it is kept in between, as long as it
    /// may be. A video finds its frames by its index and is read in parts.
    private static func readTwice(_ reader: any ByteReader) throws(Failure) -> any ByteReader {
        guard !reader.isLocal else { return reader }
        var got = 0
        var failure: Failure?
        let head = unsafe [UInt8](unsafeUninitializedCapacity: 16) { room, count in
            do throws(Failure) {
                // As many as were read, of the sixteen that there is room for.
                got = try unsafe reader.read(at: 0, into: UnsafeMutableRawBufferPointer(room))
            } catch {
                failure = error
            }
            count = got
        }
        if let failure { throw failure }
        return [.gif, .webp, .png].contains(Format.sniff(head)) ? try KeptReader(reader) : reader
    }

    /// The key names the first URL: mirrors are other ways to the same bytes, and come and go.
    private func key(for request: Request) async throws(Failure) -> CacheKey {
        let stop = Stop(after: configuration.limits.deadline)
        return CacheKey(
            canonicalURL: try await fetcher.identity(of: request.url, stop: stop), recipe: request.recipe)
    }

    /// Opens the source, or the first mirror that answers, and works on it with a thread and a permit. The deadline
    /// runs from admission on, so that a long queue fails nobody.
    private func reading<Value: Sendable>(
        _ request: Request, _ work: @escaping @Sendable (any ByteReader, Stop) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        guard await gate.enter() else {
            throw Failure(.cancelled, .input, "cancelled while it waited for its turn")
        }
        defer { gate.leave() }
        let stop = Stop(after: configuration.limits.deadline)
        var problem = Failure(.badURL, .input, "no URL")
        for (place, url) in ([request.url] + request.mirrors).enumerated() {
            do throws(Failure) {
                let reader = try await fetcher.open(
                    url, limits: configuration.limits, stop: stop, permits: permits,
                    priority: request.priority)
                return try await decode.run(priority: request.priority, stop: stop) {
                    [permits] _, stop throws(Failure) in
                    try permits.holding(priority: request.priority) { () throws(Failure) in
                        try work(reader, stop)
                    }
                }
            } catch {
                // The first place is the one that was asked for: its failure is the one to tell.
                if place == 0 { problem = error }
                if [.cancelled, .closed].contains(error.reason) || stop.isOver { throw error }
            }
        }
        throw problem
    }

    private func refuseWhenClosed() throws(Failure) {
        if isClosed.load(ordering: .acquiring) { throw Failure(.closed, .input, "framemill is closed") }
    }

    /// Ends the threads after what runs has finished.
    func close() async {
        guard !isClosed.exchange(true, ordering: .acquiringAndReleasing) else { return }
        decode.close()
        play.close()
        cache.close()
        fetcher.close()
    }
}
