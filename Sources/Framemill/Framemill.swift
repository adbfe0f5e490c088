@_exported public import FramemillMedia
public import FramemillEngine

/// Covers for URLs: fetched, decoded, shrunk, encoded and cached, once each.
public final class Framemill: Sendable {
    public static let version = "0.1.0"

    public init(_ configuration: Configuration = Configuration(), renderer: any Renderer) throws(Failure) {
        throw Failure(.internalError, .input, "not built yet")
    }

    public func cover(for request: Request) async throws(Failure) -> Artifact {
        throw Failure(.internalError, .input, "not built yet")
    }

    /// Facts of a source; nothing is cached.
    public func probe(_ request: Request) async throws(Failure) -> Facts {
        throw Failure(.internalError, .input, "not built yet")
    }

    /// In order of completion, each with the index of its request.
    public func covers(for requests: [Request]) -> AsyncStream<(index: Int, outcome: Result<Artifact, Failure>)> {
        AsyncStream { $0.finish() }
    }

    /// Makes covers nobody waits for yet, at low priority.
    public func prefetch(_ requests: [Request]) {}

    /// Lets what runs finish, refuses what is new, and frees threads and files.
    public func close() async {}
}
