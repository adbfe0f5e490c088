internal import CImage
internal import FramemillMedia

/// Lossy WebP through libwebp; alpha is kept, and lossless.
enum WebPEncoding {
    static func encode(_ bitmap: Bitmap, quality: Int, effort: Int) throws(Failure) -> [UInt8] {
        guard bitmap.width <= 16_383, bitmap.height <= 16_383 else {
            throw Failure(
                .notSupported, .encode,
                "a WebP of \(bitmap.width) x \(bitmap.height) pixels; 16383 is its longest side")
        }
        var config = WebPConfig()
        guard unsafe WebPConfigInit(&config) != 0 else { throw versionDiffers }
        config.quality = Float(quality)
        config.method = Int32(effort)
        var picture = try WebPSource(bitmap)
        return try picture.encode(config)
    }

    fileprivate static let versionDiffers = Failure(
        .internalError, .encode, "libwebp is of another version than its headers")
}

/// libwebp's picture, holding a copy of the pixels in its own form.
@safe private struct WebPSource: ~Copyable {
    private var picture: WebPPicture

    init(_ bitmap: Bitmap) throws(Failure) {
        unsafe picture = WebPPicture()
        guard unsafe WebPPictureInit(&picture) != 0 else { throw WebPEncoding.versionDiffers }
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

    mutating func encode(_ config: WebPConfig) throws(Failure) -> [UInt8] {
        var config = config
        var writer = unsafe WebPMemoryWriter()
        unsafe WebPMemoryWriterInit(&writer)
        defer { unsafe WebPMemoryWriterClear(&writer) }
        // libwebp writes through this pointer only while it encodes, inside the closure.
        let done = unsafe withUnsafeMutablePointer(to: &writer) { target in
            unsafe picture.writer = WebPMemoryWrite
            unsafe picture.custom_ptr = UnsafeMutableRawPointer(target)
            return unsafe WebPEncode(&config, &picture)
        }
        guard done != 0 else {
            let code = unsafe picture.error_code.rawValue
            throw Failure(
                .internalError, .encode, "libwebp could not encode the picture",
                cause: "WebPEncodingError \(code)")
        }
        return unsafe [UInt8](UnsafeBufferPointer(start: writer.mem, count: writer.size))
    }
}
