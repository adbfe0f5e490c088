// What a container says before any picture is decoded: which stream, which size, how it is to be turned.

internal import CFFmpeg
internal import FramemillEngine
internal import FramemillMedia

struct Container: ~Copyable {
    let input: AVInput
    /// The moving stream, or `nil`.
    let video: Int?
    /// A stream that is one attached picture.
    let attached: Int?

    /// - Parameter thorough: let libav decode and read ahead to find what the header does not say. That decodes the
    ///   first picture a second time and seeks to the end of a transport stream, so it is the second try, not the first.
    init(_ reader: any ByteReader, limits: Limits, thorough: Bool, stop: Stop) throws(Failure) {
        let input = try AVInput(
            reader, probeBytes: thorough ? limits.probeBytes : min(limits.probeBytes, 256 << 10), stop: stop)
        if thorough {
            let code = unsafe avformat_find_stream_info(input.pointer, nil)
            if let failure = input.io.failure { throw failure }
            try stop.check(.probe)
            guard code >= 0 else {
                throw Failure(.invalid, .probe, "the streams could not be read", cause: avWords(code))
            }
        }
        let count = unsafe Int(input.pointer.pointee.nb_streams)
        guard count <= limits.streams else {
            throw Failure(.tooLarge, .probe, "\(count) streams exceed \(limits.streams) (Limits.streams)")
        }
        let (video, attached) = Self.chooseStream(input, count)
        if let video { try Self.refuseEncrypted(input, video) }
        for index in 0..<count where index != video {
            unsafe input.pointer.pointee.streams[index]!.pointee.discard = AVDISCARD_ALL
        }
        self.input = input
        self.video = video
        self.attached = attached
    }

    /// The attached-picture flag decides, then whether a track has more than one frame; never codec names or order.
    private static func chooseStream(_ input: borrowing AVInput, _ count: Int) -> (
        video: Int?, attached: Int?
    ) {
        var moving: [Int] = []
        var attached: Int?
        for index in 0..<count {
            let stream = unsafe input.pointer.pointee.streams[index]!.pointee
            guard unsafe stream.codecpar.pointee.codec_type == AVMEDIA_TYPE_VIDEO else { continue }
            let still = AV_DISPOSITION_ATTACHED_PIC | AV_DISPOSITION_TIMED_THUMBNAILS
            if unsafe stream.disposition & still != 0 {
                if attached == nil, unsafe stream.disposition & AV_DISPOSITION_ATTACHED_PIC != 0 {
                    attached = index
                }
            } else {
                moving.append(index)
            }
        }
        guard moving.count > 1 else { return (moving.first, attached) }
        let counts = frameCounts(input, moving)
        return (moving.first { counts[$0, default: 0] > 1 } ?? moving.first, attached)
    }

    /// Frames of each stream: as the index says, else as seen in a bounded look at the packets.
    private static func frameCounts(_ input: borrowing AVInput, _ streams: [Int]) -> [Int: Int] {
        var counts: [Int: Int] = [:]
        for index in streams {
            let stream = unsafe input.pointer.pointee.streams[index]!
            let indexed = unsafe avformat_index_get_entries_count(stream)
            counts[index] = max(unsafe Int(stream.pointee.nb_frames), Int(indexed))
        }
        if counts.values.allSatisfy({ $0 > 0 }) { return counts }
        guard let packet = try? AVParcel() else { return counts }  // no memory: the order decides
        var seen: [Int: Int] = [:]
        // A poster track ends after one packet; 64 packets show which tracks go on.
        for _ in 0..<64 {
            guard unsafe av_read_frame(input.pointer, packet.pointer) >= 0 else { break }
            let index = unsafe Int(packet.pointer.pointee.stream_index)
            seen[index, default: 0] += 1
            packet.clear()
        }
        _ = unsafe av_seek_frame(input.pointer, Int32(streams[0]), 0, AVSEEK_FLAG_BACKWARD)
        for index in streams {
            counts[index] = max(counts[index]! > 1 ? counts[index]! : 0, seen[index] ?? 0)
        }
        return counts
    }

    private static func refuseEncrypted(_ input: borrowing AVInput, _ index: Int) throws(Failure) {
        let stream = unsafe input.pointer.pointee.streams[index]!
        let letters = unsafe tag(of: stream.pointee.codecpar)
        let info = unsafe av_stream_get_side_data(stream, AV_PKT_DATA_ENCRYPTION_INIT_INFO, nil)
        guard unsafe info == nil, letters != "encv", letters != "drmi" else {
            throw Failure(.encrypted, .probe, "the video is encrypted; covers need clear video")
        }
    }

    /// Whether the header says enough to open a decoder and to report the clip.
    ///
    /// - Parameter needsDuration: an unknown duration is worth a longer look. Near at hand that is cheap; far away, for
    ///   transport streams, it costs a read of the tail.
    func isClear(needsDuration: Bool) -> Bool {
        guard let index = video ?? attached else { return false }
        let parameters = unsafe input.pointer.pointee.streams[index]!.pointee.codecpar.pointee
        guard unsafe video == nil || parameters.codec_id != AV_CODEC_ID_NONE else { return false }
        return !needsDuration || duration(of: index) != nil
    }

    var name: String {
        let full = unsafe String(cString: input.pointer.pointee.iformat.pointee.name)
        return full.split(separator: ",").first.map(String.init) ?? full
    }

    func duration(of index: Int) -> Double? {
        let whole = unsafe input.pointer.pointee.duration
        if whole != framemill_no_pts(), whole > 0 { return Double(whole) / Double(AV_TIME_BASE) }
        guard index == attached else { return streamDuration(index) }
        // An attached picture has none of its own, and lasts as long as what it is attached to.
        var longest: Double?
        for other in unsafe 0..<Int(input.pointer.pointee.nb_streams) {
            if let duration = streamDuration(other) { longest = max(longest ?? 0, duration) }
        }
        return longest
    }

    private func streamDuration(_ index: Int) -> Double? {
        let stream = unsafe input.pointer.pointee.streams[index]!.pointee
        guard unsafe stream.duration != framemill_no_pts(), unsafe stream.duration > 0 else { return nil }
        return unsafe Double(stream.duration) * Double(stream.time_base.num)
            / Double(max(1, stream.time_base.den))
    }

    /// EXIF number of the display matrix.
    func orientation(of index: Int) -> Int {
        let stream = unsafe input.pointer.pointee.streams[index]!
        var size = 0
        guard let data = unsafe av_stream_get_side_data(stream, AV_PKT_DATA_DISPLAYMATRIX, &size), size >= 36
        else {
            return 1
        }
        // Nine 32-bit numbers, by the line above; side data may lie anywhere.
        func number(_ index: Int) -> Int32 {
            unsafe UnsafeRawPointer(data).loadUnaligned(fromByteOffset: index * 4, as: Int32.self)
        }
        return Geometry.orientation(a: number(0), b: number(1), c: number(3), d: number(4))
    }

    /// Dolby Vision that has no layer plain players can show: profile 5, and what says it is compatible with nothing.
    /// The base layers of 7 to 9 are plain ones by definition, whatever early muxers wrote beside them.
    func isDolbyVisionOnly(_ index: Int) -> Bool {
        let stream = unsafe input.pointer.pointee.streams[index]!
        var size = 0
        guard let data = unsafe av_stream_get_side_data(stream, AV_PKT_DATA_DOVI_CONF, &size),
            size >= MemoryLayout<AVDOVIDecoderConfigurationRecord>.size
        else { return false }
        // As large as the record, by the line above.
        let record = unsafe UnsafeRawPointer(data).loadUnaligned(as: AVDOVIDecoderConfigurationRecord.self)
        return record.dv_profile == 5
            || (record.dv_bl_signal_compatibility_id == 0 && !(7...9).contains(record.dv_profile))
    }

    /// Matroska says in a tag that BlockAdditions carry an alpha plane.
    func hasAlphaSideChannel(_ index: Int) -> Bool {
        let metadata = unsafe input.pointer.pointee.streams[index]!.pointee.metadata
        guard let entry = unsafe av_dict_get(metadata, "alpha_mode", nil, 0) else { return false }
        return unsafe String(cString: entry.pointee.value) == "1"
    }

    /// Everything the container says of the stream.
    func facts(of index: Int) -> Facts {
        var facts = Facts()
        let context = unsafe input.pointer.pointee
        let stream = unsafe context.streams[index]!.pointee
        let parameters = unsafe stream.codecpar.pointee
        facts.source = .video
        facts.container = name
        facts.codec = unsafe String(cString: avcodec_get_name(parameters.codec_id))
        facts.storedWidth = unsafe Int(parameters.width)
        facts.storedHeight = unsafe Int(parameters.height)
        facts.orientation = orientation(of: index)
        (facts.rotation, facts.mirrored) = Geometry.words(facts.orientation)
        facts.duration = duration(of: index)
        if unsafe stream.nb_frames > 0 { facts.frameCount = unsafe Int(stream.nb_frames) }
        let rate = unsafe stream.avg_frame_rate.num > 0 ? stream.avg_frame_rate : stream.r_frame_rate
        if rate.num > 0, rate.den > 0 { facts.frameRate = Double(rate.num) / Double(rate.den) }
        for other in unsafe 0..<Int(context.nb_streams) {
            let type = unsafe context.streams[other]!.pointee.codecpar.pointee.codec_type
            if type == AVMEDIA_TYPE_AUDIO { facts.audio = true }
        }
        facts.approximate = isDolbyVisionOnly(index)
        return facts
    }

    /// The container's pixel aspect wins over the stream's own.
    func aspect(of index: Int, _ picture: borrowing AVPicture) -> (num: Int, den: Int) {
        let stream = unsafe input.pointer.pointee.streams[index]!.pointee
        let frame = unsafe picture.pointer.pointee
        for ratio in unsafe [
            stream.sample_aspect_ratio, frame.sample_aspect_ratio,
            unsafe stream.codecpar.pointee.sample_aspect_ratio,
        ] where ratio.num > 0 && ratio.den > 0 { return (Int(ratio.num), Int(ratio.den)) }
        return (1, 1)
    }
}
