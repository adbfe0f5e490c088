internal import FramemillEngine
internal import FramemillMedia

/// A JPEG or a still AVIF as an animation of one frame, upright: formats that hold no more.
struct StillAnimation: AnimationDecoder {
    let facts: AnimationFacts
    private let format: Format
    private let reader: any ByteReader
    private let limits: Limits

    init(_ format: Format, _ reader: any ByteReader, limits: Limits, stop: Stop) throws(Failure) {
        let (header, orientation) = try Still.facts(format, reader, limits: limits, stop: stop)
        guard !header.animated else {
            throw Failure(
                .notSupported, .probe,
                "the frames of AVIF sequences are not taken apart; a cover of the first can be made")
        }
        let isTurned = Geometry.swapsSides(orientation)
        let width = isTurned ? header.storedHeight : header.storedWidth
        let height = isTurned ? header.storedWidth : header.storedHeight
        var facts = AnimationFacts(container: format.rawValue, width: width, height: height, plays: 1)
        facts.frames = [
            FrameFacts(
                rawDelay: 0, left: 0, top: 0, width: width, height: height, disposal: .keep, blend: .source)
        ]
        self.facts = facts
        self.format = format
        self.reader = reader
        self.limits = limits
    }

    func frames(
        from place: inout AnimationPlace, windowBytes: Int, crew: Crew, stop: Stop
    ) throws(Failure) -> [AnimationFrame] {
        guard place.next == 0 else { return [] }
        let frame = try frame(at: 0, crew: crew, stop: stop)
        place.next = 1
        return [frame]
    }

    func frame(at index: Int, crew: Crew, stop: Stop) throws(Failure) -> AnimationFrame {
        guard index == 0 else {
            throw Failure(.badOption, .input, "frame \(index) is not there: a still picture has one, 0")
        }
        let picture = try Still.decode(format, reader, limits: limits, stop: stop, targetBox: nil)
        return AnimationFrame(
            index: 0, delay: facts.frames[0].delay,
            bitmap: Geometry.upright(picture.bitmap, orientation: picture.orientation),
            isWhole: !picture.facts.degraded)
    }
}
