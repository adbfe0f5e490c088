// APNG, frame by frame. The index tells where each frame's data lies; nothing but the index is kept. A frame's data is
// then read again and made into a PNG of its own, the file's header with the frame's size in front of it, which libpng
// decodes on any thread: frames depend on each other on the canvas only.
//
// Not libavformat's demuxer with libavcodec's decoder: that pair composes as it goes, one frame after the other, has no
// way to a frame but through all before it, and refuses files that browsers show.

internal import FramemillCanvas
internal import FramemillEngine
internal import FramemillMedia

struct APNGAnimation: FrameSource {
    private let reader: any ByteReader
    private let limits: Limits
    private let index: APNGIndex

    init(_ reader: any ByteReader, limits: Limits, stop: Stop) throws(Failure) {
        self.reader = reader
        self.limits = limits
        index = try APNGIndex(reader, limits: limits, stop: stop)
    }

    var facts: AnimationFacts { index.facts }

    func patchBytes(_ index: Int) -> Int {
        let (frame, record) = (facts.frames[index], self.index.records[index])
        // The data is there twice while it is put together.
        return frame.width * frame.height * 4 + 2 * Int(record.end - record.start)
    }

    func hidesBelow(_ index: Int) -> Bool { self.index.isOpaque || facts.frames[index].blend == .source }

    /// Broken data ends the animation, as in Firefox: what follows would be drawn on it.
    func patch(_ index: Int, stop: Stop) throws(Failure) -> Patch {
        try stop.check(.decode)
        let frame = facts.frames[index]
        let stream = try stream(frame, self.index.records[index])
        do throws(Failure) {
            let (pixels, isWhole) = try PNGStream.decode(stream, width: frame.width, height: frame.height)
            // Rows that never came are 0, and leave what is below.
            let last = isWhole ? pixels.count - 1 : pixels.lastIndex { $0 != 0 } ?? 0
            return Patch(
                pixels: .rgba(pixels), pixelCount: last / 4 + 1, isOpaque: self.index.isOpaque && isWhole,
                isWhole: isWhole, isLast: !isWhole)
        } catch {
            if index == 0 { throw error }
            return Patch(pixels: .rgba([]), pixelCount: 0, isOpaque: false, isWhole: false, isLast: true)
        }
    }

    /// A PNG that holds this frame alone.
    private func stream(_ frame: FrameFacts, _ record: APNGRecord) throws(Failure) -> [UInt8] {
        guard record.end - record.start <= limits.sourceBytes else {
            throw Failure(
                .tooLarge, .decode,
                "a frame of the PNG has \((record.end - record.start) >> 20) MiB, "
                    + "\(limits.sourceBytes >> 20) MiB are allowed (Limits.sourceBytes)")
        }
        let chunks = try reader.bytes(at: record.start, count: Int(record.end - record.start))
        var stream = PNGStream.signature
        stream.reserveCapacity(chunks.count + index.colors.count + 64)
        let size = PNGStream.big32(UInt32(frame.width)) + PNGStream.big32(UInt32(frame.height))
        PNGStream.append("IHDR", size + index.format, to: &stream)
        stream += index.colors
        var at = 0
        while at + 8 <= chunks.count {
            let body = at + 8
            let length = PNGWalker.big32(chunks[at...], 0)
            let type = String(decoding: chunks[at + 4..<body], as: UTF8.self)
            let end = min(body + length, chunks.count)
            switch (type, record.isDefault) {
            // With the checksum that it has, where that has come.
            case ("IDAT", true) where end + 4 <= chunks.count: stream += chunks[at..<end + 4]
            case ("IDAT", true): PNGStream.append("IDAT", chunks[body..<end], to: &stream)
            // Four bytes of sequence number, then what an IDAT would hold.
            case ("fdAT", false) where body + 4 <= end:
                PNGStream.append("IDAT", chunks[body + 4..<end], to: &stream)
            default: break
            }
            at = body + length + 4
        }
        PNGStream.append("IEND", [], to: &stream)
        return stream
    }
}
