public import Framemill
internal import FoundationEssentials
internal import FramemillEngine

/// Where finished pictures go.
public protocol Sink: Sendable {
    /// Puts one in its place, whole or not at all. Twice the same is harmless.
    /// - Returns: where it is, for the outcome; `nil` where it has no place of its own.
    /// - Throws: `writeFailed`, after which the job is tried again.
    func put(_ artifact: Artifact, for job: Job) async throws(Failure) -> String?
}

/// The cache alone: whoever wants the picture asks a `Framemill` that shares it.
public struct CacheSink: Sink {
    public init() {}
    public func put(_ artifact: Artifact, for job: Job) async throws(Failure) -> String? { nil }
}

/// A bucket that many machines share.
public struct BucketSink: Sink {
    private let store: ObjectStore
    private let limit: Duration

    /// - Parameter address: `s3://BUCKET/PREFIX?endpoint=URL&region=NAME&style=path|virtual`.
    /// - Throws: `badOption`.
    public init(_ address: String, _ configuration: Configuration) throws(Failure) {
        let environment = ProcessInfo.processInfo.environment
        store = try ObjectStore(
            try ObjectStore.Address(address, environment: environment), sender: try Sender(configuration),
            environment: environment)
        limit = configuration.limits.deadline
    }

    public func put(_ artifact: Artifact, for job: Job) async throws(Failure) -> String? {
        let type = "image/\(job.recipe.format.rawValue)"
        try await store.put(artifact.bytes, as: job.fileName, type: type, stop: Stop(after: limit))
        return store.displayName(of: job.fileName)
    }
}

extension Job {
    /// 16 hex digits of the URL and the recipe, as in the manifest of `framemill batch`.
    package var pictureKey: String {
        Digest.hex(Digest.sha256(Array("\(request.canonicalURL)\n\(recipe.canonical)".utf8)).prefix(8))
    }

    /// A name by key: equal pictures have equal names, others never.
    package var fileName: String { "\(pictureKey).\(recipe.format.fileExtension)" }
}
