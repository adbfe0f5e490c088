public import FramemillEngine
@_exported public import FramemillMedia

/// Covers for URLs: fetched, decoded, shrunk, encoded and cached, once each.
///
/// ```swift
/// let mill = try Framemill(renderer: Imaging())
/// var recipe = Recipe()
/// recipe.box = .longestSide(480)
/// let cover = try await mill.cover(for: Request("https://example.org/clip.mp4", recipe: recipe))
/// ```
public final class Framemill: Sendable {
    public static let version = "0.1.0"

    private let pipeline: Pipeline

    /// - Throws: `badOption` when `allowNet` holds something that is no network, or `ignoredQuery` what is no name.
    public convenience init(
        _ configuration: Configuration = Configuration(), renderer: any Renderer
    ) throws(Failure) {
        try self.init(configuration, renderer: renderer, clock: .system)
    }

    package init(
        _ configuration: Configuration, renderer: any Renderer, clock: WallClock,
        engine: EngineVersions = .current
    ) throws(Failure) {
        pipeline = try Pipeline(configuration, renderer, clock: clock, engine: engine)
    }

    /// The cover, from memory, from disk, or made now. Equal requests at one time share one computation, which ends
    /// early only when the last of them is cancelled.
    /// - Throws: any `Failure` of the source, `timeout` at `Limits.deadline`, `cancelled`, `closed`.
    public func cover(for request: Request) async throws(Failure) -> Artifact {
        try await pipeline.cover(for: request)
    }

    /// The cover, if memory holds one that may be served without asking the source: what `cover(for:)` would give at once.
    /// `nil` otherwise, also once closed, and then only `cover(for:)` can tell why.
    ///
    /// For whoever must not wait, such as a view that is being drawn: it makes no system call and, for a URL in its
    /// canonical form (host in lower case, a path, no default port, no fragment), no allocation. A path on this machine is
    /// the exception: its file may have been overwritten, which takes one `stat` on the caller's thread to see.
    ///
    /// ```swift
    /// if let cover = mill.cached(request) { show(cover) } else { show(try await mill.cover(for: request)) }
    /// ```
    public func cached(_ request: Request) -> Artifact? { pipeline.cached(request) }

    /// Facts of a source; nothing is made or cached.
    public func probe(_ request: Request) async throws(Failure) -> Facts {
        try await pipeline.probe(request)
    }

    /// Opens a GIF, an animated WebP, an APNG, or a still picture as an animation of one frame. Its index is read, no
    /// pixel is decoded. Over the network the file is kept on disk, without a name, for as long as the animation lives.
    ///
    /// ```swift
    /// let animation = try await mill.animation(at: "https://example.org/cat.gif")
    /// for try await frame in animation.frames { show(frame.bitmap, for: frame.delay) }
    /// ```
    ///
    /// - Parameters:
    ///   - mirrors: other places of the same bytes, tried in order when one before is dead.
    ///   - priority: of opening and of the first frame; the frames behind it have the next lower one.
    /// - Throws: any `Failure` of the source, `notSupported` for a video, `timeout` at `Limits.deadline`, `cancelled`,
    ///   `closed`.
    public func animation(
        at url: String, mirrors: [String] = [], priority: Priority = .interactive
    ) async throws(Failure) -> Animation {
        try await pipeline.animation(for: Request(url, mirrors: mirrors, priority: priority))
    }

    /// In order of completion, each with the index of its request. Ending the iteration early cancels the rest.
    public func covers(for requests: [Request]) -> AsyncStream<
        (index: Int, outcome: Result<Artifact, Failure>)
    > {
        AsyncStream { continuation in
            let work = Task { [pipeline] in
                await withTaskGroup(of: Void.self) { group in
                    for (index, request) in requests.enumerated() {
                        group.addTask {
                            let outcome: Result<Artifact, Failure>
                            do throws(Failure) {
                                outcome = .success(try await pipeline.cover(for: request))
                            } catch {
                                outcome = .failure(error)
                            }
                            continuation.yield((index, outcome))
                        }
                    }
                }
                continuation.finish()
            }
            continuation.onTermination = { _ in work.cancel() }
        }
    }

    /// Makes covers that nobody waits for yet, behind everything that somebody does. Failures are forgotten: the
    /// later `cover(for:)` tells them.
    public func prefetch(_ requests: [Request]) {
        for var request in requests {
            request.priority = max(request.priority, .prefetch)
            let wish = request
            Task { [pipeline] in try? await pipeline.cover(for: wish) }
        }
    }

    /// Counts since the start: `made`, `failed`, `hit_memory`, `hit_disk`, `requests`, `cache_write_failed`…
    public var meters: [String: Int] { pipeline.counts }

    /// Who waits for the source to be asked for this.
    package func waiting(for request: Request) async throws(Failure) -> Int {
        try await pipeline.waiting(for: request)
    }

    /// Jobs that wait to be let in.
    package var waitingAtTheGate: Int { pipeline.source.gate.waiting }

    /// Threads that have work and wait for a permit to compute.
    package var waitingForPermits: Int { pipeline.source.permits.waiting }

    /// Refuses what is new, lets what runs finish, and frees threads and connections.
    public func close() async { await pipeline.close() }
}
