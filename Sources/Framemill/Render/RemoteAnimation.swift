// An animation that decoder processes read. What is known of it is here: its facts, its bytes, and the canvas that the
// next frame is drawn on. A decoder gives the pixels of frames as the file has them, inflated; drawing them on canvases is
// done here, by code of our own that does the same for all formats: what crosses is a quarter of the canvases, or less,
// and the decoder is at the next frame meanwhile. A decoder that has the animation open is asked if it has nothing else to
// do; any other one opens it again, so that no process is held while nobody asks, and a crash of one loses nothing.

internal import FramemillBorder
internal import FramemillCanvas
internal import FramemillEngine
internal import FramemillMedia

final class RemoteAnimation: AnimationDecoder {
    let facts: AnimationFacts
    private let pool: DecoderPool
    private let reader: any ByteReader
    private let limits: Limits
    private let session: Int
    private let compositor: Compositor

    init(
        _ facts: AnimationFacts, _ pool: DecoderPool, _ reader: any ByteReader, _ limits: Limits, session: Int
    ) {
        self.facts = facts
        self.pool = pool
        self.reader = reader
        self.limits = limits
        self.session = session
        compositor = Compositor(facts)
    }

    func frames(
        from place: inout AnimationPlace, windowBytes: Int, crew: Crew, stop: Stop
    ) throws(Failure) -> [AnimationFrame] {
        guard place.next < facts.frameCount else { return [] }
        var job = job(.frames)
        job.index = place.next
        // Each with its canvas, and the pixels that it is drawn from: an index or four bytes each.
        let frameBytes = facts.canvasBytes + facts.canvasBytes / (facts.container == "gif" ? 4 : 1)
        job.count = max(1, min(64, min(windowBytes, Self.usefulBytes) / frameBytes))
        let drawing = Drawing(facts, compositor, from: place, most: job.count, crew)
        do throws(Failure) {
            let whole = try pool.perform(
                job, [reader], crew: crew, stop: stop, mostFrames: 1, drawing: drawing,
                admits: { [self, job] head in head.index == job.index && admits(head) }
            ) { _, frames -> [AnimationFrame]? in
                drawing.draw()
                return drawing.frames.isEmpty && frames.isEmpty ? nil : frames
            }
            // A still picture comes as it is.
            guard whole.isEmpty else {
                place.next += 1
                return whole
            }
        } catch {
            drawing.draw()
            // What came before it is good; who goes on from there meets it again.
            if drawing.frames.isEmpty || stop.isOver { throw error }
        }
        place = drawing.place
        return drawing.frames
    }

    func frame(at index: Int, crew: Crew, stop: Stop) throws(Failure) -> AnimationFrame {
        guard facts.frames.indices.contains(index) else {
            throw Failure(
                .badOption, .input, "frame \(index) is not there: the animation has \(facts.frameCount)")
        }
        var job = job(.frame)
        job.index = index
        return try pool.perform(
            job, [reader], crew: crew, stop: stop, mostFrames: 1,
            admits: { [self] head in head.index == index && admits(head) }
        ) { _, frames in frames.first }
    }

    /// More at a time gains nothing once both sides are at work, and new memory for more canvases costs.
    private static let usefulBytes = 4 << 20

    private func job(_ act: Job.Act) -> Job {
        var job = Job(act)
        (job.limits, job.session) = (limits, session)
        return job
    }

    private func admits(_ head: FrameHead) -> Bool {
        facts.frames.indices.contains(head.index) && head.delay == facts.frames[head.index].delay
            && (head.picture.width, head.picture.height) == (facts.width, facts.height)
    }
}
