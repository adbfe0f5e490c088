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
//   - a frame of no pixels: counted, and draws nothing, as in Chromium (Firefox leaves it out, Pillow stops there);
//   - a code that stands for nothing, or the end code before the last pixel: what came is drawn, and the animation ends
//     there, as in both browsers (ffmpeg and libvips go on);
//   - data that runs out without an end code: what came is drawn, and the rest follows, as in browsers;
//   - a code size of 12 and more: the end, as in Firefox, Pillow and libvips; alone in a file, a refusal;
//   - the file ends inside a frame: what came of it is drawn, and it is marked as not whole, as browsers show it
//     (Pillow and ffmpeg 5 leave it out);
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
        walk: while true {
            switch try walker.next() {
            case .end(let isWhole):
                facts.partial = facts.partial || !isWhole
                break walk
            case .frame(let record):
                guard try append(record) else {
                    facts.partial = true
                    break walk
                }
            }
        }
        if let loop = walker.loop {
            facts.rawLoop = loop
            facts.plays = loop == 0 ? 0 : loop + 1
        }
        if records.isEmpty { throw Failure(.noFrames, .probe, "the GIF has no picture") }
        guard records.contains(where: \.isPicture) else {
            throw Failure(
                .corrupt, .decode, "the GIF's picture has no pixels or a code size that can't be decoded",
                cause: walker.words)
        }
    }

    /// `false` where the walk ends for browsers: at a code size that no table can hold.
    private mutating func append(_ record: GIFRecord) throws(Failure) -> Bool {
        guard LZW.codeSizes.contains(record.codeSize) else { return false }
        guard records.count < limits.frames else {
            throw Failure(
                .tooLarge, .probe, "the GIF has more than \(limits.frames) frames (Limits.frames)")
        }
        records.append(record)
        facts.frames.append(record.facts)
        facts.partial = facts.partial || record.isCut || !record.isPicture
        return true
    }

    func patchBytes(_ index: Int) -> Int {
        let record = records[index]
        return pixels(record) + Int(record.dataEnd - record.dataStart)
    }

    func hidesBelow(_ index: Int) -> Bool { records[index].transparent == nil }

    func patch(_ index: Int, stop: Stop) throws(Failure) -> Patch {
        let record = records[index]
        guard record.width > 0, record.height > 0 else {
            return Patch(
                pixels: .indexed([], start: 0, colors: globalColors), pixelCount: 0, isOpaque: false,
                isWhole: false)
        }
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
        let (indices, count, ending) = try Self.inflate(
            bytes, byteCount: codeBytes, codeSize: record.codeSize, pixels: wanted, stop: stop)
        return Patch(
            pixels: .indexed(indices, start: LZW.literals, colors: colors), pixelCount: count,
            isInterlaced: record.isInterlaced, isOpaque: record.transparent == nil,
            isWhole: count == visible(record), isLast: count < wanted && ending != .short)
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
    ) throws(Failure) -> (indices: [UInt8], count: Int, ending: LZW.Ending) {
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
        let (count, ending) = try outcome.get()
        return (indices, count, ending)
    }
}
