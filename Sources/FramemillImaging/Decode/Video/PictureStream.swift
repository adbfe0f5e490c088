// The pictures of one stream, in the order they are shown, and only clean ones unless damaged ones were asked for.
//
// Clean means: libav marks neither damage nor concealment, and a key picture came first. Only libav's h264 decoder tracks
// by itself from where on pictures are whole (a recovery point is no key picture); its hevc decoder fills missing
// references with grey and marks nothing, so there a random access point must have come (its leading pictures it skips).
// After a damaged picture only a key picture is clean again, since what follows refers back.

internal import CFFmpeg
internal import FramemillEngine
internal import FramemillMedia

@safe struct PictureStream: ~Copyable {
    private let context: UnsafeMutablePointer<AVFormatContext>
    private let io: ReaderIO
    private let stream: UnsafeMutablePointer<AVStream>
    private let decoder: AVDecoder
    private let packet: AVParcel
    /// The first packet, kept so that a decoder emptied early can be fed again.
    private let firstPacket: AVParcel
    private let showDamaged: Bool
    private let codec: AVCodecID
    private var isDraining = false
    private var isAfterKey = false
    private var hadDamage = false
    private(set) var packetsRead = 0
    private(set) var picturesDecoded = 0
    private var hasGiven = false

    /// Packets fed without a single clean picture before the stream is given up: key pictures are seldom further apart.
    private static let fruitlessPackets = 600

    /// `input` must outlive this value.
    init(_ input: borrowing AVInput, stream index: Int, alpha: Bool, showDamaged: Bool) throws(Failure) {
        let stream = unsafe input.pointer.pointee.streams[index]!
        let decoder = unsafe try AVDecoder(for: stream, alpha: alpha, showDamaged: showDamaged)
        let packet = try AVParcel()
        let firstPacket = try AVParcel()
        let codec = unsafe stream.pointee.codecpar.pointee.codec_id
        unsafe self.context = input.pointer
        unsafe self.stream = stream
        io = input.io
        self.decoder = decoder
        self.packet = packet
        self.firstPacket = firstPacket
        self.showDamaged = showDamaged
        self.codec = codec
    }

    /// The first picture with no reordering delay: one key packet in, then the decoder is emptied. Where that gives
    /// nothing clean (a field, an edit that starts between key frames), it is fed again and goes on normally.
    mutating func first(into picture: borrowing AVPicture) throws(Failure) -> Bool {
        guard try readPacket() else { return try next(into: picture) }
        let flags = unsafe packet.pointer.pointee.flags
        // Cloning shares the bytes; it is cheap.
        unsafe av_packet_ref(firstPacket.pointer, packet.pointer)
        send()
        guard flags & AV_PKT_FLAG_KEY != 0, flags & AV_PKT_FLAG_DISCARD == 0,
            codec == AV_CODEC_ID_H264 || codec == AV_CODEC_ID_HEVC
        else {
            return try next(into: picture)
        }
        unsafe avcodec_send_packet(decoder.pointer, nil)
        let code = unsafe avcodec_receive_frame(decoder.pointer, picture.pointer)
        if code == 0 {
            let interlaced = unsafe picture.pointer.pointee.interlaced_frame != 0
            if !interlaced, isClean(picture) {
                picturesDecoded += 1
                hasGiven = true
                return true
            }
        }
        restart()
        return try next(into: picture)
    }

    /// After `first`: makes the decoder whole again, so that `next` goes on from the same place.
    mutating func restart() {
        // Flushing forgets the references that later pictures need; the first packet brings them back.
        unsafe avcodec_flush_buffers(decoder.pointer)
        isAfterKey = false
        if unsafe firstPacket.pointer.pointee.size > 0 {
            unsafe avcodec_send_packet(decoder.pointer, firstPacket.pointer)
        }
    }

    /// The next picture; `false` at the end, after the decoder has given all it held.
    mutating func next(into picture: borrowing AVPicture) throws(Failure) -> Bool {
        while true {
            try io.stop.check(.decode)
            let code = unsafe avcodec_receive_frame(decoder.pointer, picture.pointer)
            if code == 0 {
                picturesDecoded += 1
                if isClean(picture) {
                    hasGiven = true
                    return true
                }
            } else if code == framemill_averror_eof() {
                return false
            } else if isDraining {
                return false
            } else if try readPacket() {
                if !hasGiven, packetsRead > Self.fruitlessPackets { return false }
                send()
            } else {
                isDraining = true
                unsafe avcodec_send_packet(decoder.pointer, nil)
            }
        }
    }

    /// Goes to the key frame at or before `seconds` (stream time). `false` when the container can't.
    mutating func seek(toTimestamp timestamp: Int64) -> Bool {
        let code = unsafe av_seek_frame(context, stream.pointee.index, timestamp, AVSEEK_FLAG_BACKWARD)
        guard code >= 0 else { return false }
        forget()
        return true
    }

    /// Goes to the first packet of a container without an index: by time, its first key picture may not be found.
    mutating func rewindBytes() -> Bool {
        guard unsafe av_seek_frame(context, -1, 0, AVSEEK_FLAG_BYTE) >= 0 else { return false }
        forget()
        return true
    }

    private mutating func forget() {
        unsafe avcodec_flush_buffers(decoder.pointer)
        firstPacket.clear()
        isDraining = false
        isAfterKey = false
    }

    /// Decodes one packet that came from elsewhere.
    mutating func only(_ other: AVPacket, into picture: borrowing AVPicture) throws(Failure) -> Bool {
        var other = unsafe other
        unsafe avcodec_send_packet(decoder.pointer, &other)
        unsafe avcodec_send_packet(decoder.pointer, nil)
        return unsafe avcodec_receive_frame(decoder.pointer, picture.pointer) == 0
    }

    /// Leaves out of what is decoded from now on what `discard` names.
    func skip(_ discard: AVDiscard) {
        unsafe decoder.pointer.pointee.skip_frame = discard
    }

    private mutating func readPacket() throws(Failure) -> Bool {
        while true {
            try io.stop.check(.decode)
            packet.clear()
            let code = unsafe av_read_frame(context, packet.pointer)
            if code < 0 {
                if let failure = io.failure { throw failure }
                return false
            }
            guard unsafe packet.pointer.pointee.stream_index == stream.pointee.index else { continue }
            var size = 0
            if unsafe av_packet_get_side_data(packet.pointer, AV_PKT_DATA_ENCRYPTION_INFO, &size) != nil {
                throw Failure(.encrypted, .decode, "the video is encrypted; covers need clear video")
            }
            packetsRead += 1
            return true
        }
    }

    /// A packet that the decoder refuses is damage in the stream: what follows may still be good.
    private func send() {
        unsafe avcodec_send_packet(decoder.pointer, packet.pointer)
        packet.clear()
    }

    private mutating func isClean(_ picture: borrowing AVPicture) -> Bool {
        if showDamaged { return true }
        let frame = unsafe picture.pointer.pointee
        // An hevc picture of intra slices alone is no random access point: what follows may refer past it.
        let isKey =
            unsafe frame.key_frame != 0
            || (frame.pict_type == AV_PICTURE_TYPE_I && codec != AV_CODEC_ID_HEVC)
        let isDamaged = unsafe frame.flags & AV_FRAME_FLAG_CORRUPT != 0 || frame.decode_error_flags != 0
        if isDamaged {
            isAfterKey = false
            hadDamage = true
            return false
        }
        if isKey { isAfterKey = true }
        return isAfterKey || (codec == AV_CODEC_ID_H264 && !hadDamage)
    }

}
