extension Recipe {
    /// How a moving result is made: an animated WebP from an animation or from a span of a video. What does not move
    /// gives a still one.
    public struct Animated: Sendable, Hashable {
        /// The result ends before it would have more frames than this; `nil`: all of them.
        public var maxFrames: Int?
        /// Frames beyond this rate, on average over the whole, are left out and the one before is shown for longer.
        /// `nil`: an animation keeps its frames, a video gives `videoFramesPerSecond`.
        public var maxFramesPerSecond: Double?
        /// Every pixel as it was resized, instead of `quality`.
        public var lossless: Bool = false
        /// How much of a video is taken, from the moment `at` on. An animation is taken whole.
        public var seconds: Double = 3

        /// A video's rate where none is asked for: it looks smooth, and is half the bytes of a film's 24.
        public static let videoFramesPerSecond = 12.0

        public init() {}
    }
}
