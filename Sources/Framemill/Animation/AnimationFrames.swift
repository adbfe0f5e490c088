internal import FramemillEngine
public import FramemillMedia

/// The frames of an animation, in order.
///
/// Cancelling the task that iterates, or dropping the iterator, ends the decoding within one frame. A failure ends the
/// iteration.
public struct AnimationFrames: AsyncSequence, Sendable {
    public typealias Element = AnimationFrame
    public typealias Failure = FramemillMedia.Failure

    private let decoder: any AnimationDecoder
    private let pool: AnimationPool

    init(_ decoder: any AnimationDecoder, _ pool: AnimationPool) {
        self.decoder = decoder
        self.pool = pool
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(Playback(decoder, pool)) }

    public struct AsyncIterator: AsyncIteratorProtocol {
        public typealias Element = AnimationFrame
        public typealias Failure = FramemillMedia.Failure

        private let playback: Playback

        fileprivate init(_ playback: Playback) { self.playback = playback }

        /// - Throws: `timeout` when one window takes more than `Limits.deadline`, `cancelled`, `closed`, or what the
        ///   source fails with.
        public mutating func next() async throws(Failure) -> AnimationFrame? { try await playback.next() }

        public mutating func next(
            isolation actor: isolated (any Actor)?
        ) async throws(Failure) -> AnimationFrame? {
            try await playback.next()
        }
    }
}
