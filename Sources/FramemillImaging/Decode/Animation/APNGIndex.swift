// What the chunks of a PNG say of its animation (PNG specification, third edition, sections 11.3.4 and 13.9.3). The
// animation is an extra of the default image: no fault in it costs the picture that every viewer can show.
//
// Where files break the rules, and who does what:
//   - a default image that no frame control (fcTL) stands in front of: not a frame, as everywhere;
//   - a leading frame control that is not of the whole picture: as if it weren't there (the specification forbids it);
//   - an animation control (acTL) behind the picture, with no frames or with 2^31 of them and more: a still picture, as
//     in browsers and Pillow;
//   - fewer frames than announced: those that are there, as in browsers and ffmpeg; more: those announced, as in
//     browsers and Pillow;
//   - a frame control without data: the animation ends before it, as in Pillow and apngdis (Chromium leaves the frame
//     out, Firefox counts it);
//   - a frame past the picture's edge, of no size, or with an unknown operation: the same, as in browsers, ffmpeg and
//     Pillow;
//   - sequence numbers that repeat, begin late or skip: the order in the file counts, as in ffmpeg and apngdis
//     (Chromium refuses some, Firefox drops frames). But data that continues a frame and is too far ahead belongs to a
//     frame whose control was lost: the animation ends there, as in browsers;
//   - the file ends inside a frame: the frames before it (browsers draw a part of the last);
//   - checksums of frame data: not asked, as in ffmpeg and apngdis; libpng asks those of the default image;
//   - no frame at all: the default image is the one frame.

internal import FramemillEngine
internal import FramemillMedia

/// Where a frame's data chunks lie in the file.
struct APNGRecord: Sendable {
    var start: Int64
    var end: Int64
    /// The default image: IDAT, not fdAT.
    var isDefault: Bool
}

struct APNGIndex: Sendable {
    private(set) var facts: AnimationFacts
    private(set) var records: [APNGRecord] = []
    /// What each frame's own PNG has of the file's header: depth, colour type and the three bytes behind them.
    private(set) var format: ArraySlice<UInt8>
    /// The chunks that tell the colours, as they stand.
    private(set) var colors: [UInt8] = []
    private(set) var isOpaque: Bool

    private let limits: Limits
    private var announced: Int?
    private var picture: APNGRecord?
    /// The frame that the last control announced, and its data so far.
    private var control: FrameFacts?
    private var data: APNGRecord?
    private var sawControl = false
    private var sequence = 0

    init(_ reader: any ByteReader, limits: Limits, stop: Stop) throws(Failure) {
        var walker = PNGWalker(reader, stop: stop)
        guard let header = try walker.next(), header.isWhole else {
            throw Failure(.truncatedHeader, .probe, "the PNG ends inside its header")
        }
        guard header.type == "IHDR", header.count >= 13 else {
            throw Failure(.corrupt, .probe, "the PNG does not begin with its header")
        }
        let body = try walker.body(of: header, prefix: 13)
        let (width, height) = (PNGWalker.big32(body, 0), PNGWalker.big32(body, 4))
        try Still.admit(width: width, height: height, limits: limits)
        self.limits = limits
        facts = AnimationFacts(container: "png", width: width, height: height, plays: 1)
        format = body.suffix(5)
        // Grey, colour and palette; those with alpha are 4 and 6.
        isOpaque = format.dropFirst().first.map { $0 & 4 == 0 } ?? false
        while let chunk = try walker.next() {
            guard try take(chunk, &walker) else { break }
            if !chunk.isWhole { break }
        }
        try finish()
        try close()
    }

    /// `false` where nothing more is to be looked at.
    private mutating func take(_ chunk: PNGChunk, _ walker: inout PNGWalker) throws(Failure) -> Bool {
        switch chunk.type {
        case "IDAT": extendPicture(chunk)
        case "IEND": return false
        // Behind a still picture there is nothing for us.
        case _ where picture != nil && announced == nil: return false
        case "acTL" where picture == nil && announced == nil && chunk.count >= 8:
            let body = try walker.body(of: chunk, prefix: 8)
            let count = PNGWalker.big32(body, 0)
            guard (1...0x7FFF_FFFF).contains(count), body.count == 8 else { return true }
            announced = count
            facts.container = "apng"
            facts.rawLoop = PNGWalker.big32(body, 4)
            facts.plays = PNGWalker.big32(body, 4)
        case "fcTL": return try begin(walker.body(of: chunk, prefix: 27))
        case "fdAT": return try extendFrame(chunk, walker.body(of: chunk, prefix: 4))
        case _ where picture == nil && chunk.isWhole && PNGStream.colorChunks.contains(chunk.type):
            // All of them together have some 1,100 bytes.
            guard colors.count + chunk.count < 4096 else { return true }
            if chunk.type == "tRNS" { isOpaque = false }
            PNGStream.append(chunk.type, try walker.body(of: chunk, prefix: chunk.count), to: &colors)
        default: break
        }
        return true
    }

    private mutating func extendPicture(_ chunk: PNGChunk) {
        // Behind the animation's first data, picture data belongs to nothing.
        guard data == nil || data?.isDefault == true, records.isEmpty else { return }
        if picture == nil { picture = APNGRecord(start: chunk.start - 8, end: 0, isDefault: true) }
        picture?.end = chunk.end
        if !chunk.isWhole { facts.partial = true }
        if control != nil, announced != nil { data = picture }
    }

    /// A frame control: ends the frame before it.
    private mutating func begin(_ body: ArraySlice<UInt8>) throws(Failure) -> Bool {
        let isMissing = picture != nil && control != nil && data == nil
        try finish()
        // What follows a frame that is missing would be drawn on the wrong one; more than was announced is for nobody.
        if isMissing || records.count == announced { return false }
        sawControl = true
        check(sequence: PNGWalker.big32(body, 0))
        guard let frame = frame(body) else {
            facts.partial = true
            return picture == nil
        }
        let isWholePicture = frame.width == facts.width && frame.height == facts.height
        // In front of the picture it can only mean the picture.
        guard picture != nil || isWholePicture else {
            facts.partial = true
            return true
        }
        control = frame
        return true
    }

    private mutating func extendFrame(
        _ chunk: PNGChunk, _ number: ArraySlice<UInt8>
    ) throws(Failure) -> Bool {
        guard picture != nil, number.count == 4 else {
            facts.partial = true
            return picture == nil
        }
        // No viewer takes this, for it is no animation that was broken on its way.
        guard sawControl else {
            throw Failure(.corrupt, .probe, "the PNG has animation data but no frame")
        }
        let isAhead = PNGWalker.big32(number, 0) > sequence
        check(sequence: PNGWalker.big32(number, 0))
        guard control != nil, data?.isDefault != true, data == nil || !isAhead else {
            facts.partial = true
            return false
        }
        guard chunk.isWhole else {
            (control, data) = (nil, nil)
            facts.partial = true
            return false
        }
        if data == nil { data = APNGRecord(start: chunk.start - 8, end: 0, isDefault: false) }
        data?.end = chunk.end
        return true
    }

    private mutating func check(sequence number: Int) {
        if number != sequence { facts.partial = true }
        sequence = number + 1
    }

    /// Sequence number, width, height, left, top, delay as a fraction, disposal, blending.
    private func frame(_ body: ArraySlice<UInt8>) -> FrameFacts? {
        guard body.count == 26 else { return nil }
        let at = body.startIndex
        let (width, height) = (PNGWalker.big32(body, 4), PNGWalker.big32(body, 8))
        let (left, top) = (PNGWalker.big32(body, 12), PNGWalker.big32(body, 16))
        guard width > 0, height > 0, left + width <= facts.width, top + height <= facts.height,
            body[at + 24] < 3, body[at + 25] < 2
        else { return nil }
        let disposals: [FrameFacts.Disposal] = [.keep, .background, .previous]
        let numerator = Int(body[at + 20]) << 8 | Int(body[at + 21])
        let denominator = Int(body[at + 22]) << 8 | Int(body[at + 23])
        // "If the denominator is 0, it is to be treated as if it were 100."
        let delay = Double(numerator * 1000) / Double(denominator == 0 ? 100 : denominator)
        return FrameFacts(
            rawDelay: delay, left: left, top: top, width: width, height: height,
            disposal: disposals[Int(body[at + 24])],
            blend: body[at + 25] == 0 ? .source : .over)
    }

    /// The frame of the last control, if it has data, becomes one of the index.
    private mutating func finish() throws(Failure) {
        defer { (control, data) = (nil, nil) }
        guard let control else { return }
        guard let data else {
            facts.partial = true
            return
        }
        guard records.count < limits.frames else {
            throw Failure(
                .tooLarge, .probe, "the PNG has more than \(limits.frames) frames (Limits.frames)")
        }
        records.append(data)
        facts.frames.append(control)
    }

    private mutating func close() throws(Failure) {
        guard let picture else { throw Failure(.corrupt, .probe, "the PNG has no picture data") }
        if let announced, records.count < announced { facts.partial = true }
        guard records.isEmpty else { return }
        records = [picture]
        facts.frames = [
            FrameFacts(
                rawDelay: 0, left: 0, top: 0, width: facts.width, height: facts.height, disposal: .keep,
                blend: .source)
        ]
    }
}
