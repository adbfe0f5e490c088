// An animation to a smaller one: a window of frames is decoded, thinned, resized and written before the next is looked
// at, so memory does not grow with their number.

internal import FramemillEngine
internal import FramemillMedia

struct AnimationResize {
    let animated: Recipe.Animated
    let plan: Plan
    let crew: Crew
    let stop: Stop

    /// Canvases that wait to be resized.
    static let windowBytes = 16 << 20

    /// Gives every frame that is kept to `assembly`; returns the milliseconds at which the last is over, and whether
    /// every frame was whole.
    func run(
        _ decoder: any AnimationDecoder, into assembly: inout AnimationAssembly
    ) throws(Failure) -> (end: Int, isWhole: Bool) {
        var place = AnimationPlace()
        var thinner = FrameThinner(maxFramesPerSecond: animated.maxFramesPerSecond)
        var (clock, isWhole) = (0, !decoder.facts.partial)
        while !assembly.isFull {
            try stop.check(.decode)
            let frames = try decoder.frames(
                from: &place, windowBytes: Self.windowBytes, crew: crew, stop: stop)
            if frames.isEmpty { break }
            var kept: [TimedPicture] = []
            for frame in frames {
                isWhole = isWhole && frame.isWhole
                if thinner.keeps(clock) { kept.append(TimedPicture(start: clock, bitmap: frame.bitmap)) }
                clock += frame.delay
            }
            try assembly.add(try resized(kept))
        }
        return (clock, isWhole)
    }

    private func resized(_ pictures: [TimedPicture]) throws(Failure) -> [TimedPicture] {
        let plan = plan
        return try crew.map(pictures.count) { index in
            let picture = pictures[index]
            return TimedPicture(
                start: picture.start, bitmap: Resampler.resize(picture.bitmap, plan: plan, orientation: 1))
        }
    }
}
