// GIF, frame by frame. giflib walks the file once and tells where each frame's code blocks lie; nothing is inflated
// and nothing but the list is kept. A frame's bytes are then read again, joined and inflated by whoever wants it, on
// any thread: frames depend on each other on the canvas only.
//
// Where the specification is silent, and who does what:
//   - a frame past the screen's edge: clipped, as Firefox and ffmpeg do (Chromium and Pillow enlarge the screen for
//     the first frame);
//   - smaller than the screen, or nothing drawn yet: transparent, as browsers (Pillow, ffmpeg, ImageMagick paint the
//     background colour);
//   - no colour table, or an index behind its end: opaque black, as browsers;
//   - a frame of no pixels, or with a code size outside 1 to 11: left out, the rest is kept and marked partial;
//   - data that ends early in the middle of the file: what came is drawn, as in browsers;
//   - the file ends inside a frame: that frame is left out unless it is the only one, or all its pixels had come;
//   - a frame of delay 0: shown like any other, as browsers (the pygif suite merges it with the next);
//   - bytes that begin no block: the end, as in Chromium;
//   - several loop counts: the last one.

internal import FramemillEngine
internal import FramemillMedia
internal import Glibc

struct GIFAnimation: FrameSource {
    private(set) var facts: AnimationFacts
    private let reader: any ByteReader
    private let limits: Limits
    private let globalColors: [UInt32]
    private var records: [GIFRecord] = []

    init(_ reader: any ByteReader, limits: Limits, stop: Stop) throws(Failure) {
        let walker = try GIFWalker(reader, stop: stop)
        try Still.admit(width: walker.width, height: walker.height, limits: limits)
        self.reader = reader
        self.limits = limits
        globalColors = walker.colors
        facts = AnimationFacts(container: "gif", width: walker.width, height: walker.height, plays: 1)
        var refused: Failure?
        walk: while true {
            switch try walker.next() {
            case .end(let isWhole):
                facts.partial = facts.partial || !isWhole
                break walk
            case .frame(let record):
                try append(record, walker.words, stop, &refused)
            }
        }
        if let loop = walker.loop {
            facts.rawLoop = loop
            facts.plays = loop == 0 ? 0 : loop + 1
        }
        guard records.isEmpty else { return }
        throw refused ?? Failure(.noFrames, .probe, "the GIF has no picture")
    }

    private mutating func append(
        _ record: GIFRecord, _ words: String?, _ stop: Stop, _ refused: inout Failure?
    ) throws(Failure) {
        guard record.isPossible else {
            facts.partial = true
            refused =
                refused
                ?? Failure(
                    .corrupt, .decode,
                    "a GIF picture of \(record.width) x \(record.height) pixels with code size "
                        + "\(record.codeSize) can't be decoded", cause: words)
            return
        }
        guard records.count < limits.frames else {
            throw Failure(
                .tooLarge, .probe, "the GIF has more than \(limits.frames) frames (Limits.frames)")
        }
        records.append(record)
        facts.frames.append(record.facts)
        guard record.isCut else { return }
        if try patch(records.count - 1, stop: stop).isWhole { return }
        facts.partial = true
        if records.count > 1 {
            records.removeLast()
            facts.frames.removeLast()
        }
    }

    func patchBytes(_ index: Int) -> Int {
        let record = records[index]
        return pixels(record) + Int(record.dataEnd - record.dataStart)
    }

    func hidesBelow(_ index: Int) -> Bool { records[index].transparent == nil }

    func patch(_ index: Int, stop: Stop) throws(Failure) -> Patch {
        let record = records[index]
        let local = record.localColors * 3
        // The local colours and the code size byte stand right in front of the data.
        let start = record.dataStart - Int64(local) - 1
        var bytes = try read(from: start, count: Int(record.dataEnd - start))
        var colors = globalColors
        if local > 0 {
            colors = [UInt32](repeating: 0xFF00_0000, count: 256)
            for color in 0..<min(256, record.localColors) where color * 3 + 2 < bytes.count {
                colors[color] =
                    UInt32(bytes[color * 3]) | UInt32(bytes[color * 3 + 1]) << 8
                    | UInt32(bytes[color * 3 + 2]) << 16 | 0xFF00_0000
            }
        }
        if let transparent = record.transparent { colors[transparent] = 0 }
        let codeBytes = Self.join(&bytes, from: local + 1)
        let wanted = pixels(record)
        let (indices, count) = try Self.inflate(
            bytes, byteCount: codeBytes, codeSize: record.codeSize, pixels: wanted, stop: stop)
        return Patch(
            pixels: .indexed(indices, start: LZW.literals, colors: colors), pixelCount: count,
            isInterlaced: record.isInterlaced, isOpaque: record.transparent == nil,
            isWhole: count == visible(record))
    }

    /// The pixels from the first to the last that can lie on the canvas.
    private func visible(_ record: GIFRecord) -> Int {
        guard record.left < facts.width, record.top < facts.height else { return 0 }
        let rows =
            record.isInterlaced ? Int(record.height) : min(Int(record.height), facts.height - Int(record.top))
        return Int(record.width) * rows
    }

    /// As many pixels as are inflated: those that can be seen, no more than the data can hold, no more than allowed.
    private func pixels(_ record: GIFRecord) -> Int {
        let most = LZW.mostPixels(
            bytes: Int(record.dataEnd - record.dataStart), codeSize: record.codeSize)
        return min(visible(record), most, limits.pixelsPerFrame)
    }

    private func read(from start: Int64, count: Int) throws(Failure) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: count + LZW.codeSlack)
        var filled = 0
        while filled < count {
            let (reader, at) = (reader, filled)
            let got = try unsafe bytes.lendingMutable { room throws(Failure) in
                // `count` bytes and the slack were made above.
                try unsafe reader.read(
                    at: start + Int64(at), into: UnsafeMutableRawBufferPointer(rebasing: room[at..<count]))
            }
            if got == 0 { break }
            filled += got
        }
        return bytes
    }

    /// Moves the sub-blocks behind `start` together at the front and says how many bytes they hold.
    private static func join(_ bytes: inout [UInt8], from start: Int) -> Int {
        unsafe bytes.withUnsafeMutableBytes { all in
            var (from, to) = (start, 0)
            while from < all.count {
                let length = min(unsafe Int(all[from]), all.count - from - 1)
                guard length > 0 else { break }
                // The target is always in front of the source.
                unsafe memmove(all.baseAddress! + to, all.baseAddress! + from + 1, length)
                from += length + 1
                to += length
            }
            return min(to, all.count - LZW.codeSlack)
        }
    }

    private static func inflate(
        _ bytes: [UInt8], byteCount: Int, codeSize: Int, pixels: Int, stop: Stop
    ) throws(Failure) -> (indices: [UInt8], count: Int) {
        var outcome: Result<(pixels: Int, ending: LZW.Ending), Failure> = .success((0, .short))
        let room = LZW.literals + pixels + LZW.slack
        // `bytes` holds `byteCount` and the slack, the output and the table what `LZW.inflate` asks for.
        let indices = unsafe [UInt8](unsafeUninitializedCapacity: room) { output, count in
            unsafe withUnsafeTemporaryAllocation(of: UInt64.self, capacity: 4097) { table in
                unsafe bytes.withUnsafeBufferPointer { codes in
                    do throws(Failure) {
                        outcome = .success(
                            try unsafe LZW.inflate(
                                codes.baseAddress!, byteCount: byteCount, codeSize: codeSize,
                                output: output.baseAddress!, pixels: pixels, table: table.baseAddress!,
                                stop: stop))
                    } catch {
                        outcome = .failure(error)
                    }
                }
            }
            count = room
        }
        return (indices, try outcome.get().pixels)
    }
}
