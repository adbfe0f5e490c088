import Foundation
import FramemillEngine
import FramemillImaging
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// Playing real animations: the frames, whatever goes on around them.
@Suite struct AnimationTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A red dot that walks over a blue ground, 8 pixels wide.
    private static func gif(frames: Int) -> [UInt8] {
        var gif = GIFBuilder(width: 8, height: 4)
        gif.loop = 0
        for index in 0..<frames {
            var frame = GIFBuilder.Frame(width: 1, height: 1, index: 1)
            if index == 0 { frame = GIFBuilder.Frame(width: 8, height: 4, index: 3) }
            (frame.left, frame.top, frame.delay) = (index == 0 ? 0 : index % 8, index / 8 % 4, index % 5)
            gif.frames.append(frame)
        }
        return gif.bytes
    }

    private func mill(_ change: (inout Configuration) -> Void = { _ in }) throws -> Framemill {
        var configuration = Configuration()
        configuration.allowFiles = true
        configuration.allowNet = ["127.0.0.1/32"]
        change(&configuration)
        return try Framemill(configuration, renderer: Imaging())
    }

    @Test func knowsSizeCountLoopsAndDelaysBeforeItDecodes() async throws {
        let path = try folder.write(Self.gif(frames: 6), to: "a.gif")
        let facts = try await mill().animation(at: path).facts
        #expect((facts.width, facts.height, facts.frameCount) == (8, 4, 6))
        #expect((facts.plays, facts.rawLoop) == (0, 0))
        #expect(facts.frames.map(\.rawDelay) == [0, 10, 20, 30, 40, 0])
        #expect(facts.frames.map(\.delay) == [100, 100, 20, 30, 40, 100])
    }

    @Test(arguments: [1, 500, 16 << 20])
    func givesAllFramesInOrderWhateverTheWindow(bytes: Int) async throws {
        let path = try folder.write(Self.gif(frames: 100), to: "a.gif")
        let animation = try await mill { $0.animationWindowBytes = bytes }.animation(at: path)
        var canvas = Bitmap(width: 8, height: 4)
        for at in 0..<32 { canvas.pixels.replaceSubrange(at * 4..<at * 4 + 4, with: [0, 0, 255, 255]) }
        var count = 0
        for try await frame in animation.frames {
            if count > 0 {
                let at = (count / 8 % 4 * 8 + count % 8) * 4
                canvas.pixels.replaceSubrange(at..<at + 4, with: [255, 0, 0, 255])
            }
            #expect(frame.index == count)
            #expect(frame.bitmap.pixels == canvas.pixels, "frame \(count)")
            #expect(frame.delay == animation.facts.frames[count].delay)
            count += 1
        }
        #expect(count == 100)
    }

    @Test func givesAnyFrameAloneAsInOrder() async throws {
        let path = try folder.write(Self.gif(frames: 40), to: "a.gif")
        let animation = try await mill().animation(at: path)
        for try await frame in animation.frames {
            #expect(try await animation.frame(at: frame.index) == frame)
        }
        let failure = await #expect(throws: Failure.self) { try await animation.frame(at: 40) }
        #expect(failure?.reason == .badOption)
    }

    @Test func eachIterationIsAPlayingFromTheStart() async throws {
        let path = try folder.write(Self.gif(frames: 12), to: "a.gif")
        let animation = try await mill().animation(at: path)
        for try await frame in animation.frames where frame.index == 3 { break }
        var indices: [Int] = []
        for try await frame in animation.frames { indices.append(frame.index) }
        #expect(indices == Array(0..<12))
    }

    @Test func playsSeveralAtOnceOnOneThread() async throws {
        let path = try folder.write(Self.gif(frames: 50), to: "a.gif")
        let mill = try mill {
            ($0.permits, $0.jobs, $0.animationWindowBytes) = (1, 1, 1000)
        }
        try await withThrowingTaskGroup(of: [Int].self) { group in
            for _ in 0..<20 {
                group.addTask {
                    var indices: [Int] = []
                    for try await frame in try await mill.animation(at: path).frames {
                        indices.append(frame.index)
                    }
                    return indices
                }
            }
            for try await indices in group { #expect(indices == Array(0..<50)) }
        }
    }

    @Test func downloadsOnceAndPlaysWithoutTheServer() async throws {
        // Larger than the first block, and than what the reader over the network keeps in memory at once.
        var gif = GIFBuilder(width: 300, height: 300)
        let pictures = (0..<UInt8(4)).map { index in
            var frame = GIFBuilder.Frame(width: 300, height: 300, index: index)
            frame.data = GIFBuilder.data(of: frame)
            return frame
        }
        for index in 0..<60 { gif.frames.append(pictures[index % 4]) }
        try folder.write(gif.bytes, to: "a.gif")
        var server: FaultServer? = try FaultServer(root: folder.path)
        let animation = try await mill().animation(at: server!.url("/file/a.gif"))
        #expect(gif.bytes.count > 1 << 20)
        #expect(server?.log.count == 2)
        server = nil
        for _ in 0..<2 {
            var colours: [[UInt8]] = []
            for try await frame in animation.frames { colours.append(Array(frame.bitmap.pixels[..<4])) }
            #expect(colours == (0..<60).map { gif.colors[$0 % 4] + [255] })
        }
    }

    @Test func aStillPictureHasOneFrame() async throws {
        try Tool.output(
            "ffmpeg",
            ["-v", "error", "-f", "lavfi", "-i", "color=red:s=16x8", "-frames:v", "1", folder.file("a.jpg")])
        let animation = try await mill().animation(at: folder.file("a.jpg"))
        #expect((animation.facts.container, animation.facts.frameCount) == ("jpeg", 1))
        var frames: [AnimationFrame] = []
        for try await frame in animation.frames { frames.append(frame) }
        #expect(frames.map { [$0.bitmap.width, $0.bitmap.height] } == [[16, 8]])
        #expect(frames == [try await animation.frame(at: 0)])
    }

    @Test func aVideoIsNotSupportedAndTheMessageSaysWhatIs() async throws {
        try Tool.output(
            "ffmpeg", ["-v", "error", "-f", "lavfi", "-i", "testsrc2=d=1:s=64x64", folder.file("a.mp4")])
        let failure = await #expect(throws: Failure.self) {
            try await mill().animation(at: folder.file("a.mp4"))
        }
        #expect(failure?.reason == .notSupported)
        #expect(failure?.message.contains("cover --at") == true)
    }
}
