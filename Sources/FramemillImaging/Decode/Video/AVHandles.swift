// One owner for each object of libav. Born, used and dead inside one render call; nothing here leaves it.

internal import CFFmpeg
internal import FramemillMedia

/// libav's number and its own words for it.
func avWords(_ code: Int32) -> String {
    var text = [CChar](repeating: 0, count: Int(AV_ERROR_MAX_STRING_SIZE))
    // The call writes at most `text.count` bytes and ends them with a zero.
    _ = unsafe av_strerror(code, &text, text.count)
    let words = text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
    return "libav \(code): \(String(decoding: words, as: UTF8.self))"
}

/// An AVFrame.
@safe struct AVPicture: ~Copyable {
    let pointer: UnsafeMutablePointer<AVFrame>

    init() throws(Failure) {
        guard let frame = unsafe av_frame_alloc() else { throw outOfMemory("a frame") }
        unsafe pointer = frame
    }

    /// Makes this frame refer to the other's pixels and drops what it had. No pixel is copied.
    func take(from other: borrowing AVPicture) {
        // Both are live frames; `move_ref` leaves the other empty.
        unsafe av_frame_unref(pointer)
        unsafe av_frame_move_ref(pointer, other.pointer)
    }

    deinit {
        var frame: UnsafeMutablePointer<AVFrame>? = unsafe pointer
        unsafe av_frame_free(&frame)
    }
}

/// An AVPacket.
@safe struct AVParcel: ~Copyable {
    let pointer: UnsafeMutablePointer<AVPacket>

    init() throws(Failure) {
        guard let packet = unsafe av_packet_alloc() else { throw outOfMemory("a packet") }
        unsafe pointer = packet
    }

    func clear() { unsafe av_packet_unref(pointer) }

    deinit {
        var packet: UnsafeMutablePointer<AVPacket>? = unsafe pointer
        unsafe av_packet_free(&packet)
    }
}

/// An open decoder.
@safe struct AVDecoder: ~Copyable {
    let pointer: UnsafeMutablePointer<AVCodecContext>

    /// - Parameters:
    ///   - alpha: prefer libvpx for VP8 and VP9, whose own decoders in libav drop the alpha channel.
    ///   - showDamaged: give pictures that are not clean as well.
    init(for stream: UnsafeMutablePointer<AVStream>, alpha: Bool, showDamaged: Bool) throws(Failure) {
        let parameters = unsafe stream.pointee.codecpar!
        let id = unsafe parameters.pointee.codec_id
        var codec = unsafe avcodec_find_decoder(id)
        if alpha, let name = id == AV_CODEC_ID_VP9 ? "libvpx-vp9" : id == AV_CODEC_ID_VP8 ? "libvpx" : nil,
            let other = unsafe avcodec_find_decoder_by_name(name)
        {
            unsafe codec = other
        }
        guard let codec = unsafe codec else {
            let name = unsafe String(cString: avcodec_get_name(id))
            throw Failure(
                .unsupportedCodec, .decode, "no decoder for the codec \(name) (\(unsafe tag(of: parameters)))"
            )
        }
        guard let context = unsafe avcodec_alloc_context3(codec) else { throw outOfMemory("a decoder") }
        var code = unsafe avcodec_parameters_to_context(context, parameters)
        if code >= 0 {
            unsafe context.pointee.pkt_timebase = stream.pointee.time_base
            // One thread: for a single frame, frame threads only add delay (7 to 25 ms at close alone).
            unsafe context.pointee.thread_count = 1
            // Exact crops: our reducer needs no aligned rows.
            unsafe context.pointee.flags |= Int32(bitPattern: UInt32(AV_CODEC_FLAG_UNALIGNED))
            if showDamaged {
                unsafe context.pointee.flags |= Int32(AV_CODEC_FLAG_OUTPUT_CORRUPT)
                unsafe context.pointee.flags2 |= Int32(AV_CODEC_FLAG2_SHOW_ALL)
            }
            code = unsafe avcodec_open2(context, codec, nil)
        }
        guard code >= 0 else {
            var gone: UnsafeMutablePointer<AVCodecContext>? = unsafe context
            unsafe avcodec_free_context(&gone)
            throw Failure(.unsupportedCodec, .decode, "the decoder would not open", cause: avWords(code))
        }
        unsafe pointer = context
    }

    deinit {
        var context: UnsafeMutablePointer<AVCodecContext>? = unsafe pointer
        unsafe avcodec_free_context(&context)
    }
}

/// The four letters by which a container names a codec, for messages.
func tag(of parameters: UnsafeMutablePointer<AVCodecParameters>) -> String {
    let value = unsafe parameters.pointee.codec_tag
    let letters = (0..<4).map { UInt8(truncatingIfNeeded: value >> ($0 * 8)) }
    guard letters.allSatisfy({ 0x20...0x7E ~= $0 }) else { return "tag \(value)" }
    return String(decoding: letters, as: UTF8.self)
}

func outOfMemory(_ what: String) -> Failure {
    Failure(.outOfMemory, .decode, "no memory for \(what)")
}
