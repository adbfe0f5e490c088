internal import Framemill
internal import FramemillEngine
internal import FramemillImaging
internal import FramemillMedia
internal import FramemillQueue

/// What reads bytes that strangers wrote. Each takes any bytes and ends; what it must keep to beside that is a
/// `precondition`.
enum Target: String, CaseIterable {
    /// The format by its first bytes.
    case sniff
    /// A URL and its canonical form.
    case url
    /// A job's JSON.
    case job
    /// The index of a GIF, its codes and its canvases; WebP and APNG where the bytes say so.
    case animation
    /// A cover of whatever it is: demuxers, decoders, transform, encoder.
    case cover

    /// Longer inputs teach nothing new, and cost time.
    var mostBytes: Int {
        switch self {
        case .sniff: 64
        case .url: 512
        case .job: 4096
        case .animation: 64 << 10
        case .cover: 256 << 10
        }
    }

    func take(_ bytes: [UInt8]) {
        switch self {
        case .sniff: _ = Format.sniff(bytes)
        case .url: Self.url(String(decoding: bytes, as: UTF8.self))
        case .job: Self.job(String(decoding: bytes, as: UTF8.self))
        case .animation: Self.animation(bytes)
        case .cover: Self.cover(bytes)
        }
    }

    private static func url(_ text: String) {
        let canonical = Request(text).canonicalURL
        // That of a file is a path, in which a space at the end is one; in a URL it is nothing.
        if canonical.hasPrefix("http") {
            let again = Request(canonical).canonicalURL
            precondition(again == canonical, "\(canonical) has another canonical form: \(again)")
        }
        do throws(Failure) {
            try Request.check(text)
            try Request.check(canonical)
        } catch {
            // What is refused stays refused however it is written.
            precondition(error.reason.fault == .caller, "a URL is nobody else's fault")
        }
    }

    private static func job(_ text: String) {
        // A refusal is an answer.
        guard let job = try? Job(json: text) else { return }
        let written = job.json
        guard let again = try? Job(json: written) else { preconditionFailure("a job can't read itself") }
        precondition(again.json == written, "a job reads itself as another one")
    }

    /// Small enough for thousands of inputs a second.
    private static var limits: Limits {
        var limits = Limits()
        (limits.pixelsPerFrame, limits.frames, limits.totalPixels) = (1 << 18, 64, 1 << 21)
        (limits.scanFrames, limits.scanBytes, limits.streams) = (8, 1 << 20, 8)
        return limits
    }

    private static func animation(_ bytes: [UInt8]) {
        let stop = Stop(after: .seconds(20))
        guard let decoder = try? Imaging().animation(MemoryReader(bytes), limits: limits, stop: stop) else {
            return
        }
        let facts = decoder.facts
        var place = AnimationPlace()
        var frames: [AnimationFrame] = []
        // A failure ends it.
        while let more = try? decoder.frames(from: &place, windowBytes: 1 << 20, crew: .alone, stop: stop),
            !more.isEmpty
        { frames += more }
        precondition(frames.count <= facts.frameCount, "more frames than the index has")
        for frame in frames {
            precondition(frame.bitmap.pixels.count == facts.canvasBytes, "a frame of another size")
        }
        // The one with most before it.
        guard let last = frames.last, let alone = try? decoder.frame(at: last.index, crew: .alone, stop: stop)
        else { return }
        precondition(alone == last, "a frame alone is another one than in order")
    }

    private static func cover(_ bytes: [UInt8]) {
        let stop = Stop(after: .seconds(20))
        var recipe = Recipe()
        recipe.box = .size(width: 64, height: 64)
        // A failure is an answer.
        guard
            let made = try? Imaging().render(
                MemoryReader(bytes), recipe: recipe, limits: limits, stop: stop)
        else { return }
        precondition(
            !made.bytes.isEmpty && made.facts.width > 0 && made.facts.height > 0, "a picture of nothing")
    }
}
