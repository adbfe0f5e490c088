public import FramemillEngine
public import FramemillMedia

/// Decodes in this process.
public struct Imaging: Renderer {
    public init() {}
    public func render(
        _ reader: any ByteReader, recipe: Recipe, limits: Limits, stop: Stop
    ) throws(Failure) -> Artifact { throw Failure(.internalError, .decode, "not built yet") }
    public func probe(_ reader: any ByteReader, limits: Limits, stop: Stop) throws(Failure) -> Facts {
        throw Failure(.internalError, .decode, "not built yet")
    }
}
