internal import CFFmpeg
internal import FramemillEngine
internal import FramemillMedia

/// A container's bytes to one picture. Tries what the header alone allows first, and lets libav look further only when
/// that gives no picture.
struct VideoDecoder {
    let recipe: Recipe
    let limits: Limits
    let stop: Stop
    /// The facts are what is asked for, so that an unknown duration is worth its requests.
    var isProbe = false
    /// Whether the picture goes into a JPEG.
    var toPlanes = false

    /// libav writes to standard error unless told not to; once is enough.
    static let silence: Void = {
        framemill_quiet_log()
        // In one piece, whatever a header says. libav's own limit is 2 GiB; the largest picture that `Limits` lets through
        // by default has half of this.
        av_max_alloc(1 << 30)
    }()

    func decode(_ reader: any ByteReader, _ head: [UInt8], _ timer: inout StageTimer) throws(Failure)
        -> Decoded
    {
        IndexHint.index(head, of: reader)
        var last = Failure(.noVideoStream, .probe, "no video stream and no attached picture in this file")
        for look in Look.allCases {
            do throws(Failure) {
                if let picture = try attempt(reader, look, &timer) { return picture }
            } catch {
                last = error
                guard Self.isWorthALongerLook(error) else { break }
            }
            // What has no stream to decode can't have a damaged picture either.
            if look == .thorough, last.reason != .noDecodableFrame { break }
        }
        throw refine(last, head, reader)
    }

    /// How far to go for a picture.
    private enum Look: CaseIterable {
        /// What the header says is enough.
        case quick
        /// libav reads ahead and decodes to find what the header does not say.
        case thorough
        /// Any picture, however damaged.
        case damaged
    }

    private static func isWorthALongerLook(_ failure: Failure) -> Bool {
        [.noDecodableFrame, .noFrames, .noVideoStream, .unsupportedCodec].contains(failure.reason)
    }

    /// `nil`: the header does not say enough.
    private func attempt(
        _ reader: any ByteReader, _ look: Look, _ timer: inout StageTimer
    ) throws(Failure) -> Decoded? {
        let thorough = look != .quick
        let container = try Container(reader, limits: limits, thorough: thorough, stop: stop)
        guard thorough || container.isClear(needsDuration: reader.isLocal || isProbe) else { return nil }
        if let video = container.video {
            let facts = container.facts(of: video)
            try Self.ask(limits, width: facts.storedWidth, height: facts.storedHeight)
            if case .percent = recipe.at, facts.duration == nil, !thorough { return nil }
            IndexHint.firstSample(container.input, stream: video)
            timer.lap("probe", without: container.input.io.waited)
            return try picture(container, video, facts, look, &timer)
        }
        guard let attached = container.attached else { return nil }
        return try attachedPicture(container, attached, &timer)
    }

    private func picture(
        _ container: borrowing Container, _ index: Int, _ known: Facts, _ look: Look,
        _ timer: inout StageTimer
    ) throws(Failure) -> Decoded {
        var facts = known
        let waitedBefore = container.input.io.waited
        let chooser = FrameChooser(
            recipe: recipe, limits: limits, duration: facts.duration,
            hasAlpha: container.hasAlphaSideChannel(index), showDamaged: look == .damaged, stop: stop)
        let picture = try AVPicture()
        let choice = try chooser.choose(container.input, stream: index, into: picture)
        guard choice.isFound else {
            if let failure = container.input.io.failure { throw failure }
            throw choice.packetsRead == 0 && container.name == "mov"
                ? Failure(.noFrames, .decode, "the video track has no samples")
                : Failure(.noDecodableFrame, .decode, "no picture could be decoded from \(facts.codec) video")
        }
        timer.lap("decode", without: container.input.io.waited - waitedBefore)
        let aspect = container.aspect(of: index, picture)
        facts.add(picture, aspect: aspect)
        facts.timeUsed = choice.timeUsed
        facts.dark = choice.isDark
        facts.degraded = look == .damaged
        facts.framesDecoded = choice.picturesDecoded
        return Decoded(
            small: try convert(picture, aspect, &facts), facts: facts, isThorough: look != .quick)
    }

    private func convert(
        _ picture: borrowing AVPicture, _ aspect: (num: Int, den: Int), _ facts: inout Facts
    ) throws(Failure) -> SmallPicture {
        try Self.ask(limits, width: facts.storedWidth, height: facts.storedHeight)
        let plan = Plan(
            storedWidth: facts.storedWidth, storedHeight: facts.storedHeight, aspect: aspect,
            orientation: facts.orientation, recipe: recipe)
        facts.displayWidth = plan.displayWidth
        facts.displayHeight = plan.displayHeight
        try Self.ask(limits, width: plan.width, height: plan.height)
        return try PictureConverter.shrink(
            picture, plan: plan, orientation: facts.orientation, toPlanes: toPlanes)
    }

    /// The cover art of an audio file: one packet that is a picture file of its own.
    private func attachedPicture(
        _ container: borrowing Container, _ index: Int, _ timer: inout StageTimer
    ) throws(Failure) -> Decoded {
        let packet = unsafe container.input.pointer.pointee.streams[index]!.pointee.attached_pic
        guard let data = unsafe packet.data, unsafe packet.size > 0 else {
            throw Failure(.noVideoStream, .probe, "no video stream, and the attached picture is empty")
        }
        // libav owns `size` bytes at `data` while the container is open; the copy is ours.
        let bytes = unsafe Array(UnsafeBufferPointer(start: data, count: Int(packet.size)))
        var facts = container.facts(of: index)
        let format = Format.sniff(bytes)
        timer.lap("probe", without: container.input.io.waited)
        let small: SmallPicture
        if [.jpeg, .png, .webp, .gif].contains(format) {
            let still = try Still.decode(
                format, MemoryReader(bytes), limits: limits, stop: stop, targetBox: nil)
            facts.storedWidth = still.bitmap.width
            facts.storedHeight = still.bitmap.height
            facts.orientation = still.orientation
            (facts.rotation, facts.mirrored) = Geometry.words(still.orientation)
            let plan = Plan(
                storedWidth: facts.storedWidth, storedHeight: facts.storedHeight, aspect: (1, 1),
                orientation: still.orientation, recipe: recipe)
            facts.displayWidth = plan.displayWidth
            facts.displayHeight = plan.displayHeight
            facts.alpha = still.facts.alpha
            try Self.ask(limits, width: plan.width, height: plan.height)
            small = .pixels(
                Resampler.resize(still.bitmap, plan: plan, orientation: still.orientation))
            timer.lap("decode")
        } else {
            let picture = try AVPicture()
            var source = try PictureStream(container.input, stream: index, alpha: false, showDamaged: true)
            guard unsafe try source.only(packet, into: picture) else {
                throw Failure(
                    .noVideoStream, .decode, "no video stream, and the attached picture can't be decoded")
            }
            facts.add(picture, aspect: (1, 1))
            timer.lap("decode")
            small = try convert(picture, (1, 1), &facts)
        }
        facts.source = .attached
        return Decoded(small: small, facts: facts)
    }

    static func ask(_ limits: Limits, width: Int, height: Int) throws(Failure) {
        let (pixels, overflow) = width.multipliedReportingOverflow(by: height)
        guard !overflow, pixels <= limits.pixelsPerFrame else {
            throw Failure(
                .tooLarge, .probe,
                "\(width) x \(height) pixels exceed \(limits.pixelsPerFrame) (Limits.pixelsPerFrame)")
        }
    }

    /// Encrypted files often open as damage, or as a track without samples; their boxes say what they are.
    private func refine(_ failure: Failure, _ head: [UInt8], _ reader: any ByteReader) -> Failure {
        let isEncrypted =
            switch failure.reason {
            case .invalid: Self.holds(head, "encv") || isEncryptedSegment(head, reader)
            // ISO/IEC 14496-12, 8.12.1; Matroska's ContentEncAlgo and ContentEncKeyID.
            case .noFrames: Self.firstSampleEntry(head) == "encv"
            case .noDecodableFrame: Self.holds(head, [0x47, 0xE1]) && Self.holds(head, [0x47, 0xE2])
            default: false
            }
        guard isEncrypted else { return failure }
        return Failure(
            .encrypted, .probe, "the video is encrypted; covers need clear video", cause: failure.cause)
    }

    /// What the first sample entry of the first track is called; behind it there may be clear ones or encrypted ones.
    private static func firstSampleEntry(_ head: [UInt8]) -> String? {
        let word = Array("stsd".utf8)
        guard head.count >= 24,
            let place = (0...head.count - 24).first(where: { head[$0..<$0 + 4].elementsEqual(word) })
        else { return nil }
        return String(decoding: head[place + 16..<place + 20], as: UTF8.self)
    }

    /// A segment without its index: `moof` with sample encryption, then `mdat`.
    private func isEncryptedSegment(_ head: [UInt8], _ reader: any ByteReader) -> Bool {
        guard head.count > 8, Array(head[4..<8]) == Array("moof".utf8), Self.holds(head, "senc") else {
            return false
        }
        let end = head[..<4].reduce(0) { $0 << 8 | Int64($1) }
        var next = [UInt8](repeating: 0, count: 8)
        let got = unsafe next.withUnsafeMutableBytes { target in
            // The eight bytes of `next`; a source that fails here is simply not known to be encrypted.
            unsafe (try? reader.read(at: end, into: target)) ?? 0
        }
        return got == 8 && Array(next[4...]) == Array("mdat".utf8)
    }

    private static func holds(_ head: [UInt8], _ text: String) -> Bool { holds(head, Array(text.utf8)) }

    private static func holds(_ head: [UInt8], _ word: [UInt8]) -> Bool {
        guard head.count >= word.count else { return false }
        return (0...head.count - word.count).contains { head[$0..<$0 + word.count].elementsEqual(word) }
    }
}
