public import FramemillMedia

/// Bytes in, finished picture out. The border behind which decoders live: in this process, or in one of their own.
///
/// All calls block and compute; run them on a lane's thread that holds a permit.
public protocol Renderer: Sendable {
    /// - Parameter crew: who may help with a moving result; a still one is made by the caller alone.
    func render(
        _ reader: any ByteReader, recipe: Recipe, limits: Limits, crew: Crew, stop: Stop
    ) throws(Failure) -> Artifact

    /// The facts alone; no picture is encoded, and none decoded where the container says enough.
    func probe(_ reader: any ByteReader, limits: Limits, stop: Stop) throws(Failure) -> Facts

    /// Reads the index of a GIF, animated WebP or APNG, or of a still one of these; no pixel is decoded.
    func animation(
        _ reader: any ByteReader, limits: Limits, stop: Stop
    ) throws(Failure) -> any AnimationDecoder
}

extension Renderer {
    /// `render` without help.
    public func render(
        _ reader: any ByteReader, recipe: Recipe, limits: Limits, stop: Stop
    ) throws(Failure) -> Artifact {
        try render(reader, recipe: recipe, limits: limits, crew: .alone, stop: stop)
    }
}

/// A renderer that also finishes frames which have been decoded.
public protocol FrameRenderer: Renderer {
    /// The whole of `bitmap`, fitted into `box`; never enlarged.
    func fit(_ bitmap: Bitmap, into box: Recipe.Box, stop: Stop) throws(Failure) -> Bitmap

    /// The file of one bitmap, by the format, quality, effort and background of `recipe`.
    /// - Throws: `badOption` for a quality or an effort that is not there, `notSupported` for a size that the format
    ///   can't hold.
    func encode(_ bitmap: Bitmap, recipe: Recipe, stop: Stop) throws(Failure) -> [UInt8]
}

/// One opened animation. Its calls block and compute, on a lane's thread that holds a permit; several threads may use
/// one at a time.
public protocol AnimationDecoder: Sendable {
    var facts: AnimationFacts { get }

    /// The frames from `place` on, in order, as many as keep within `windowBytes` of working memory but at least one;
    /// none at the end. `place` then stands behind them; after a failure it stands where it stood.
    func frames(
        from place: inout AnimationPlace, windowBytes: Int, crew: Crew, stop: Stop
    ) throws(Failure) -> [AnimationFrame]

    /// One frame, equal to the sequential one. Decodes from the last frame before it that depends on none.
    /// - Throws: `badOption` for an index that is not there.
    func frame(at index: Int, crew: Crew, stop: Stop) throws(Failure) -> AnimationFrame
}
