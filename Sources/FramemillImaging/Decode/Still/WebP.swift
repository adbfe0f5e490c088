// WebP, still and animated. The demuxer finds the first frame, the metadata and the frame count; the frame is then
// decoded straight into its place on the canvas, which is transparent where it does not reach.

internal import CImage
internal import FramemillEngine
internal import FramemillMedia

enum WebPDecoding {
    static func facts(_ source: SourceBytes) throws(Failure) -> StillHeader {
        let header = try WebPHeader(source)
        // Turn and frame count stand behind the pixels.
        guard header.hasMore else { return (header.facts, 1) }
        try source.fillAll()
        return try unsafe source.bytes.lending { bytes throws(Failure) in
            var facts = header.facts
            let container = try unsafe WebPContainer(bytes)
            container.describe(&facts)
            return (facts, container.orientation)
        }
    }

    static func decode(_ source: SourceBytes, targetBox: (width: Int, height: Int)?) throws(Failure)
        -> StillPicture
    {
        let header = try WebPHeader(source)
        try source.fillAll()
        try source.stop.check(.decode)
        return try unsafe source.bytes.lending { bytes throws(Failure) in
            var facts = header.facts
            let container = try unsafe WebPContainer(bytes)
            container.describe(&facts)
            guard container.width == header.width, container.height == header.height else {
                throw Failure(.corrupt, .decode, "the WebP names two sizes")
            }
            let orientation = container.orientation
            let size = facts.animated ? nil : scaled(header, orientation, targetBox)
            let bitmap = try container.decodeFirst(scaledTo: size, hasAlpha: facts.alpha)
            return StillPicture(bitmap: bitmap, orientation: orientation, facts: facts)
        }
    }

    /// The smallest size, in the picture's own shape, that covers twice the box: libwebp's shrink is a box filter, and
    /// the last halving belongs to the better one.
    private static func scaled(
        _ header: WebPHeader, _ orientation: Int, _ targetBox: (width: Int, height: Int)?
    ) -> (width: Int, height: Int)? {
        guard let box = targetBox, box.width > 0, box.height > 0 else { return nil }
        let (across, down) = orientation > 4 ? (box.height, box.width) : (box.width, box.height)
        let ratio = max(
            2 * Double(across) / Double(header.width), 2 * Double(down) / Double(header.height))
        guard ratio < 0.75 else { return nil }
        return (
            Int((Double(header.width) * ratio).rounded(.up)),
            Int((Double(header.height) * ratio).rounded(.up))
        )
    }
}

/// What the first few dozen bytes say.
struct WebPHeader {
    let width: Int
    let height: Int
    let facts: Facts
    /// The extended header announces EXIF or an animation.
    let hasMore: Bool

    init(_ source: SourceBytes) throws(Failure) {
        _ = try source.fill(to: 64)
        try Self.admitCanvas(source)
        var features = WebPBitstreamFeatures()
        func status() throws(Failure) -> VP8StatusCode {
            try unsafe source.bytes.lending { bytes throws(Failure) in
                // libwebp only reads, and only `count` bytes.
                unsafe WebPGetFeatures(
                    bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), bytes.count, &features)
            }
        }
        var code = try status()
        // Metadata in front of the pixels may push them further back.
        if code == VP8_STATUS_NOT_ENOUGH_DATA {
            try source.fillAll()
            code = try status()
        }
        guard code == VP8_STATUS_OK else { throw WebPContainer.failure(code) }
        width = Int(features.width)
        height = Int(features.height)
        try Still.admit(width: width, height: height, limits: source.limits)
        // The extended header's flags: 0x08 EXIF, 0x02 animation (WebP container specification).
        let isExtended = source.bytes.count > 20 && source.tag(12) == "VP8X"
        hasMore = isExtended && source.byte(20) & 0x0A != 0
        var facts = Facts()
        facts.container = "webp"
        facts.codec = features.format == 2 ? "webp-lossless" : "webp"
        facts.pixelFormat = features.format == 2 || features.has_alpha != 0 ? "argb" : "yuv420p"
        facts.alpha = features.has_alpha != 0
        facts.animated = features.has_animation != 0
        facts.storedWidth = width
        facts.storedHeight = height
        facts.frameCount = facts.animated ? nil : 1
        self.facts = facts
    }

    /// Asks about the canvas that an extended header names (24 bit each, less one) before libwebp judges the rest: a
    /// file may claim 16383 x 16383 and hold a picture of 4 x 4.
    private static func admitCanvas(_ source: SourceBytes) throws(Failure) {
        guard source.bytes.count >= 30, source.tag(12) == "VP8X" else { return }
        func little24(_ offset: Int) -> Int { source.little16(offset) | source.byte(offset + 2) << 16 }
        try Still.admit(width: little24(24) + 1, height: little24(27) + 1, limits: source.limits)
    }
}

/// libwebp's demuxer over bytes that the caller keeps in place.
@safe struct WebPContainer: ~Copyable {
    let demuxer: OpaquePointer
    /// The file ends early or is broken behind what could be read.
    let isPartial: Bool

    init(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
        var data = unsafe WebPData(
            bytes: bytes.baseAddress?.assumingMemoryBound(to: UInt8.self), size: bytes.count)
        var state = WEBP_DEMUX_PARSE_ERROR
        // The demuxer keeps the pointer; `bytes` outlives it, because both end with the caller's closure.
        guard let demuxer = unsafe WebPDemuxPartial(&data, &state), state.rawValue > 0 else {
            throw Failure(.corrupt, .decode, "the WebP's chunks are broken or cut short")
        }
        unsafe self.demuxer = demuxer
        isPartial = state != WEBP_DEMUX_DONE
    }

    // Made by `init`, deleted here and nowhere else.
    deinit { unsafe WebPDemuxDelete(demuxer) }

    // Plain look-ups in an object that is alive until `deinit`.
    var width: Int { unsafe Int(WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_WIDTH)) }
    var height: Int { unsafe Int(WebPDemuxGetI(demuxer, WEBP_FF_CANVAS_HEIGHT)) }

    var orientation: Int {
        var chunk = unsafe WebPChunkIterator()
        guard unsafe WebPDemuxGetChunk(demuxer, "EXIF", 1, &chunk) != 0 else { return 1 }
        defer { unsafe WebPDemuxReleaseChunkIterator(&chunk) }
        // The chunk points into the bytes that outlive the demuxer; it is copied here.
        let block = unsafe [UInt8](UnsafeRawBufferPointer(start: chunk.chunk.bytes, count: chunk.chunk.size))
        return Exif.orientation(block: block[...])
    }

    /// Adds what only the whole file tells: frames, length, damage.
    func describe(_ facts: inout Facts) {
        facts.degraded = isPartial
        guard facts.animated else { return }
        var frame = unsafe WebPIterator()
        var (count, milliseconds) = (0, 0)
        if unsafe WebPDemuxGetFrame(demuxer, 1, &frame) != 0 {
            repeat {
                unsafe count += Int(frame.complete)
                unsafe milliseconds += Int(frame.duration)
            } while unsafe WebPDemuxNextFrame(&frame) != 0
        }
        unsafe WebPDemuxReleaseIterator(&frame)
        facts.frameCount = count
        facts.animated = count > 1
        if count > 1, milliseconds > 0 { facts.duration = Double(milliseconds) / 1000 }
    }

    func decodeFirst(scaledTo size: (width: Int, height: Int)?, hasAlpha: Bool) throws(Failure) -> Bitmap {
        var frame = unsafe WebPIterator()
        guard unsafe WebPDemuxGetFrame(demuxer, 1, &frame) != 0 else {
            throw Failure(.corrupt, .decode, "the WebP has no picture")
        }
        defer { unsafe WebPDemuxReleaseIterator(&frame) }
        let (left, top) = unsafe (Int(frame.x_offset), Int(frame.y_offset))
        let (across, down) = unsafe (Int(frame.width), Int(frame.height))
        guard unsafe frame.complete != 0, left >= 0, top >= 0, left + across <= width, top + down <= height
        else {
            throw Failure(.corrupt, .decode, "the WebP's first picture is cut short or not on its canvas")
        }
        let canvas = size ?? (width, height)
        var pixels = [UInt8](repeating: 0, count: canvas.width * canvas.height * 4)
        let stride = canvas.width * 4
        let offset = top * stride + left * 4
        let status = try unsafe pixels.lendingMutable { target throws(Failure) in
            // Rows of the frame lie within rows of the canvas, by the guard above; a scaled frame is the canvas.
            try unsafe Self.decode(
                UnsafeRawBufferPointer(start: frame.fragment.bytes, count: frame.fragment.size),
                into: UnsafeMutableRawBufferPointer(rebasing: target[offset...]), stride: stride,
                scaledTo: size)
        }
        guard status == VP8_STATUS_OK else { throw Self.failure(status) }
        // The file says that it has no alpha: what its lossless stream holds there means nothing.
        if unsafe frame.has_alpha == 0 {
            Self.makeOpaque(&pixels, canvas.width, left, top, size ?? (across, down))
        }
        let covers = across == width && down == height
        return Bitmap(
            width: canvas.width, height: canvas.height, pixels: pixels, hasAlpha: hasAlpha || !covers)
    }

    /// Decodes one frame's chunks to R, G, B, A rows that are `stride` bytes apart. Any thread, many at once.
    static func decode(
        _ fragment: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer, stride: Int,
        scaledTo size: (width: Int, height: Int)? = nil
    ) throws(Failure) -> VP8StatusCode {
        var config = unsafe WebPDecoderConfig()
        guard unsafe WebPInitDecoderConfig(&config) != 0 else {
            throw Failure(.internalError, .decode, "libwebp is of another version than its headers")
        }
        if let size {
            unsafe config.options.use_scaling = 1
            unsafe config.options.scaled_width = Int32(size.width)
            unsafe config.options.scaled_height = Int32(size.height)
        }
        // libwebp asks whether its rows fit into `size` bytes at this stride before it writes one.
        unsafe config.output.colorspace = MODE_RGBA
        unsafe config.output.is_external_memory = 1
        unsafe config.output.u.RGBA.rgba = target.baseAddress?.assumingMemoryBound(to: UInt8.self)
        unsafe config.output.u.RGBA.stride = Int32(stride)
        unsafe config.output.u.RGBA.size = target.count
        let bytes = unsafe fragment.baseAddress?.assumingMemoryBound(to: UInt8.self)
        let status = unsafe WebPDecode(bytes, fragment.count, &config)
        unsafe WebPFreeDecBuffer(&config.output)
        return status
    }

    /// Sets the alpha of a rectangle of RGBA rows to 255.
    static func makeOpaque(
        _ pixels: inout [UInt8], _ canvasWidth: Int, _ left: Int, _ top: Int,
        _ size: (width: Int, height: Int)
    ) {
        for row in top..<top + size.height {
            let start = (row * canvasWidth + left) * 4
            for offset in stride(from: start + 3, to: start + size.width * 4, by: 4) { pixels[offset] = 255 }
        }
    }

    static func failure(_ code: VP8StatusCode) -> Failure {
        let reason: Failure.Reason =
            switch code {
            case VP8_STATUS_OUT_OF_MEMORY: .outOfMemory
            case VP8_STATUS_UNSUPPORTED_FEATURE: .unsupportedCodec
            default: .corrupt
            }
        return Failure(
            reason, .decode, "libwebp could not decode the WebP", cause: "VP8StatusCode \(code.rawValue)")
    }
}
