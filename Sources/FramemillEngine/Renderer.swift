public import FramemillMedia

/// Bytes in, finished picture out. The border behind which decoders live: in this process, or in one of their own.
///
/// Both calls block and compute; run them on a lane's thread that holds a permit.
public protocol Renderer: Sendable {
    func render(
        _ reader: any ByteReader, recipe: Recipe, limits: Limits, stop: Stop
    ) throws(Failure) -> Artifact

    /// The facts alone; no picture is encoded, and none decoded where the container says enough.
    func probe(_ reader: any ByteReader, limits: Limits, stop: Stop) throws(Failure) -> Facts
}
