// An animation to a smaller one: a window of frames is decoded and thinned while the one before is resized and written,
// so memory does not grow with their number.

internal import FramemillEngine
internal import FramemillMedia

struct AnimationResize {
    let animated: Recipe.Animated
    let plan: Plan
    let crew: Crew
    let stop: Stop

    /// Canvases at the source's size: half of them being resized, half being decoded.
    static let windowBytes = 16 << 20

    /// Gives every frame that is kept to `assembly`; returns the milliseconds at which the last is over.
    func run(
        _ decoder: any AnimationDecoder, into assembly: inout AnimationAssembly
    ) throws(Failure) -> Int {
        var place = AnimationPlace()
        var thinner = FrameThinner(maxFramesPerSecond: animated.maxFramesPerSecond)
        var (clock, isWhole) = (0, true)
        /// `nil` behind the last frame.
        func window() throws(Failure) -> [TimedPicture]? {
            try stop.check(.decode)
            let frames = try decoder.frames(
                from: &place, windowBytes: Self.windowBytes / 2, crew: crew, stop: stop)
            var kept: [TimedPicture] = []
            for frame in frames {
                isWhole = isWhole && frame.isWhole
                if thinner.keeps(clock) {
                    kept.append(TimedPicture(start: clock, bitmap: frame.bitmap, isWhole: isWhole))
                    isWhole = true
                }
                clock += frame.delay
            }
            return frames.isEmpty ? nil : kept
        }
        try assembly.addAll(resizedBy: plan, window)
        return clock
    }
}
