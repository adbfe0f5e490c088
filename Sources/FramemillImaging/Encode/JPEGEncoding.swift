internal import CImage
internal import FramemillMedia

/// JPEG through TurboJPEG: 4:2:0, and 4:4:4 from quality 90 on, where whoever asks cares about colour edges.
///
/// Pictures come as RGBA, or as the planes that JPEG itself works on: with the same quality and subsampling.
enum JPEGEncoding {
    static func encode(_ bitmap: Bitmap, quality: Int, effort: Int) throws(Failure) -> [UInt8] {
        try check(bitmap.width, bitmap.height)
        return try TurboCompressor().encode(bitmap, settings(quality, effort))
    }

    static func encode(_ picture: YCbCrPicture, quality: Int, effort: Int) throws(Failure) -> [UInt8] {
        try check(picture.width, picture.height)
        let settings = settings(quality, effort)
        let planes = settings.isHalved ? picture.halved() : picture.whole()
        return try TurboCompressor().encode(planes, settings)
    }

    private static func settings(_ quality: Int, _ effort: Int) -> TurboCompressor.Settings {
        TurboCompressor.Settings(quality: quality, isHalved: quality < 90, isProgressive: effort >= 4)
    }

    private static func check(_ width: Int, _ height: Int) throws(Failure) {
        guard width <= 65_500, height <= 65_500 else {
            throw Failure(
                .notSupported, .encode, "a JPEG of \(width) x \(height) pixels; 65500 is its longest side")
        }
    }
}

/// TurboJPEG's compressor.
@safe private struct TurboCompressor: ~Copyable {
    struct Settings {
        var quality: Int
        /// 4:2:0.
        var isHalved: Bool
        var isProgressive: Bool

        var sampling: Int32 { Int32(isHalved ? TJSAMP_420.rawValue : TJSAMP_444.rawValue) }
        var flags: Int32 { Int32(TJFLAG_NOREALLOC) | (isProgressive ? Int32(TJFLAG_PROGRESSIVE) : 0) }
    }

    private let handle: tjhandle

    init() throws(Failure) {
        guard let handle = unsafe tjInitCompress() else {
            throw Failure(.outOfMemory, .encode, "TurboJPEG could not start")
        }
        unsafe self.handle = handle
    }

    // Ours alone, and nothing made from it outlives it.
    deinit { unsafe tjDestroy(handle) }

    func encode(_ bitmap: Bitmap, _ settings: Settings) throws(Failure) -> [UInt8] {
        let (width, height) = (Int32(bitmap.width), Int32(bitmap.height))
        return try unsafe fill(width, height, settings) { target, length in
            // The bitmap's rows have no padding.
            unsafe bitmap.pixels.withUnsafeBufferPointer {
                unsafe tjCompress2(
                    handle, $0.baseAddress, width, width * 4, height, Int32(TJPF_RGBX.rawValue), &target,
                    &length, settings.sampling, Int32(settings.quality), settings.flags)
            }
        }
    }

    func encode(_ planes: JPEGPlanes, _ settings: Settings) throws(Failure) -> [UInt8] {
        let (width, height) = (Int32(planes.width), Int32(planes.height))
        return try unsafe fill(width, height, settings) { target, length in
            unsafe planes.samples.withUnsafeBufferPointer { samples in
                // Each plane has the size that tjPlaneWidth and tjPlaneHeight ask for, as `JPEGPlanes` promises, and
                // outlives the call.
                var sources = unsafe planes.starts.map { unsafe Optional(samples.baseAddress! + $0) }
                return unsafe tjCompressFromYUVPlanes(
                    handle, &sources, width, planes.strides, height, settings.sampling, &target, &length,
                    Int32(settings.quality), settings.flags)
            }
        }
    }

    /// The bytes that `compress` writes, and no more of them.
    @unsafe private func fill(
        _ width: Int32, _ height: Int32, _ settings: Settings,
        _ compress: (inout UnsafeMutablePointer<UInt8>?, inout UInt) -> Int32
    ) throws(Failure) -> [UInt8] {
        let most = Int(tjBufSize(width, height, settings.sampling))
        var length = UInt(most)
        var status: Int32 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            var target = buffer.baseAddress
            // `most` bytes hold any picture of this size, says TurboJPEG, and NOREALLOC keeps it in them.
            status = unsafe compress(&target, &length)
            count = status == 0 ? Int(length) : 0
        }
        guard status == 0 else {
            // The text belongs to the handle and is copied at once.
            let words = unsafe String(cString: tjGetErrorStr2(handle))
            throw Failure(.internalError, .encode, "TurboJPEG could not encode the picture", cause: words)
        }
        // The buffer was made for the worst case, several times what came out; a cover is kept for long, so it gets its
        // own bytes and no more.
        return unsafe bytes.withUnsafeBufferPointer { unsafe Array($0) }
    }
}
