// PNG and the default image of an APNG. The chunks are walked by hand: that tells where the picture ends in a file
// whose animation may be long or broken, and what an animation's header says. libpng then gets only the chunks that
// make the picture, by its simplified API, whose jumps end inside it.
//
// Which picture an APNG's cover is: the default image (IDAT), animated or not. It is what the author chose for viewers
// without animation, and no fault in an animation chunk can cost it.

internal import FramemillEngine
internal import FramemillMedia

enum PNGDecoding {
    static func facts(_ source: SourceBytes) throws(Failure) -> StillHeader {
        let chunks = try PNGChunks(source, headerOnly: true)
        var facts = chunks.facts
        count(into: &facts, source)
        return (facts, chunks.orientation)
    }

    static func decode(_ source: SourceBytes) throws(Failure) -> StillPicture {
        let chunks = try PNGChunks(source, headerOnly: false)
        try source.stop.check(.decode)
        var facts = chunks.facts
        let (pixels, isWhole) = try PNGStream.decode(
            chunks.stream, width: chunks.width, height: chunks.height)
        facts.degraded = !isWhole
        // Rows that never came are transparent, whatever the file's own format.
        let bitmap = Bitmap(
            width: chunks.width, height: chunks.height, pixels: pixels, hasAlpha: facts.alpha || !isWhole)
        count(into: &facts, source)
        return StillPicture(bitmap: bitmap, orientation: chunks.orientation, facts: facts)
    }

    /// The frames that are really there, and their time. A far source is not read on for that: its frames are then as
    /// many as it announces.
    private static func count(into facts: inout Facts, _ source: SourceBytes) {
        guard facts.container == "apng", source.isLocal else { return }
        // An animation that can't be indexed costs the cover nothing, not even the count that was announced.
        guard let index = try? APNGIndex(source.reader, limits: source.limits, stop: source.stop) else {
            return
        }
        facts.frameCount = index.facts.frameCount
        facts.animated = index.facts.animated
        let milliseconds = index.facts.frames.reduce(0) { $0 + $1.rawDelay }
        if facts.animated, milliseconds > 0 { facts.duration = milliseconds / 1000 }
        facts.pictureUsed = !facts.animated ? nil : index.records[0].isDefault ? .firstFrame : .defaultImage
    }
}

/// The chunks of a PNG as far as its default image goes (PNG specification, second edition, chapter 11).
private struct PNGChunks {
    private(set) var width = 0
    private(set) var height = 0
    private(set) var orientation = 1
    /// A complete PNG of the default image alone.
    private(set) var stream = PNGStream.signature
    private var depth = 0
    private var colorType = 0
    private var isTransparent = false
    private var frames: Int?
    /// A frame control that fits stands in front of the picture: the picture is the first frame.
    private var isFrame = false
    private var hasData = false

    private static let kept = PNGStream.colorChunks.union(["IHDR", "IDAT"])

    init(_ source: SourceBytes, headerOnly: Bool) throws(Failure) {
        guard try source.fill(to: 33) else {
            throw Failure(.truncatedHeader, .probe, "the PNG ends inside its header")
        }
        var offset = 8
        var sawFrameControl = false
        var sawOrphan = false
        while true {
            guard try source.fill(to: offset + 8) else { break }
            let (length, type) = (source.big32(offset), source.tag(offset + 4))
            if (offset == 8) != (type == "IHDR") {
                throw Failure(.corrupt, .probe, "the PNG's chunks are not in order")
            }
            if headerOnly && type == "IDAT" || type == "IEND" { break }
            // Behind an APNG's picture only the animation follows; it may be megabytes. A still one may yet have EXIF.
            if hasData, type != "IDAT", frames != nil {
                sawOrphan = type == "fdAT" && !sawFrameControl
                break
            }
            guard length <= 0x7FFF_FFFF else {
                throw Failure(.corrupt, .probe, "a PNG chunk of \(length) bytes")
            }
            let isWhole = try source.fill(to: offset + 12 + length)
            let body = source.bytes[offset + 8..<min(offset + 8 + length, source.bytes.count)]
            if type == "IDAT" { hasData = true }
            guard isWhole else {
                // The file ends here: what came of the picture still makes rows.
                if type == "IDAT" { PNGStream.append(type, body, to: &stream) }
                break
            }
            try read(type, Array(body.prefix(64)), source.limits)
            if type == "fcTL" { sawFrameControl = true }
            if type == "eXIf" { orientation = Exif.orientation(block: body) }
            if Self.kept.contains(type) { stream += source.bytes[offset..<offset + 12 + length] }
            offset += 12 + length
        }
        guard headerOnly || hasData else { throw Failure(.corrupt, .probe, "the PNG has no picture data") }
        // Frame data that no frame control announces is no animation that was broken on its way: no viewer takes it.
        if sawOrphan { throw Failure(.corrupt, .probe, "the PNG has animation data but no frame") }
        PNGStream.append("IEND", [], to: &stream)
    }

    private mutating func read(_ type: String, _ body: [UInt8], _ limits: Limits) throws(Failure) {
        switch type {
        case "IHDR":
            guard body.count >= 13 else { throw Failure(.corrupt, .probe, "the PNG's header is too short") }
            (width, height) = (Self.big32(body, 0), Self.big32(body, 4))
            (depth, colorType) = (Int(body[8]), Int(body[9]))
            try Still.admit(width: width, height: height, limits: limits)
        case "tRNS": isTransparent = true
        // Only in front of the picture does it announce an animation.
        case "acTL" where !hasData && body.count >= 8:
            let count = Self.big32(body, 0)
            // PNG's numbers end at 2^31 - 1.
            if (1...0x7FFF_FFFF).contains(count) { frames = count }
        case "fcTL" where !hasData && body.count == 26:
            isFrame = Self.big32(body, 4) == width && Self.big32(body, 8) == height
        default: break
        }
    }

    private static func big32(_ body: [UInt8], _ offset: Int) -> Int {
        PNGWalker.big32(body[...], offset)
    }

    var facts: Facts {
        var facts = Facts()
        facts.container = frames == nil ? "png" : "apng"
        facts.codec = facts.container
        facts.storedWidth = width
        facts.storedHeight = height
        let deep = depth == 16
        facts.pixelFormat =
            switch colorType {
            case 0: depth == 1 ? "monob" : deep ? "gray16be" : "gray"
            case 2: deep ? "rgb48be" : "rgb24"
            case 3: "pal8"
            case 4: deep ? "ya16be" : "ya8"
            case 6: deep ? "rgba64be" : "rgba"
            default: nil
            }
        facts.alpha = colorType == 4 || colorType == 6 || isTransparent
        facts.frameCount = frames ?? 1
        facts.animated = (frames ?? 1) > 1
        if facts.animated { facts.pictureUsed = isFrame ? .firstFrame : .defaultImage }
        return facts
    }
}
