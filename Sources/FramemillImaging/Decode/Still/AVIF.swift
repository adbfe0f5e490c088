// AVIF through libavif: the picture, or an image sequence's first frame. The container's own crop is applied here; its
// rotation and mirror leave as the EXIF number that does the same, so that one place turns pictures. An EXIF
// orientation inside the file is ignored, as MIAF asks (ISO/IEC 23000-22, 7.3.9): the container's word counts.

internal import CImage
internal import FramemillEngine
internal import FramemillMedia

enum AVIFDecoding {
    static func facts(_ source: SourceBytes) throws(Failure) -> StillHeader {
        try source.fillAll()
        return try unsafe source.bytes.lending { bytes throws(Failure) in
            let decoder = try unsafe AVIFDecoder(bytes)
            try decoder.admit(source.limits)
            return (decoder.facts, decoder.orientation)
        }
    }

    static func decode(_ source: SourceBytes) throws(Failure) -> StillPicture {
        try source.fillAll()
        try source.stop.check(.decode)
        return try unsafe source.bytes.lending { bytes throws(Failure) in
            let decoder = try unsafe AVIFDecoder(bytes)
            try decoder.admit(source.limits)
            let bitmap = try decoder.decodeFirst()
            return StillPicture(bitmap: bitmap, orientation: decoder.orientation, facts: decoder.facts)
        }
    }
}

/// libavif's decoder over bytes that the caller keeps in place.
@safe private struct AVIFDecoder: ~Copyable {
    private let decoder: UnsafeMutablePointer<avifDecoder>
    private let image: UnsafeMutablePointer<avifImage>

    /// Reads the container; no pixel is decoded or allocated yet.
    init(_ bytes: UnsafeRawBufferPointer) throws(Failure) {
        guard let decoder = unsafe avifDecoderCreate() else {
            throw Failure(.outOfMemory, .decode, "libavif could not start")
        }
        unsafe decoder.pointee.maxThreads = 1
        unsafe decoder.pointee.ignoreExif = 1
        unsafe decoder.pointee.ignoreXMP = 1
        // Browsers show files that break the rules these flags hold up (`pixi`, `clap`); so do we.
        unsafe decoder.pointee.strictFlags = UInt32(AVIF_STRICT_DISABLED.rawValue)
        // The decoder keeps the pointer; `bytes` outlives it, because both end with the caller's closure.
        let start = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
        var result = unsafe avifDecoderSetIOMemory(decoder, start, bytes.count)
        if result == AVIF_RESULT_OK { result = unsafe avifDecoderParse(decoder) }
        guard result == AVIF_RESULT_OK, let image = unsafe decoder.pointee.image else {
            let failure = unsafe Self.failure(result, decoder)
            unsafe avifDecoderDestroy(decoder)
            throw failure
        }
        unsafe self.decoder = decoder
        unsafe self.image = image
    }

    func admit(_ limits: Limits) throws(Failure) {
        try Still.admit(width: storedWidth, height: storedHeight, limits: limits)
    }

    // Made by `init`, destroyed here and nowhere else; it owns `image`.
    deinit { unsafe avifDecoderDestroy(decoder) }

    // Fields of structs that are alive until `deinit`.
    private var storedWidth: Int { unsafe Int(image.pointee.width) }
    private var storedHeight: Int { unsafe Int(image.pointee.height) }
    private var hasAlpha: Bool { unsafe decoder.pointee.alphaPresent != 0 }

    var facts: Facts {
        var facts = Facts()
        facts.container = "avif"
        facts.codec = "av1"
        let crop = crop
        facts.storedWidth = crop.width
        facts.storedHeight = crop.height
        facts.alpha = hasAlpha
        let (count, duration) = unsafe (Int(decoder.pointee.imageCount), decoder.pointee.duration)
        facts.frameCount = count
        facts.animated = count > 1
        if count > 1, duration > 0 { facts.duration = duration }
        let (format, depth) = unsafe (image.pointee.yuvFormat, image.pointee.depth)
        let family: String? =
            switch format {
            case AVIF_PIXEL_FORMAT_YUV444: "yuv444p"
            case AVIF_PIXEL_FORMAT_YUV422: "yuv422p"
            case AVIF_PIXEL_FORMAT_YUV420: "yuv420p"
            case AVIF_PIXEL_FORMAT_YUV400: "gray"
            default: nil
            }
        facts.pixelFormat = family.map { depth > 8 ? "\($0)\(depth)le" : $0 }
        // 16 and 18 of ITU-T H.273. The curve is not undone here, and that is said.
        let curve = unsafe Int(image.pointee.transferCharacteristics)
        facts.hdr = curve == 16 ? "pq" : curve == 18 ? "hlg" : nil
        facts.approximate = facts.hdr != nil
        return facts
    }

    /// `irot` turns anticlockwise by quarters, then `imir` mirrors; mode 0 swaps top and bottom, 1 left and right.
    var orientation: Int {
        let flags = unsafe image.pointee.transformFlags
        func has(_ flag: avifTransformFlag) -> Bool { flags & UInt32(flag.rawValue) != 0 }
        let angle = has(AVIF_TRANSFORM_IROT) ? unsafe Int(image.pointee.irot.angle & 3) : 0
        guard has(AVIF_TRANSFORM_IMIR) else { return [1, 8, 3, 6][angle] }
        let topToBottom = unsafe image.pointee.imir.mode == 0
        return topToBottom ? [4, 5, 2, 7][angle] : [2, 7, 4, 5][angle]
    }

    /// The clean aperture, where there is a sound one.
    private var crop: (left: Int, top: Int, width: Int, height: Int) {
        let whole = (0, 0, storedWidth, storedHeight)
        guard unsafe image.pointee.transformFlags & UInt32(AVIF_TRANSFORM_CLAP.rawValue) != 0 else {
            return whole
        }
        var rectangle = avifCropRect()
        var diagnostics = avifDiagnostics()
        // All three are structs of ours or of the living image; nothing is kept.
        let isSound = unsafe avifCropRectConvertCleanApertureBox(
            &rectangle, &image.pointee.clap, image.pointee.width, image.pointee.height,
            image.pointee.yuvFormat,
            &diagnostics)
        guard isSound != 0 else { return whole }
        let (left, top) = (Int(rectangle.x), Int(rectangle.y))
        let (width, height) = (Int(rectangle.width), Int(rectangle.height))
        guard width > 0, height > 0, left + width <= storedWidth, top + height <= storedHeight else {
            return whole
        }
        return (left, top, width, height)
    }

    func decodeFirst() throws(Failure) -> Bitmap {
        let (width, height) = (storedWidth, storedHeight)
        let decoded = unsafe avifDecoderNextImage(decoder)
        guard decoded == AVIF_RESULT_OK else { throw unsafe Self.failure(decoded, decoder) }
        // The stream could name another size than the container that `Limits` was asked about.
        guard width == storedWidth, height == storedHeight else {
            throw Failure(.corrupt, .decode, "the AVIF's stream and container differ in size")
        }
        var pixels = [UInt8](repeating: 0, count: width * height * 4)
        let converted = unsafe pixels.withUnsafeMutableBufferPointer { target -> avifResult in
            var rgb = unsafe avifRGBImage()
            unsafe avifRGBImageSetDefaults(&rgb, image)
            unsafe rgb.depth = 8
            unsafe rgb.format = AVIF_RGB_FORMAT_RGBA
            // `height` rows of `width * 4` bytes are what `pixels` holds.
            unsafe rgb.pixels = target.baseAddress
            unsafe rgb.rowBytes = UInt32(width * 4)
            return unsafe avifImageYUVToRGB(image, &rgb)
        }
        guard converted == AVIF_RESULT_OK else { throw unsafe Self.failure(converted, decoder) }
        let bitmap = Bitmap(width: width, height: height, pixels: pixels, hasAlpha: hasAlpha)
        let crop = crop
        return bitmap.cropped(left: crop.left, top: crop.top, width: crop.width, height: crop.height)
    }

    private static func failure(_ result: avifResult, _ decoder: UnsafeMutablePointer<avifDecoder>) -> Failure
    {
        // A fixed array of the struct that libavif ends with a zero, and a constant text.
        let detail = unsafe withUnsafeBytes(of: decoder.pointee.diag.error) {
            unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        let words = unsafe String(cString: avifResultToString(result)) + (detail.isEmpty ? "" : ": \(detail)")
        if detail.contains("imageSizeLimit") || detail.contains("too large") {
            return Failure(
                .tooLarge, .probe, "the AVIF is larger than libavif decodes (Limits.pixelsPerFrame)",
                cause: words)
        }
        let reason: Failure.Reason =
            switch result {
            case AVIF_RESULT_OUT_OF_MEMORY: .outOfMemory
            case AVIF_RESULT_NO_CODEC_AVAILABLE, AVIF_RESULT_NOT_IMPLEMENTED: .unsupportedCodec
            case AVIF_RESULT_NO_CONTENT: .noFrames
            default: .corrupt
            }
        return Failure(reason, .decode, "libavif could not decode the AVIF", cause: words)
    }
}

extension Bitmap {
    /// A rectangle of the picture; it must lie inside.
    func cropped(left: Int, top: Int, width: Int, height: Int) -> Bitmap {
        if left == 0, top == 0, width == self.width, height == self.height { return self }
        var pixels: [UInt8] = []
        pixels.reserveCapacity(width * height * 4)
        for row in top..<top + height {
            let start = (row * self.width + left) * 4
            pixels += self.pixels[start..<start + width * 4]
        }
        return Bitmap(width: width, height: height, pixels: pixels, hasAlpha: hasAlpha)
    }
}
