// WebP, frame by frame. libwebpdemux reads the container: where each frame lies in the file and on the canvas, and
// for how long. A frame's own bytes then go to libwebp's decoder as they are, on any thread: frames depend on each
// other on the canvas only, and canvases are our compositor's.
//
// Not libwebp's `WebPAnimDecoder`: it composes as it decodes, one frame after the other on one thread, and has no way
// to a frame but through all before it. Its arithmetic is followed (`PixelRows`).
//
// The bytes are held once, whole, for as long as the animation is open: the demuxer and the decoder want them in one
// piece. `Limits.sourceBytes` bounds them.
//
// Where files are broken or the specification leaves a choice, and who does what:
//   - the background colour: not used, the canvas begins transparent, as in browsers and in all of libwebp's tools;
//   - a frame that reaches past the canvas: the file is refused, as libwebp, Pillow and both browsers do;
//   - the file ends inside a frame: the whole ones are the animation, as in Firefox and ffmpeg (Pillow refuses);
//   - a frame that libwebp can't decode: the animation ends there, what is below stays; as the first frame, a refusal.

internal import CImage
internal import FramemillCanvas
internal import FramemillEngine
internal import FramemillMedia

struct WebPAnimation: FrameSource {
    private(set) var facts: AnimationFacts
    private let bytes: [UInt8]
    private let records: [WebPRecord]

    init(_ reader: any ByteReader, limits: Limits, stop: Stop) throws(Failure) {
        let source = SourceBytes(reader, limits: limits, stop: stop)
        let header = try WebPHeader(source)
        try source.fillAll()
        bytes = source.bytes
        (facts, records) = try unsafe bytes.lending { bytes throws(Failure) in
            let container = try unsafe WebPContainer(bytes)
            guard container.width == header.width, container.height == header.height else {
                throw Failure(.corrupt, .decode, "the WebP names two sizes")
            }
            return try unsafe container.index(bytes, limits: limits)
        }
    }

    func patchBytes(_ index: Int) -> Int { facts.frames[index].width * facts.frames[index].height * 4 }

    func hidesBelow(_ index: Int) -> Bool {
        !records[index].hasAlpha || facts.frames[index].blend == .source
    }

    func patch(_ index: Int, stop: Stop) throws(Failure) -> Patch {
        try stop.check(.decode)
        let (frame, record) = (facts.frames[index], records[index])
        var pixels = [UInt8](repeating: 0, count: frame.width * frame.height * 4)
        let status = try unsafe bytes.lending { bytes throws(Failure) in
            try unsafe pixels.lendingMutable { target throws(Failure) in
                // The demuxer gave the range as one within these bytes.
                let fragment = unsafe UnsafeRawBufferPointer(
                    rebasing: bytes[record.start..<record.start + record.count])
                return try unsafe WebPContainer.decode(fragment, into: target, stride: frame.width * 4)
            }
        }
        guard status == VP8_STATUS_OK else {
            let failure = WebPContainer.failure(status)
            if index == 0 || failure.reason == .outOfMemory { throw failure }
            return Patch(pixels: .rgba([]), pixelCount: 0, isOpaque: false, isWhole: false, isLast: true)
        }
        if !record.hasAlpha {
            WebPContainer.makeOpaque(&pixels, frame.width, 0, 0, (frame.width, frame.height))
        }
        return Patch(
            pixels: .rgba(pixels), pixelCount: frame.width * frame.height, isOpaque: !record.hasAlpha,
            isAlone: record.isKey, isWhole: true)
    }
}

/// Where the chunks of one frame's picture lie in the file, and whether any of its pixels may be less than opaque.
struct WebPRecord: Sendable {
    var start: Int
    var count: Int
    var hasAlpha: Bool
    /// Nothing of what is below can be seen (libwebp's `IsKeyFrame`).
    var isKey = true
}

extension WebPContainer {
    /// The whole frames. `bytes` are those that the container was made of.
    fileprivate func index(
        _ bytes: UnsafeRawBufferPointer, limits: Limits
    ) throws(Failure) -> (AnimationFacts, [WebPRecord]) {
        var facts = AnimationFacts(container: "webp", width: width, height: height, plays: 1)
        facts.partial = isPartial
        // Look-ups in an object that is alive; the iterator is released below.
        if unsafe WebPDemuxGetI(demuxer, WEBP_FF_FORMAT_FLAGS) & ANIMATION_FLAG.rawValue != 0 {
            let loop = unsafe Int(WebPDemuxGetI(demuxer, WEBP_FF_LOOP_COUNT))
            facts.rawLoop = loop
            facts.plays = loop
        }
        var records: [WebPRecord] = []
        var frame = unsafe WebPIterator()
        var isMore = unsafe WebPDemuxGetFrame(demuxer, 1, &frame) != 0
        defer { unsafe WebPDemuxReleaseIterator(&frame) }
        while isMore, unsafe frame.complete != 0, let start = unsafe frame.fragment.bytes {
            guard records.count < limits.frames else {
                throw Failure(
                    .tooLarge, .probe, "the WebP has more than \(limits.frames) frames (Limits.frames)")
            }
            var record = unsafe WebPRecord(
                start: UnsafeRawPointer(start) - bytes.baseAddress!, count: frame.fragment.size,
                hasAlpha: frame.has_alpha != 0)
            let described = unsafe Self.facts(frame)
            if let before = facts.frames.last, let key = records.last?.isKey {
                let isCleared = before.disposal == .background && (facts.isCovered(by: before) || key)
                record.isKey =
                    isCleared
                    || facts.isCovered(by: described) && (!record.hasAlpha || described.blend == .source)
            }
            records.append(record)
            facts.frames.append(described)
            isMore = unsafe WebPDemuxNextFrame(&frame) != 0
        }
        guard !records.isEmpty else {
            throw Failure(.corrupt, .decode, "the WebP's first picture is cut short or missing")
        }
        return (facts, records)
    }

    private static func facts(_ frame: WebPIterator) -> FrameFacts {
        // A copy of plain fields.
        unsafe FrameFacts(
            rawDelay: Double(max(0, frame.duration)), left: Int(frame.x_offset), top: Int(frame.y_offset),
            width: Int(frame.width), height: Int(frame.height),
            disposal: frame.dispose_method == WEBP_MUX_DISPOSE_BACKGROUND ? .background : .keep,
            blend: frame.blend_method == WEBP_MUX_BLEND ? .over : .source)
    }
}
