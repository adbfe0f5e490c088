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

internal import FramemillCanvas
internal import FramemillEngine
internal import FramemillMedia

struct GIFAnimation: FrameSource {
    private(set) var facts: AnimationFacts
    private let reader: any ByteReader
    private let limits: Limits
    private let globalColors: [UInt32]
    private var records: [GIFRecord] = []
    /// The global colours with the transparent index that most files have for all their frames.
    private var commonTransparent: Int?
    private var commonColors: [UInt32] = []
    private let scratch = GIFScratch()

    /// Whether the walk came to the file's end.
    private(set) var isComplete = false

    /// - Parameter most: frames after which the walk may end, for who wants only those.
    /// - Throws: `noFrames`, `corrupt` where no frame can have a picture, `tooLarge`, and what the reader throws.
    init(
        _ reader: any ByteReader, limits: Limits, stop: Stop, most: Int = .max
    ) throws(Failure) {
        let walker = try GIFWalker(reader, stop: stop)
        self.reader = reader
        self.limits = limits
        globalColors = walker.colors
        facts = AnimationFacts(container: "gif", width: walker.width, height: walker.height, plays: 1)
        var end = GIFWalker.Step.end
        walk: while records.count < most {
            end = try walker.next()
            guard case .frame(let record) = end, try append(record) else { break }
        }
        isComplete = records.count < most
        commonTransparent = records.first { $0.transparent != nil }?.transparent
        commonColors = Self.clearing(commonTransparent, in: globalColors)
        if let loop = walker.loop {
            facts.rawLoop = loop
            facts.plays = loop == 0 ? 0 : loop + 1
        }
        try refuse(end, walker.words)
    }

    /// Says why there is no picture. What is wrong with a frame's size is said before what is wrong with the screen's.
    private mutating func refuse(_ end: GIFWalker.Step, _ words: String?) throws(Failure) {
        func corrupt(_ what: String) -> Failure { Failure(.corrupt, .decode, what, cause: words) }
        let hasSize = records.contains { $0.width > 0 && $0.height > 0 }
        if !records.isEmpty, !hasSize { throw corrupt("the GIF's picture has no pixels") }
        if records.isEmpty, case .frame = end {
            throw corrupt("the GIF's picture has an impossible code size")
        }
        try Still.admit(width: facts.width, height: facts.height, limits: limits)
        guard records.isEmpty else {
            guard records.contains(where: \.isPicture) else {
                throw corrupt("the GIF's picture has a code size that allows for no colours")
            }
            if case .end = end {} else { facts.partial = facts.partial || isComplete }
            return
        }
        if case .cut = end { throw corrupt("the GIF ends before its first picture") }
        throw Failure(.noFrames, .probe, "the GIF has no picture", cause: words)
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
        try scratch.withTools { (tools) throws(Failure) in try patch(index, &tools, stop) }
    }

    func patches(_ indices: Range<Int>, stop: Stop) throws(Failure) -> [Patch] {
        try scratch.withTools(for: indices.count) { (tools) throws(Failure) in
            var patches: [Patch] = []
            patches.reserveCapacity(indices.count)
            for index in indices { patches.append(try patch(index, &tools, stop)) }
            return patches
        }
    }

    private func patch(_ index: Int, _ tools: inout GIFTools, _ stop: Stop) throws(Failure) -> Patch {
        // The clock is asked by the window, and by the inflater in large frames.
        if stop.isCancelled { try stop.check(.decode) }
        let record = records[index]
        guard record.width > 0, record.height > 0 else {
            return Patch(
                pixels: .indexed([], start: 0, colors: globalColors), pixelCount: 0, isOpaque: false,
                isWhole: false)
        }
        // The local colours and the code size byte stand right in front of the data.
        let local = record.localColors * 3
        let start = record.dataStart - Int64(local) - 1
        try tools.read(from: reader, at: start, count: Int(record.dataEnd - start))
        let colors: [UInt32]
        if local > 0 {
            colors = tools.colors(record.localColors, transparent: record.transparent)
        } else if record.transparent == nil {
            colors = globalColors
        } else if record.transparent == commonTransparent {
            colors = commonColors
        } else {
            colors = Self.clearing(record.transparent, in: globalColors)
        }
        let wanted = pixels(record)
        var indices = tools.indices(LZW.literals + wanted + LZW.slack)
        let (count, ending) = try tools.inflate(
            from: local + 1, codeSize: record.codeSize, to: &indices, pixels: wanted, stop: stop)
        return Patch(
            pixels: .indexed(indices, start: LZW.literals, colors: colors), pixelCount: count,
            isInterlaced: record.isInterlaced, isOpaque: record.transparent == nil,
            isWhole: count == visible(record), isLast: count < wanted && ending != .short)
    }

    private static func clearing(_ index: Int?, in colors: [UInt32]) -> [UInt32] {
        var colors = colors
        if let index { colors[index] = 0 }
        return colors
    }

    func recycle(_ patches: [Patch]) { scratch.take(patches) }

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
}
