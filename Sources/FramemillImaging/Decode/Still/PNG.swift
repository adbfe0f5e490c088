// PNG and the default image of an APNG. The chunks are walked by hand: that tells where the picture ends in a file
// whose animation may be long or broken, and what an animation's header says. libpng then gets only the chunks that
// make the picture, by its simplified API, whose jumps end inside it.
//
// Which picture an APNG's cover is: the default image (IDAT), animated or not. It is what the author chose for viewers
// without animation, and no fault in an animation chunk can cost it.

internal import CImage
internal import FramemillEngine
internal import FramemillMedia

enum PNGDecoding {
    static func facts(_ source: SourceBytes) throws(Failure) -> StillHeader {
        let chunks = try PNGChunks(source, headerOnly: true)
        return (chunks.facts, chunks.orientation)
    }

    static func decode(_ source: SourceBytes) throws(Failure) -> StillPicture {
        let chunks = try PNGChunks(source, headerOnly: false)
        try source.stop.check(.decode)
        var facts = chunks.facts
        var (bitmap, whole) = try read(chunks)
        facts.degraded = !whole
        // Rows that never came are transparent, whatever the file's own format.
        bitmap.hasAlpha = facts.alpha || !whole
        return StillPicture(bitmap: bitmap, orientation: chunks.orientation, facts: facts)
    }

    private static func read(_ chunks: PNGChunks) throws(Failure) -> (bitmap: Bitmap, whole: Bool) {
        var image = unsafe png_image()
        unsafe image.version = UInt32(PNG_IMAGE_VERSION)
        // Frees what libpng hangs on the struct, also after a failure.
        defer { unsafe png_image_free(&image) }
        return try unsafe chunks.stream.lending { bytes throws(Failure) in
            // libpng reads these bytes until `png_image_free`, which runs after this closure but reads none of them.
            guard unsafe png_image_begin_read_from_memory(&image, bytes.baseAddress, bytes.count) != 0 else {
                throw unsafe failure(image)
            }
            guard unsafe Int(image.width) == chunks.width, unsafe Int(image.height) == chunks.height else {
                throw Failure(.corrupt, .decode, "the PNG has two headers that differ")
            }
            unsafe image.format = UInt32(PNG_FORMAT_FLAG_COLOR) | UInt32(PNG_FORMAT_FLAG_ALPHA)
            // Without this libpng takes 16-bit files that say nothing of gamma to be linear; they never are.
            unsafe image.flags |= UInt32(PNG_IMAGE_FLAG_16BIT_sRGB)
            var pixels = [UInt8](repeating: 0, count: chunks.width * chunks.height * 4)
            // The stride 0 means rows without padding: exactly what was allocated.
            let done = unsafe pixels.withUnsafeMutableBytes {
                unsafe png_image_finish_read(&image, nil, $0.baseAddress, 0, nil)
            }
            // libpng wrote the rows before the fault: those are right, and worth more than a refusal.
            guard done != 0 || pixels.contains(where: { $0 != 0 }) else { throw unsafe failure(image) }
            return (
                Bitmap(width: chunks.width, height: chunks.height, pixels: pixels, hasAlpha: true), done != 0
            )
        }
    }

    private static func failure(_ image: png_image) -> Failure {
        // A fixed array of the struct that libpng ends with a zero.
        let words = unsafe withUnsafeBytes(of: image.message) {
            unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        return Failure(.corrupt, .decode, "libpng could not decode the PNG", cause: words)
    }
}

/// The chunks of a PNG as far as its default image goes (PNG specification, second edition, chapter 11).
private struct PNGChunks {
    private(set) var width = 0
    private(set) var height = 0
    private(set) var orientation = 1
    /// A complete PNG of the default image alone.
    private(set) var stream: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    private var depth = 0
    private var colorType = 0
    private var isTransparent = false
    private var frames: Int?
    private var hasData = false

    /// Chunks that change the default image's pixels. The rest would only give libpng more to trip over.
    private static let kept: Set<String> = ["IHDR", "PLTE", "tRNS", "gAMA", "sRGB", "cHRM", "IDAT"]

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
                if type == "IDAT" { append(type, body) }
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
        append("IEND", [])
    }

    private mutating func read(_ type: String, _ body: [UInt8], _ limits: Limits) throws(Failure) {
        switch type {
        case "IHDR":
            guard body.count >= 13 else { throw Failure(.corrupt, .probe, "the PNG's header is too short") }
            func big32(_ offset: Int) -> Int { body[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }
            (width, height) = (big32(0), big32(4))
            (depth, colorType) = (Int(body[8]), Int(body[9]))
            try Still.admit(width: width, height: height, limits: limits)
        case "tRNS": isTransparent = true
        // Only in front of the picture does it announce an animation.
        case "acTL" where !hasData && body.count >= 8:
            let count = body[0..<4].reduce(0) { $0 << 8 | Int($1) }
            if count > 0 { frames = count }
        default: break
        }
    }

    private mutating func append(_ type: String, _ body: ArraySlice<UInt8>) {
        func big32(_ value: UInt32) -> [UInt8] {
            (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
        }
        let tagged = Array(type.utf8) + body
        stream += big32(UInt32(body.count)) + tagged + big32(Self.checksum(tagged))
    }

    /// CRC-32 as annex D of the PNG specification gives it; only for the one chunk that was cut and for `IEND`.
    private static func checksum(_ bytes: [UInt8]) -> UInt32 {
        var crc: UInt32 = 0xFFFF_FFFF
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return ~crc
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
        return facts
    }
}
