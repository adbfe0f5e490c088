internal import FramemillEngine
public import FramemillMedia

/// One opened animation: what is known of it, its frames in order, and any one of them. Holds the source for as long as
/// it lives, and no thread while nobody asks.
public final class Animation: Sendable {
    /// Known before a pixel is decoded.
    public let facts: AnimationFacts
    private let decoder: any AnimationDecoder
    private let pool: AnimationPool

    init(_ decoder: any AnimationDecoder, _ pool: AnimationPool) {
        facts = decoder.facts
        self.decoder = decoder
        self.pool = pool
    }

    /// The frames from the first to the last, decoded ahead within `Configuration.animationWindowBytes`. Each iteration
    /// is a playing of its own, from the start.
    public var frames: AnimationFrames { AnimationFrames(decoder, pool) }

    /// One frame, equal to the one that `frames` gives. What it is drawn on is decoded for it, from the last frame
    /// before that depends on none.
    /// - Throws: `badOption` for an index that is not there, `timeout` at `Limits.deadline`, `cancelled`, `closed`.
    public func frame(at index: Int) async throws(Failure) -> AnimationFrame {
        try await pool.decodeOne(index == 0) { [decoder] crew, stop throws(Failure) in
            try decoder.frame(at: index, crew: crew, stop: stop)
        }
    }
}
