// A span of a video as an animation. The cover's own search says where it begins; a second pass over the container then
// decodes from the key frame before that on. So the first picture is decoded twice, of the dozens that follow.
//
// One thread decodes, the one that called, and others encode meanwhile what it has decoded before. Not libav's frame
// threads: they know nothing of permits, and in a list of spans a core has another span to decode.

internal import FramemillEngine
internal import FramemillMedia

struct VideoSpan {
    let recipe: Recipe
    let animated: Recipe.Animated
    let limits: Limits
    let crew: Crew
    let stop: Stop

    /// Small pictures: half of them being encoded, half being decoded.
    private static let windowBytes = 8 << 20
    /// Few, for a span has dozens; but enough for every core to have one to encode.
    private var windowFrames: Int { max(8, crew.width) }
    /// Timestamps are rounded to the stream's own unit: half a millisecond is none.
    private static let slack = 0.0005

    /// Gives the pictures from the cover's on to `assembly`, and adds to `facts` what that took. The container is looked at
    /// as far as it was for the cover: where its clock starts depends on it.
    /// - Returns: the milliseconds at which the last is over, or `nil` where there are none.
    func run(
        _ reader: any ByteReader, _ cover: Decoded, _ facts: inout Facts,
        into assembly: inout AnimationAssembly
    ) throws(Failure) -> Int? {
        let container = try Container(reader, limits: limits, thorough: cover.isThorough, stop: stop)
        guard let index = container.video else { return nil }
        return try walk(container, index, &facts, into: &assembly)
    }

    private func walk(
        _ container: borrowing Container, _ index: Int, _ facts: inout Facts,
        into assembly: inout AnimationAssembly
    ) throws(Failure) -> Int? {
        var source = try PictureStream(
            container.input, stream: index, alpha: container.hasAlphaSideChannel(index),
            showDamaged: facts.degraded)
        let clock = StreamClock(container.input, index)
        let picture = try AVPicture()
        let period = 1 / max(1, facts.frameRate ?? 25)
        var thinner = FrameThinner(
            maxFramesPerSecond: animated.maxFramesPerSecond ?? Recipe.Animated.videoFramesPerSecond)
        var base: Double?
        var (clean, last) = (0, 0.0)
        var isThere = try reach(facts.timeUsed ?? 0, &source, clock, into: picture)
        let whole = facts
        /// `nil` behind the end.
        func window() throws(Failure) -> [TimedPicture]? {
            var pictures: [TimedPicture] = []
            while isThere, pictures.count < windowFrames, Self.bytes(pictures) < Self.windowBytes / 2 {
                crew.giveWay()
                // A stream without times runs at its rate.
                let time = clock.time(of: picture) ?? Double(clean) * period
                clean += 1
                if time + Self.slack >= whole.timeUsed ?? 0 {
                    let begin = base ?? time
                    base = begin
                    if time - begin + Self.slack >= animated.seconds {
                        isThere = false
                        break
                    }
                    last = max(last, time - begin)
                    let start = Int((last * 1000).rounded())
                    if thinner.keeps(start), let bitmap = try shrink(picture, container, index, whole) {
                        pictures.append(TimedPicture(start: start, bitmap: bitmap))
                    }
                }
                isThere = try source.next(into: picture)
            }
            return pictures.isEmpty ? nil : pictures
        }
        try assembly.addAll(window)
        facts.framesDecoded += source.picturesDecoded
        guard base != nil else { return nil }
        return Int((min(animated.seconds, last + period) * 1000).rounded())
    }

    /// The first clean picture that is not behind `start`. A seek can land too late (transport streams, damaged key
    /// frames): then further back.
    private func reach(
        _ start: Double, _ source: inout PictureStream, _ clock: StreamClock,
        into picture: borrowing AVPicture
    ) throws(Failure) -> Bool {
        guard start > 0 else { return try source.next(into: picture) }
        for back in [0, 2, 10] where start > Double(back) {
            guard source.seek(toTimestamp: clock.timestamp(start - Double(back))) else { break }
            guard try source.next(into: picture) else { continue }
            if (clock.time(of: picture) ?? 0) <= start + Self.slack { return true }
        }
        _ = source.seek(toTimestamp: clock.origin)
        return try source.next(into: picture)
    }

    /// Upright and at the size of the whole; `nil` for a picture that would have another one, in a stream that changes
    /// its shape.
    private func shrink(
        _ picture: borrowing AVPicture, _ container: borrowing Container, _ index: Int, _ facts: Facts
    ) throws(Failure) -> Bitmap? {
        var own = facts
        let aspect = container.aspect(of: index, picture)
        own.add(picture, aspect: aspect)
        try VideoDecoder.ask(limits, width: own.storedWidth, height: own.storedHeight)
        let plan = Plan(
            storedWidth: own.storedWidth, storedHeight: own.storedHeight, aspect: aspect,
            orientation: facts.orientation, recipe: recipe)
        guard (plan.width, plan.height) == (facts.width, facts.height) else { return nil }
        return try PictureConverter.shrink(
            picture, plan: plan, orientation: facts.orientation, toPlanes: false
        ).upright(orientation: facts.orientation).bitmap
    }

    private static func bytes(_ pictures: [TimedPicture]) -> Int {
        pictures.reduce(0) { $0 + $1.bitmap.pixels.count }
    }
}
