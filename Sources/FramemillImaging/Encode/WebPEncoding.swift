internal import CImage
internal import FramemillEngine
internal import FramemillMedia

/// WebP through libwebp; alpha is kept, and lossless.
enum WebPEncoding {
    /// How pixels are written.
    struct Manner: Sendable, Equatable {
        /// 1 to 100.
        var quality: Int
        /// libwebp's method, 0 (fast) to 6 (small).
        var effort: Int
        /// Every visible pixel as it is; `quality` then has no meaning.
        var isLossless: Bool
    }

    /// Longer sides have no room in the format's header.
    static let longestSide = 16_383

    /// - Parameters:
    ///   - keepsHidden: write the colours under fully transparent pixels as they are, not as libwebp finds them cheap.
    ///   - stop: asked while libwebp works; a small still picture is over too soon to ask.
    static func encode(
        _ bitmap: Bitmap, _ manner: Manner, keepsHidden: Bool = false, stop: Stop? = nil
    ) throws(Failure) -> [UInt8] {
        guard bitmap.width <= longestSide, bitmap.height <= longestSide else {
            throw Failure(
                .notSupported, .encode,
                "a WebP of \(bitmap.width) x \(bitmap.height) pixels; \(longestSide) is its longest side")
        }
        var config = WebPConfig()
        guard unsafe WebPConfigInit(&config) != 0 else { throw versionDiffers }
        config.method = Int32(manner.effort)
        config.exact = keepsHidden ? 1 : 0
        if manner.isLossless {
            config.lossless = 1
            // Where it loses nothing, libwebp's quality is one more measure of effort: about what its own presets give.
            config.quality = Float(manner.effort) * 15
        } else {
            config.quality = Float(manner.quality)
        }
        var picture = try WebPSource(bitmap, isLossless: manner.isLossless)
        return try picture.encode(config, stop: stop)
    }

    fileprivate static let versionDiffers = Failure(
        .internalError, .encode, "libwebp is of another version than its headers")
}

/// libwebp's picture, holding a copy of the pixels in its own form.
@safe private struct WebPSource: ~Copyable {
    private var picture: WebPPicture

    init(_ bitmap: Bitmap, isLossless: Bool) throws(Failure) {
        unsafe picture = WebPPicture()
        guard unsafe WebPPictureInit(&picture) != 0 else { throw WebPEncoding.versionDiffers }
        unsafe picture.use_argb = isLossless ? 1 : 0
        unsafe picture.width = Int32(bitmap.width)
        unsafe picture.height = Int32(bitmap.height)
        let stride = Int32(bitmap.width * 4)
        // libwebp copies `height` rows of `stride` bytes, which is what a bitmap holds.
        let imported = unsafe bitmap.pixels.withUnsafeBufferPointer {
            unsafe bitmap.hasAlpha
                ? WebPPictureImportRGBA(&picture, $0.baseAddress, stride)
                : WebPPictureImportRGBX(&picture, $0.baseAddress, stride)
        }
        guard imported != 0 else {
            throw Failure(.outOfMemory, .encode, "libwebp found no memory for the picture")
        }
    }

    deinit {
        var picture = unsafe picture
        // The struct's buffers are ours and freed here only; the copy of the struct dies with this line.
        unsafe WebPPictureFree(&picture)
    }

    mutating func encode(_ config: WebPConfig, stop: Stop?) throws(Failure) -> [UInt8] {
        var config = config
        var writer = unsafe WebPMemoryWriter()
        unsafe WebPMemoryWriterInit(&writer)
        defer { unsafe WebPMemoryWriterClear(&writer) }
        // libwebp asks now and then whether to go on; `stop` outlives the call that it asks in.
        unsafe picture.user_data = stop.map { unsafe Unmanaged.passUnretained($0).toOpaque() }
        unsafe picture.progress_hook = { _, picture in
            guard let stop = unsafe picture?.pointee.user_data else { return 1 }
            return unsafe Unmanaged<Stop>.fromOpaque(stop).takeUnretainedValue().isOver ? 0 : 1
        }
        // libwebp writes through this pointer only while it encodes, inside the closure.
        let done = unsafe withUnsafeMutablePointer(to: &writer) { target in
            unsafe picture.writer = WebPMemoryWrite
            unsafe picture.custom_ptr = UnsafeMutableRawPointer(target)
            return unsafe WebPEncode(&config, &picture)
        }
        guard done != 0 else {
            try stop?.check(.encode)
            let code = unsafe picture.error_code
            throw Failure(
                code == VP8_ENC_ERROR_OUT_OF_MEMORY ? .outOfMemory : .internalError, .encode,
                "libwebp could not encode the picture", cause: "WebPEncodingError \(code.rawValue)")
        }
        return unsafe [UInt8](UnsafeBufferPointer(start: writer.mem, count: writer.size))
    }
}
