internal import CImage
internal import FramemillMedia

/// The container of an animated WebP, by libwebpmux: a canvas, and frames that were encoded as files of their own, each
/// on its place.
///
/// libwebpmux keeps a copy of every frame, of its encoded bytes, and walks its list to append one. For 10,000 frames that
/// make 39 MiB the process's peak is 194 MiB, and 163 with the container written by hand; a time that can be measured it
/// does not cost.
@safe struct WebPAnimationFile: ~Copyable {
    /// Where a frame goes, and for how long it is shown.
    struct Place {
        /// Even, both.
        var left: Int
        var top: Int
        var milliseconds: Int
        /// Drawn over what is below by its alpha; `false` replaces it.
        var blends: Bool
    }

    private let mux: OpaquePointer

    /// 24 bits.
    static let longestMilliseconds = 0xFF_FFFF
    /// 16 bits.
    static let mostPlays = 0xFFFF

    init(width: Int, height: Int) throws(Failure) {
        guard let mux = unsafe WebPMuxNew() else {
            throw Failure(.outOfMemory, .encode, "libwebp found no memory for an animation")
        }
        let code = unsafe WebPMuxSetCanvasSize(mux, Int32(width), Int32(height))
        guard code == WEBP_MUX_OK else {
            unsafe WebPMuxDelete(mux)
            throw Self.failure(code, "set the canvas")
        }
        unsafe self.mux = mux
    }

    // Made by `init`, freed here and nowhere else.
    deinit { unsafe WebPMuxDelete(mux) }

    /// - Parameter file: a still WebP, as libwebp writes it.
    mutating func append(_ file: [UInt8], _ place: Place) throws(Failure) {
        let code = unsafe file.withUnsafeBufferPointer { file in
            var frame = unsafe WebPMuxFrameInfo()
            unsafe frame.id = WEBP_CHUNK_ANMF
            unsafe frame.bitstream = WebPData(bytes: file.baseAddress, size: file.count)
            unsafe frame.x_offset = Int32(place.left)
            unsafe frame.y_offset = Int32(place.top)
            unsafe frame.duration = Int32(min(place.milliseconds, Self.longestMilliseconds))
            unsafe frame.dispose_method = WEBP_MUX_DISPOSE_NONE
            unsafe frame.blend_method = place.blends ? WEBP_MUX_BLEND : WEBP_MUX_NO_BLEND
            // Copied before the call returns: the last argument.
            return unsafe WebPMuxPushFrame(mux, &frame, 1)
        }
        try Self.check(code, "append a frame")
    }

    /// The whole file, in libwebp's memory: whoever lets go of this value before copying it holds no frame three times.
    /// - Parameter plays: 0 is endless.
    mutating func assemble(plays: Int) throws(Failure) -> Assembled {
        // The background colour is a hint that browsers do not take; transparent is what they show.
        var params = WebPMuxAnimParams(bgcolor: 0, loop_count: Int32(min(plays, Self.mostPlays)))
        try unsafe Self.check(WebPMuxSetAnimationParams(mux, &params), "set the plays")
        var data = unsafe WebPData()
        try unsafe Self.check(WebPMuxAssemble(mux, &data), "put the file together")
        return unsafe Assembled(takingOwnership: data)
    }

    @safe struct Assembled: ~Copyable {
        private let data: WebPData

        fileprivate init(takingOwnership data: WebPData) { unsafe self.data = data }

        deinit {
            // Allocated by libwebp for `assemble`, freed here only; the copy of the struct dies with this line.
            var data = unsafe data
            unsafe WebPDataClear(&data)
        }

        // `size` bytes that live until `deinit`.
        var bytes: [UInt8] { unsafe [UInt8](UnsafeBufferPointer(start: data.bytes, count: data.size)) }
    }

    private static func check(_ code: WebPMuxError, _ act: String) throws(Failure) {
        if code != WEBP_MUX_OK { throw failure(code, act) }
    }

    private static func failure(_ code: WebPMuxError, _ act: String) -> Failure {
        Failure(
            code == WEBP_MUX_MEMORY_ERROR ? .outOfMemory : .internalError, .encode,
            "libwebp could not \(act) of an animation", cause: "WebPMuxError \(code.rawValue)")
    }
}
