internal import CImage
internal import FramemillMedia

/// JPEG through TurboJPEG: 4:2:0, and 4:4:4 from quality 90 on, where whoever asks cares about colour edges.
enum JPEGEncoding {
    static func encode(_ bitmap: Bitmap, quality: Int, effort: Int) throws(Failure) -> [UInt8] {
        guard bitmap.width <= 65_500, bitmap.height <= 65_500 else {
            throw Failure(
                .notSupported, .encode,
                "a JPEG of \(bitmap.width) x \(bitmap.height) pixels; 65500 is its longest side")
        }
        return try TurboCompressor().encode(bitmap, quality: quality, isProgressive: effort >= 4)
    }
}

/// TurboJPEG's compressor.
@safe private struct TurboCompressor: ~Copyable {
    private let handle: tjhandle

    init() throws(Failure) {
        guard let handle = unsafe tjInitCompress() else {
            throw Failure(.outOfMemory, .encode, "TurboJPEG could not start")
        }
        unsafe self.handle = handle
    }

    // Ours alone, and nothing made from it outlives it.
    deinit { unsafe tjDestroy(handle) }

    func encode(_ bitmap: Bitmap, quality: Int, isProgressive: Bool) throws(Failure) -> [UInt8] {
        let (width, height) = (Int32(bitmap.width), Int32(bitmap.height))
        let sampling = Int32(quality >= 90 ? TJSAMP_444.rawValue : TJSAMP_420.rawValue)
        let flags = Int32(TJFLAG_NOREALLOC) | (isProgressive ? Int32(TJFLAG_PROGRESSIVE) : 0)
        let most = Int(tjBufSize(width, height, sampling))
        var length = UInt(most)
        var status: Int32 = 0
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: most) { buffer, count in
            var target = buffer.baseAddress
            // `most` bytes hold any picture of this size, says TurboJPEG, and NOREALLOC keeps it in them; the
            // bitmap's rows have no padding.
            status = unsafe bitmap.pixels.withUnsafeBufferPointer {
                unsafe tjCompress2(
                    handle, $0.baseAddress, width, width * 4, height, Int32(TJPF_RGBX.rawValue), &target,
                    &length,
                    sampling, Int32(quality), flags)
            }
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
