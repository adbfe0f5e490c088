// The story of one picture: sniff, ask Limits, decode, plan, transform, encode. Bytes come in through a reader and go
// out finished; nothing here knows a network, a cache or a file.

public import FramemillEngine
public import FramemillMedia

/// Decodes in this process, on the thread that calls.
public struct Imaging: Renderer {
    public init() { VideoDecoder.silence }

    public func render(
        _ reader: any ByteReader, recipe: Recipe, limits: Limits, crew: Crew, stop: Stop
    ) throws(Failure) -> Artifact {
        if let animated = recipe.animated,
            let moving = try moving(reader, animated, recipe, limits: limits, crew: crew, stop: stop)
        {
            return moving
        }
        var timer = StageTimer()
        var picture = try picture(
            reader, recipe: recipe, limits: limits, stop: stop, toPlanes: recipe.format == .jpeg, &timer)
        try stop.check(.encode)
        // Both from the same sketch: which format was asked for must not change a placeholder.
        let sketch = picture.small.sketch
        picture.facts.thumbHash = Base64.text(ThumbHash.hash(sketch))
        picture.facts.dominantColor = DominantColor.hex(sketch)
        timer.lap("transform")
        let bytes = try Encoder.encode(picture.small, recipe: recipe)
        guard !bytes.isEmpty else { throw Failure(.internalError, .encode, "the encoder gave no bytes") }
        timer.lap("encode")
        picture.facts.format = recipe.format.rawValue
        picture.facts.byteCount = bytes.count
        Self.account(&picture.facts, reader, timer)
        return Artifact(bytes: bytes, facts: picture.facts, origin: .made)
    }

    /// The finished picture before it is encoded: upright, at its final size; `toPlanes` as JPEG keeps it, where it can.
    func picture(
        _ reader: any ByteReader, recipe: Recipe, limits: Limits, stop: Stop, toPlanes: Bool = false,
        _ timer: inout StageTimer
    ) throws(Failure) -> Decoded {
        let head = try Self.head(of: reader)
        timer.lap("fetch")
        var picture =
            switch try Self.format(head) {
            case .container:
                try VideoDecoder(recipe: recipe, limits: limits, stop: stop, toPlanes: toPlanes)
                    .decode(reader, head, &timer)
            case let format:
                try Self.still(format, reader, recipe, limits, stop, &timer)
            }
        picture.small = picture.small.upright(orientation: picture.facts.orientation)
        (picture.facts.width, picture.facts.height) = picture.small.size
        timer.lap("transform")
        return picture
    }

    public func probe(_ reader: any ByteReader, limits: Limits, stop: Stop) throws(Failure) -> Facts {
        var timer = StageTimer()
        let head = try Self.head(of: reader)
        var recipe = Recipe()
        recipe.at = .first
        var facts: Facts
        switch try Self.format(head) {
        case .container:
            facts = try VideoDecoder(recipe: recipe, limits: limits, stop: stop, isProbe: true).decode(
                reader, head, &timer
            )
            .facts
        case let format:
            let (found, orientation) = try Still.facts(format, reader, limits: limits, stop: stop)
            facts = found
            Self.place(&facts, orientation, recipe)
        }
        Self.account(&facts, reader, timer)
        return facts
    }

    public func animation(
        _ reader: any ByteReader, limits: Limits, stop: Stop
    ) throws(Failure) -> any AnimationDecoder {
        let format = try Self.format(try Self.head(of: reader))
        switch format {
        case .gif: return FrameDecoder(try GIFAnimation(reader, limits: limits, stop: stop), limits: limits)
        case .webp: return FrameDecoder(try WebPAnimation(reader, limits: limits, stop: stop), limits: limits)
        case .png: return FrameDecoder(try APNGAnimation(reader, limits: limits, stop: stop), limits: limits)
        case .jpeg, .avif: return try StillAnimation(format, reader, limits: limits, stop: stop)
        case .container:
            throw Failure(
                .notSupported, .probe,
                "frames are taken from GIF, WebP, APNG and stills; a video or song gives one picture: "
                    + "cover(for:), framemill cover --at SECONDS")
        default: throw Still.refusal(format)
        }
    }

    private static func still(
        _ format: Format, _ reader: any ByteReader, _ recipe: Recipe, _ limits: Limits, _ stop: Stop,
        _ timer: inout StageTimer
    ) throws(Failure) -> Decoded {
        let still = try Still.decode(format, reader, limits: limits, stop: stop, targetBox: target(recipe))
        timer.lap("decode")
        var facts = still.facts
        let plan = place(
            &facts, still.orientation, recipe, decoded: (still.bitmap.width, still.bitmap.height))
        try Still.admit(width: plan.width, height: plan.height, limits: limits)
        let bitmap = Resampler.resize(still.bitmap, plan: plan, orientation: still.orientation)
        return Decoded(small: .pixels(bitmap), facts: facts)
    }

    /// What a decoder may shrink to on its own: only where the whole picture is fitted, for a crop needs more.
    private static func target(_ recipe: Recipe) -> (width: Int, height: Int)? {
        guard recipe.mode == .fit else { return nil }
        return switch recipe.box {
        case .native: nil
        case .longestSide(let side): (side, side)
        case .size(let width, let height): (max(width, height), max(width, height))
        }
    }

    /// Sets display size and turn; gives the plan for a picture decoded at `decoded`, which may be shrunk already.
    @discardableResult
    static func place(
        _ facts: inout Facts, _ orientation: Int, _ recipe: Recipe, decoded: (width: Int, height: Int)? = nil
    ) -> Plan {
        let whole = Plan(
            storedWidth: facts.storedWidth, storedHeight: facts.storedHeight, aspect: (1, 1),
            orientation: orientation, recipe: recipe)
        facts.orientation = orientation
        (facts.rotation, facts.mirrored) = Geometry.words(orientation)
        facts.displayWidth = whole.displayWidth
        facts.displayHeight = whole.displayHeight
        guard let decoded else { return whole }
        var plan = whole
        let across = Double(decoded.width) / Double(facts.storedWidth)
        let down = Double(decoded.height) / Double(facts.storedHeight)
        (plan.cropX, plan.cropWidth) = (whole.cropX * across, whole.cropWidth * across)
        (plan.cropY, plan.cropHeight) = (whole.cropY * down, whole.cropHeight * down)
        return plan
    }

    /// The first bytes: enough for every signature, and for the boxes at the front of an mp4.
    static func head(of reader: any ByteReader) throws(Failure) -> [UInt8] {
        var head = [UInt8](repeating: 0, count: 4096)
        var filled = 0
        while filled < head.count {
            let start = filled
            let got = try unsafe head.lendingMutable { room throws(Failure) in
                // The rest of `head`, for the length of this call.
                try unsafe reader.read(
                    at: Int64(start), into: UnsafeMutableRawBufferPointer(rebasing: room[start...]))
            }
            if got == 0 { break }
            filled += got
        }
        return Array(head[..<filled])
    }

    static func format(_ head: [UInt8]) throws(Failure) -> Format {
        switch Format.sniff(head) {
        case .empty: throw Failure(.empty, .probe, "the source has no bytes")
        case .text:
            throw Failure(
                .notMedia, .probe,
                "the source is text (a page, a playlist or a script), not a video or picture")
        case .container where head.starts(with: Array("GIF".utf8)):
            throw Failure(.notMedia, .probe, "a GIF signature of an unknown version")
        case let format: return format
        }
    }

    static func account(_ facts: inout Facts, _ reader: any ByteReader, _ timer: StageTimer) {
        facts.durationText = facts.duration.map(Facts.clock(seconds:))
        let cost = reader.cost
        facts.bytesRead = cost.bytes
        facts.requests = cost.requests
        facts.peakBytes = StageTimer.peakBytes
        facts.milliseconds = timer.finished()
    }
}

/// A picture at its final size, not yet turned upright.
struct Decoded {
    var small: SmallPicture
    var facts: Facts
    /// Of a video: its header alone did not say enough.
    var isThorough = false

    var bitmap: Bitmap { small.bitmap }
}
