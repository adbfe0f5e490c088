public import FramemillEngine
public import FramemillMedia

/// An animation of bare frames for tests of those that play it: it notes what it is asked, and a test can hold it in
/// the middle. Its parts are done by the crew, like those of a real one.
public final class ScriptedAnimation: AnimationDecoder {
    public struct Step: Sendable, Equatable {
        public var first: Int
        public var windowBytes: Int
        public var deadline: ContinuousClock.Instant
    }

    public let facts: AnimationFacts
    public let steps = Record<Step>()
    /// Frames begun, in their order of start.
    public let begun = Record<Int>()
    private let hold: @Sendable (Int) -> Void
    private let failing: (frame: Int, failure: Failure)?
    private let freed: Record<String>?

    /// - Parameters:
    ///   - hold: called as each frame begins, on the thread that decodes it.
    ///   - freed: gets a word when nobody has the animation any more.
    public init(
        frames: Int, side: Int = 10, failing: (frame: Int, failure: Failure)? = nil,
        freed: Record<String>? = nil,
        hold: @escaping @Sendable (Int) -> Void = { _ in }
    ) {
        var facts = AnimationFacts(container: "gif", width: side, height: side, plays: 1)
        facts.frames = Array(
            repeating: FrameFacts(
                rawDelay: 20, left: 0, top: 0, width: side, height: side, disposal: .keep, blend: .source),
            count: frames)
        self.facts = facts
        self.failing = failing
        self.freed = freed
        self.hold = hold
    }

    deinit { freed?.note("animation") }

    public func frames(
        from place: inout AnimationPlace, windowBytes: Int, crew: Crew, stop: Stop
    ) throws(Failure) -> [AnimationFrame] {
        let first = place.next
        steps.note(Step(first: first, windowBytes: windowBytes, deadline: stop.deadline))
        let count = min(max(1, windowBytes / facts.canvasBytes), facts.frameCount - first)
        let problems = Record<Failure>()
        crew.each(count) { [self] part in
            do throws(Failure) {
                try stop.check(.decode)
                begun.note(first + part)
                hold(first + part)
                if let failing, failing.frame == first + part { throw failing.failure }
            } catch {
                problems.note(error)
            }
        }
        if let failure = problems.all.first { throw failure }
        place.next += count
        return (first..<first + count).map(frame)
    }

    public func frame(at index: Int, crew: Crew, stop: Stop) throws(Failure) -> AnimationFrame {
        for part in 0...index {
            crew.each(1) { [self] _ in
                begun.note(part)
                hold(part)
            }
        }
        return frame(index)
    }

    private func frame(_ index: Int) -> AnimationFrame {
        AnimationFrame(
            index: index, delay: 20, bitmap: Bitmap(width: facts.width, height: facts.height), isWhole: true)
    }
}

/// Opens animations by the file's only byte, its place in the list.
public final class ScriptedRenderer: Renderer {
    private let open: @Sendable (Int) -> ScriptedAnimation

    public init(_ open: @escaping @Sendable (Int) -> ScriptedAnimation) { self.open = open }

    public func animation(
        _ reader: any ByteReader, limits: Limits, stop: Stop
    ) throws(Failure) -> any AnimationDecoder {
        var byte: UInt8 = 0
        let count = try Self.read(reader, &byte)
        guard count == 1 else { throw Failure(.empty, .probe, "no byte") }
        return open(Int(byte))
    }

    private static func read(_ reader: any ByteReader, _ byte: inout UInt8) throws(Failure) -> Int {
        var outcome: Result<Int, Failure> = .success(0)
        // One byte, which outlives the call.
        unsafe withUnsafeMutableBytes(of: &byte) { room in
            do throws(Failure) { outcome = .success(try unsafe reader.read(at: 0, into: room)) } catch {
                outcome = .failure(error)
            }
        }
        return try outcome.get()
    }

    public func render(
        _ reader: any ByteReader, recipe: Recipe, limits: Limits, crew: Crew, stop: Stop
    ) throws(Failure) -> Artifact {
        throw Failure(.notSupported, .decode, "only animations")
    }

    public func probe(_ reader: any ByteReader, limits: Limits, stop: Stop) throws(Failure) -> Facts {
        throw Failure(.notSupported, .probe, "only animations")
    }
}
