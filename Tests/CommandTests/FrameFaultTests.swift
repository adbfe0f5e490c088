import TestSupport
import Testing

/// What people have met in GIFs, each file to the letter.
@Suite struct FrameFaultTests {
    private let command: Command
    private let red: [UInt8] = [255, 0, 0, 255]
    private let green: [UInt8] = [0, 255, 0, 255]
    private let blue: [UInt8] = [0, 0, 255, 255]

    init() throws { command = try Command() }

    // MARK: - Loops and delays

    /// B67: the number counts repeats after the first showing.
    @Test(arguments: [(nil, 1), (0, 0), (1, 2), (4, 5)] as [(Int?, Int)])
    func countsPlays(loop: Int?, plays: Int) throws {
        var gif = GIFBuilder(width: 2, height: 2)
        gif.loop = loop
        gif.frames = [.init(width: 2, height: 2, index: 1), .init(width: 2, height: 2, index: 2)]
        try command.write(gif)
        let report = try command.frames("a.gif")
        #expect((report.plays, report.rawLoop) == (plays, loop))
    }

    /// B65
    @Test func raisesVeryShortDelaysAndTellsTheRawOnes() throws {
        var gif = GIFBuilder(width: 2, height: 2)
        for delay in [0, 1, 2, 10] {
            var frame = GIFBuilder.Frame(width: 2, height: 2, index: 1)
            frame.delay = delay
            gif.frames.append(frame)
        }
        try command.write(gif)
        let report = try command.frames("a.gif")
        #expect(report.frames.map(\.rawDelay) == [0, 10, 20, 100])
        #expect(report.frames.map(\.ms) == [100, 100, 20, 100])
        #expect(report.ms == 320)
    }

    // MARK: - B48: files that end too early, or too late

    /// Ten frames, each of its own colour.
    private func ten(_ change: (inout GIFBuilder) -> Void = { _ in }) -> GIFBuilder {
        var gif = GIFBuilder(width: 16, height: 16)
        gif.frames = (0..<10).map { .init(width: 16, height: 16, index: UInt8($0 % 4)) }
        change(&gif)
        return gif
    }

    @Test func aMissingTrailerIsNoFault() throws {
        try command.write(ten { $0.trailer = [] })
        let report = try command.frames("a.gif")
        #expect((report.frameCount, report.partial) == (10, false))
        #expect(report.frames.map(\.whole) == [Bool](repeating: true, count: 10))
    }

    @Test func whatFollowsTheTrailerIsNoFault() throws {
        try command.write(ten { $0.trailer += [UInt8](repeating: 0, count: 1024) })
        let report = try command.frames("a.gif")
        #expect((report.frameCount, report.partial) == (10, false))
    }

    /// The frame that is cut is there too, as far as it came, like in browsers; the seven before it are whole.
    @Test func keepsTheWholeFramesOfACutFile() throws {
        let whole = ten()
        let one = (whole.bytes.count - ten { $0.frames.removeLast() }.bytes.count)
        let end = whole.bytes.count - 1 - one * 2 - one / 2
        try command.folder.write(Array(whole.bytes[..<end]), to: "a.gif")
        let report = try command.frames("a.gif")
        #expect(report.frames.map(\.whole) == [Bool](repeating: true, count: 7) + [false])
        #expect(report.partial)
        try command.write(whole, as: "whole.gif")
        let reference = try command.frames("whole.gif")
        #expect(report.frames.prefix(7) == reference.frames.prefix(7))
    }

    @Test(arguments: 0..<13)
    func refusesAFileCutInItsHeader(length: Int) throws {
        try command.folder.write(Array(ten().bytes[..<length]), to: "a.gif")
        let (status, code) = try command.refusal()
        #expect(status == 3)
        #expect(["truncated_header", "empty", "not_media"].contains(code), "\(code)")
    }

    @Test func keepsWhatComesBeforeABrokenCode() throws {
        try command.write(
            ten { gif in
                // A clear code, then one that stands for nothing yet: 4 and 7, three bits each.
                gif.frames[5].data = GIFBuilder.blocks([0b111100, 0, 0])
            })
        let report = try command.frames("a.gif")
        #expect(report.frameCount >= 5)
        #expect(report.frames.prefix(5).map(\.whole) == [true, true, true, true, true])
        #expect(report.frames.dropFirst(5).map(\.whole).contains(false))
        #expect(report.partial)
    }

    // MARK: - B49: palettes and transparency are each frame's own

    @Test func aLocalPaletteIsForItsFrameAlone() throws {
        var gif = GIFBuilder(width: 2, height: 1)
        gif.colors = [[255, 0, 0], [0, 255, 0]]
        gif.frames = [
            .init(width: 2, height: 1, indices: [0, 0]), .init(width: 2, height: 1, indices: [0, 1]),
        ]
        gif.frames[1].colors = [[0, 0, 255], [255, 255, 0]]
        gif.frames[1].transparent = 0
        try command.write(gif)
        #expect(try command.pixels() == [red + red, red + [255, 255, 0, 255]])
    }

    @Test func aTransparentFirstFrameIsNotBlack() throws {
        var gif = GIFBuilder(width: 2, height: 1)
        gif.frames = [.init(width: 2, height: 1, indices: [0, 1])]
        gif.frames[0].transparent = 0
        try command.write(gif)
        #expect(try command.pixels() == [[0, 0, 0, 0] + red])
    }

    @Test func needsNoGlobalPalette() throws {
        var gif = GIFBuilder(width: 2, height: 1)
        gif.colors = []
        gif.frames = [
            .init(width: 2, height: 1, indices: [0, 1]), .init(width: 2, height: 1, indices: [0, 1]),
        ]
        gif.frames[0].colors = [[255, 0, 0], [0, 255, 0]]
        gif.frames[1].colors = [[0, 255, 0], [0, 0, 255]]
        try command.write(gif)
        #expect(try command.pixels() == [red + green, green + blue])
    }

    // MARK: - B32: frames past the canvas

    @Test func clipsFramesAtTheEdge() throws {
        var gif = GIFBuilder(width: 4, height: 4)
        gif.frames = [
            .init(width: 4, height: 4, index: 1), .init(width: 4, height: 4, index: 3),
            .init(width: 2, height: 2, index: 2),
        ]
        (gif.frames[1].left, gif.frames[1].top) = (2, 2)
        (gif.frames[2].left, gif.frames[2].top) = (10, 10)
        try command.write(gif)
        let frames = try command.pixels()
        let rows = [red + red + red + red, red + red + blue + blue]
        #expect(
            frames == [rows[0] + rows[0] + rows[0] + rows[0]]
                + Array(repeating: rows[0] + rows[0] + rows[1] + rows[1], count: 2))
    }

    @Test func aFrameFarOutsideDrawsNothing() throws {
        var gif = GIFBuilder(width: 188, height: 103)
        gif.frames = [.init(width: 188, height: 103, index: 1), .init(width: 20, height: 20, index: 2)]
        (gif.frames[1].left, gif.frames[1].top) = (26020, 28016)
        try command.write(gif)
        let report = try command.frames("a.gif")
        #expect((report.width, report.height, report.frameCount) == (188, 103, 2))
        #expect(report.frames[0].sha256 == report.frames[1].sha256)
        #expect((report.frames[1].left, report.frames[1].top) == (26020, 28016))
    }

    /// The frame says it has two billion pixels, and a few bytes of data.
    @Test func aDeclaredSizeAloneTakesNoMemory() throws {
        var gif = GIFBuilder(width: 240, height: 240)
        var vast = GIFBuilder.Frame(width: 45000, height: 45480, indices: [2, 2, 2, 2])
        vast.delay = 5
        gif.frames = [.init(width: 240, height: 240, index: 1), vast]
        try command.write(gif)
        let result = try Tool.run(
            "/usr/bin/env", ["bash", "-c", "ulimit -v 4000000; \(Command.binary) frames a.gif --json"],
            in: command.folder.path)
        let report = try FramesTests.Report(result.output)
        #expect((report.width, report.height, report.frameCount) == (240, 240, 2))
    }

    // MARK: - B36: hostile and tiny

    @Test(arguments: [0, 12, 13, 255])
    func refusesACodeSizeThatNoTableHolds(size: Int) throws {
        var gif = GIFBuilder(width: 2, height: 2)
        gif.frames = [.init(width: 2, height: 2, index: 1)]
        gif.frames[0].codeSize = size
        gif.frames[0].data = GIFBuilder.blocks([0x44, 0x01])
        try command.write(gif)
        let (status, code) = try command.refusal()
        #expect((status, code) == (3, "corrupt"))
    }

    @Test(arguments: [1, 9, 10, 11])
    func decodesOrRefusesUnusualCodeSizes(size: Int) throws {
        var gif = GIFBuilder(width: 2, height: 2)
        gif.frames = [.init(width: 2, height: 2, index: 1)]
        gif.frames[0].codeSize = size
        gif.frames[0].literalsPerClear = 1
        try command.write(gif)
        let result = try Tool.run(Command.binary, ["frames", "--raw", "a.gif"], in: command.folder.path)
        // With one bit a pixel the first literal fills the table, and what follows is each viewer's own.
        let least = size == 1 ? red : red + red + red + red
        #expect(result.status == 3 || result.output.starts(with: least) && result.output.count == 16)
    }

    @Test(arguments: [(1, 0), (0, 1)])
    func refusesAFrameOfNoPixels(width: Int, height: Int) throws {
        var gif = GIFBuilder(width: 1, height: 1)
        gif.frames = [.init(width: width, height: height, indices: [])]
        try command.write(gif)
        let (status, code) = try command.refusal()
        #expect((status, code) == (3, "corrupt"))
    }

    @Test func aFrameWithoutDataIsNotWhole() throws {
        var gif = GIFBuilder(width: 1, height: 1)
        gif.frames = [.init(width: 1, height: 1, index: 1)]
        gif.frames[0].data = [0]
        try command.write(gif)
        let result = try Tool.run(Command.binary, ["frames", "--json", "a.gif"], in: command.folder.path)
        if result.status == 0 {
            let report = try FramesTests.Report(result.output)
            #expect((report.frameCount, report.partial) == (1, true))
        } else {
            #expect(result.status == 3)
        }
    }

    @Test(arguments: [7, 9])
    func setsInterlacedRowsInOrder(side: Int) throws {
        // Rows come in four passes; each pixel of a row has the number of the row it belongs to.
        let order: [Int] = [(0, 8), (4, 8), (2, 4), (1, 2)].flatMap { (first, step) -> [Int] in
            Array(stride(from: first, to: side, by: step))
        }
        let indices = order.flatMap { (row: Int) -> [UInt8] in [UInt8](repeating: UInt8(row), count: side) }
        var gif = GIFBuilder(width: side, height: side)
        gif.colors = (0..<16).map { [UInt8($0 * 16), 0, 0] }
        var frame = GIFBuilder.Frame(width: side, height: side, indices: indices)
        (frame.codeSize, frame.isInterlaced) = (4, true)
        gif.frames = [frame]
        try command.write(gif)
        let rows = (0..<side * side).flatMap { (place: Int) -> [UInt8] in
            [UInt8(place / side * 16), 0, 0, 255]
        }
        #expect(try command.pixels() == [rows])
    }

    @Test(arguments: [(1, 1), (2, 2), (1, 2)])
    func takesClearCodesWhereverTheyStand(literalsPerClear: Int, clears: Int) throws {
        var gif = GIFBuilder(width: 4, height: 1)
        gif.frames = [.init(width: 4, height: 1, indices: [1, 2, 3, 1])]
        (gif.frames[0].literalsPerClear, gif.frames[0].clears) = (literalsPerClear, clears)
        try command.write(gif)
        #expect(try command.pixels() == [red + green + blue + red])
    }
}
