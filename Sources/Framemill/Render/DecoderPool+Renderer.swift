internal import FramemillBorder
public import FramemillEngine
public import FramemillMedia

extension DecoderPool: FrameRenderer {
    public func render(
        _ reader: any ByteReader, recipe: Recipe, limits: Limits, crew: Crew, stop: Stop
    ) throws(Failure) -> Artifact {
        var job = Job(.render)
        (job.recipe, job.limits) = (recipe, limits)
        return try perform(job, [reader], crew: crew, stop: stop) { fields, _ in
            var (facts, bytes) = (Facts(), [UInt8]())
            fields.pass(&facts)
            fields.pass(&bytes)
            guard Self.isRight(facts, bytes, recipe) else { return nil }
            Self.account(&facts, reader)
            return Artifact(bytes: bytes, facts: facts, origin: .made)
        }
    }

    public func probe(_ reader: any ByteReader, limits: Limits, stop: Stop) throws(Failure) -> Facts {
        var job = Job(.probe)
        job.limits = limits
        return try perform(job, [reader], crew: .alone, stop: stop) { fields, _ in
            var facts = Facts()
            fields.pass(&facts)
            Self.account(&facts, reader)
            return facts
        }
    }

    public func animation(
        _ reader: any ByteReader, limits: Limits, stop: Stop
    ) throws(Failure) -> any AnimationDecoder {
        var job = Job(.open)
        (job.limits, job.session) = (limits, draw())
        let facts = try perform(job, [reader], crew: .alone, stop: stop) { fields, _ -> AnimationFacts? in
            var facts = AnimationFacts(container: "", width: 0, height: 0, plays: 0)
            fields.pass(&facts)
            return Self.isRight(facts, limits) ? facts : nil
        }
        return RemoteAnimation(facts, self, reader, limits, session: job.session)
    }

    public func fit(_ bitmap: Bitmap, into box: Recipe.Box, stop: Stop) throws(Failure) -> Bitmap {
        var job = Job(.fit)
        (job.recipe.box, job.bitmap) = (box, Job.Picture(bitmap))
        return try perform(
            job, Self.sources(bitmap), crew: .alone, stop: stop, mostFrames: 1,
            admits: { head in
                (1...bitmap.width).contains(head.picture.width)
                    && (1...bitmap.height).contains(head.picture.height)
            }
        ) { _, frames in frames.first?.bitmap }
    }

    public func encode(_ bitmap: Bitmap, recipe: Recipe, stop: Stop) throws(Failure) -> [UInt8] {
        var job = Job(.encode)
        (job.recipe, job.bitmap) = (recipe, Job.Picture(bitmap))
        return try perform(job, Self.sources(bitmap), crew: .alone, stop: stop) { fields, _ in
            var bytes: [UInt8] = []
            fields.pass(&bytes)
            return Self.isRight(bytes, recipe) ? bytes : nil
        }
    }

    /// What is read is the second one: there is nothing to decode.
    private static func sources(_ bitmap: Bitmap) -> [any ByteReader] {
        [MemoryReader([]), MemoryReader(bitmap.pixels)]
    }

    /// The decoder knows what it asked for, not what that cost.
    private static func account(_ facts: inout Facts, _ reader: any ByteReader) {
        let cost = reader.cost
        (facts.bytesRead, facts.requests) = (cost.bytes, cost.requests)
    }

    private static func isRight(_ facts: Facts, _ bytes: [UInt8], _ recipe: Recipe) -> Bool {
        facts.width > 0 && facts.height > 0 && facts.byteCount == bytes.count
            && facts.format == recipe.format.rawValue && isRight(bytes, recipe)
    }

    /// Whether it starts as the format that was asked for does.
    private static func isRight(_ bytes: [UInt8], _ recipe: Recipe) -> Bool {
        let format: Format =
            switch recipe.format {
            case .jpeg: .jpeg
            case .png: .png
            case .webp: .webp
            }
        return Format.sniff(Array(bytes.prefix(64))) == format
    }

    private static func isRight(_ facts: AnimationFacts, _ limits: Limits) -> Bool {
        guard facts.width > 0, facts.height > 0, !facts.frames.isEmpty else { return false }
        let (pixels, isOver) = facts.width.multipliedReportingOverflow(by: facts.height)
        guard !isOver, pixels <= limits.pixelsPerFrame, facts.frames.count <= limits.frames else {
            return false
        }
        // Drawing relies on these: no rectangle begins before its canvas, and sums of them are numbers.
        let sides = 0...1 << 30
        return facts.frames.allSatisfy { frame in
            sides.contains(frame.left) && sides.contains(frame.top) && sides.contains(frame.width)
                && sides.contains(frame.height) && frame.delay > 0
        }
    }
}
