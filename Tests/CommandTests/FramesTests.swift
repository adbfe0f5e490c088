import Foundation
import FramemillMedia
import TestSupport
import Testing

/// `framemill frames`, as a user runs it.
@Suite struct FramesTests {
    private let command: Command

    init() throws { command = try Command() }

    // MARK: - What is printed

    @Test(.enabled(if: Corpus.isPresent, "\(Corpus.absence)"), arguments: FrameList.rows)
    func printsTheHashesOfItsReferences(_ row: FrameList.Row) throws {
        let report = try command.frames(Corpus.file(row.path))
        #expect(report.frameCount == row.hashes.count)
        for frame in report.frames {
            guard let hash = row.hashes[frame.index], !hash.isEmpty else { continue }
            #expect(frame.sha256 == hash, "frame \(frame.index)")
        }
    }

    @Test func printsOneObjectWithFactsAndFrames() throws {
        try command.write(Self.pair)
        let result = try command.run("frames", "a.gif", "--json")
        #expect(result.status == 0, "\(result.errorText)")
        let object = try JSONSerialization.jsonObject(with: Data(result.output)) as? [String: Any]
        #expect(
            Set(object?.keys.map { $0 } ?? []) == [
                "url", "container", "width", "height", "plays", "loop_raw", "frames", "frame_count",
                "animated",
                "partial", "ms", "code",
            ])
        let report = try Report(result.output)
        #expect((report.width, report.height, report.frameCount, report.container) == (4, 2, 2, "gif"))
        #expect((report.plays, report.rawLoop, report.animated, report.partial) == (1, nil, true, false))
        #expect((report.ms, report.code) == (300, "ok"))
        let second = report.frames[1]
        #expect((second.rawDelay, second.ms) == (200, 200))
        #expect((second.left, second.top, second.width, second.height) == (2, 1, 1, 1))
        #expect((second.disposal, second.blend, second.whole) == ("background", "over", true))
    }

    @Test func printsATable() throws {
        try command.write(Self.pair)
        let text = try command.run("frames", "a.gif").text
        let lines = text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(lines.count == 5)
        #expect(lines[0].joined(separator: " ") == "a.gif: gif 4x2, plays once")
        #expect(lines[3].dropLast() == ["1", "200", "200", "1x1+2+1", "background", "over"])
        #expect(lines[4] == ["2", "frames,", "300", "ms"])
    }

    @Test func givesOneFrameEqualToTheOneInOrder() throws {
        try command.write(Self.pair)
        let all = try command.frames("a.gif")
        let one = try command.frames("a.gif", "--only", "1")
        #expect(one.frames == [all.frames[1]])
        #expect((one.frameCount, one.ms) == (2, 300))
        let none = try command.run("frames", "a.gif", "--only", "2", "--json")
        #expect(none.status == 2)
        #expect(none.text.contains("the animation has 2"))
    }

    // MARK: - What is written

    @Test func writesPicturesThatHoldTheFrames() throws {
        try command.write(Self.pair)
        let report = try command.frames("a.gif", "--out", "out")
        #expect(report.frames.map(\.file) == ["frame-00000.png", "frame-00001.png"])
        #expect(command.covers == ["frame-00000.png", "frame-00001.png"])
        for frame in report.frames {
            let pixels = try Tool.output(
                "ffmpeg",
                ["-v", "error", "-i", command.folder.file("out/\(frame.file!)"), "-f", "rawvideo"]
                    + ["-pix_fmt", "rgba", "-"])
            #expect(try Command.hash(pixels) == frame.sha256)
        }
    }

    @Test func rawPixelsAreTheBytesThatTheHashIsOf() throws {
        try command.write(Self.pair)
        let report = try command.frames("a.gif", "--out", "out", "--raw")
        #expect(report.frames.map(\.file) == ["frame-00000.rgba", "frame-00001.rgba"])
        let files = try report.frames.map { try command.folder.read("out/\($0.file!)") }
        for (file, frame) in zip(files, report.frames) { #expect(try Command.hash(file) == frame.sha256) }
        let piped = try command.run("frames", "a.gif", "--raw")
        #expect(piped.status == 0)
        #expect(piped.output == files[0] + files[1])
        let (red, green): ([UInt8], [UInt8]) = ([255, 0, 0, 255], [0, 255, 0, 255])
        #expect(files[1] == Array([red, red, red, red, red, red, green, red].joined()))
    }

    @Test(arguments: [("2", [2, 1]), ("2x2", [2, 1]), ("100", [4, 2]), ("0", [4, 2]), ("1x1", [1, 1])])
    func shrinksAndNeverEnlarges(size: String, pixels: [Int]) throws {
        try command.write(Self.pair)
        let piped = try command.run("frames", "a.gif", "--raw", "--only", "0", "--size", size)
        #expect(piped.output.count == pixels[0] * pixels[1] * 4)
        #expect(piped.output.prefix(4) == [255, 0, 0, 255])
    }

    @Test func hashesInvisiblePixelsAsZeros() throws {
        var gif = GIFBuilder(width: 2, height: 1)
        gif.frames = [.init(width: 2, height: 1, indices: [1, 2])]
        gif.frames[0].transparent = 1
        try command.write(gif)
        #expect(try command.pixels("a.gif") == [[0, 0, 0, 0, 0, 255, 0, 255]])
    }

    // MARK: - When it fails

    @Test func namesTheReasonWhenItFails() throws {
        try command.writeClips("a.mp4")
        let video = try command.run("frames", "a.mp4", "--json")
        #expect(video.status == 3)
        #expect(video.text.contains("\"code\":\"not_supported\""))
        #expect(video.errorText.contains("framemill cover --at"))
        #expect(try command.run("frames", "no.gif").status == 3)
        let blocked = try command.run("frames", "http://127.0.0.1:9/a.gif", "--json")
        #expect(blocked.text.contains("\"code\":\"blocked_address\""))
    }

    @Test func refusesWhatCantBeBeforeAnythingIsRun() throws {
        try command.write(Self.pair)
        for (words, hint) in [
            (["--raw", "--json"], "add --out DIR"), (["--only", "-1"], "a whole number"),
            (["--size", "0x4"], "a longest side"), (["--out", ""], "--out wants a path"),
            (["--out", "a.gif"], "--out a.gif cannot be"), (["b.gif"], "only one FILE or URL"),
        ] {
            let result = try Tool.run(Command.binary, ["frames", "a.gif"] + words, in: command.folder.path)
            #expect(result.status == 2)
            #expect(result.errorText.contains(hint), "\(result.errorText)")
            #expect(command.folder.files == ["a.gif"])
        }
    }

    @Test func readsAnimationsFromServers() throws {
        try command.write(Self.pair)
        let server = try FaultServer(root: command.folder.path)
        let over = try command.frames(server.url("/file/a.gif"), "--allow-net", "127.0.0.1/32")
        let local = try command.frames("a.gif")
        #expect(over.frames == local.frames)
    }

    /// More than a pipe holds, so that the writer meets its end whenever the reader leaves.
    @Test(arguments: [("--raw", 141), ("--raw --out f", 0)])
    func aReaderThatLeavesEndsItWithoutAWord(words: String, status: Int) throws {
        var gif = GIFBuilder(width: 200, height: 200)
        gif.frames = (0..<3).map { .init(width: 200, height: 200, index: UInt8($0)) }
        try command.write(gif)
        let script = "set -o pipefail; \(Command.binary) frames a.gif \(words) | true"
        let result = try Tool.run("bash", ["-c", script], in: command.folder.path)
        #expect((result.status, result.errorText) == (status, ""))
    }

    @Test func aSignalEndsIt() throws {
        let server = try SilentServer()
        let run = try command.start("frames", server.url, "--allow-net", "127.0.0.1/32")
        server.waitForVisitor()
        kill(run.processIdentifier, SIGINT)
        run.waitUntilExit()
        #expect(run.terminationStatus == 130)
    }

    /// Red, then a green pixel on it.
    private static let pair: GIFBuilder = {
        var gif = GIFBuilder(width: 4, height: 2)
        gif.frames = [.init(width: 4, height: 2, index: 1), .init(width: 1, height: 1, index: 2)]
        gif.frames[0].delay = 10
        (gif.frames[1].left, gif.frames[1].top) = (2, 1)
        (gif.frames[1].delay, gif.frames[1].disposal) = (20, 2)
        return gif
    }()
}
