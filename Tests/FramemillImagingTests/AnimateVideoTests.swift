import Foundation
import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import FramemillImaging

/// Spans of videos as moving results.
struct AnimateVideoTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private func clip(_ name: String, _ source: String, _ options: [String]) throws -> [UInt8] {
        let file = folder.file(name)
        try Tool.output("ffmpeg", ["-v", "error", "-f", "lavfi", "-i", source] + options + [file])
        return try folder.read(name)
    }

    private func cover(_ clip: [UInt8], _ recipe: Recipe, at seconds: Double) throws -> Bitmap {
        var recipe = recipe
        recipe.at = .seconds(seconds)
        recipe.seek = .exact
        var timer = StageTimer()
        return try Imaging().picture(
            MemoryReader(clip), recipe: recipe, limits: Limits(), stop: Stop(after: .seconds(60)), &timer
        ).bitmap
    }

    /// Half a key frame interval behind a key frame, so that the span begins between two.
    @Test(arguments: [
        ("mp4", ["-c:v", "libx264", "-g", "25", "-pix_fmt", "yuv420p"]),
        ("ts", ["-c:v", "mpeg2video", "-q:v", "2"]),
        ("webm", ["-c:v", "libvpx-vp9", "-speed", "8", "-g", "25"]),
    ])
    func showsTheSamePicturesAsTheCoversOfItsMoments(_ kind: String, _ codec: [String]) throws {
        let clip = try clip("x.\(kind)", "testsrc2=s=160x120:d=5:r=25", codec)
        let recipe = AnimateTests.recipe(.longestSide(80)) {
            $0.at = .seconds(1.52)
            $0.seek = .exact
            $0.animated?.lossless = true
            $0.animated?.seconds = 2
        }
        let made = try AnimateTests.animate(clip, recipe)
        let judge = try AnimationJudge(made.bytes)
        #expect((judge.width, judge.height, judge.loop) == (80, 60, 0))
        // Twelve a second out of 25: the first picture of each twelfth.
        #expect(judge.delays.count == 24)
        #expect(judge.delays.reduce(0, +) == 2000)
        #expect(judge.delays.allSatisfy { $0 == 80 || $0 == 120 })
        let first = try #require(made.facts.timeUsed)
        #expect(abs(first - 1.52) < 0.041)
        var start = 0.0
        for (delay, canvas) in zip(judge.delays, judge.canvases) {
            #expect(try cover(clip, recipe, at: first + start + 0.001).pixels == canvas, "at \(start) s")
            start += Double(delay) / 1000
        }
        // What the source is stays what is said of it.
        #expect(abs((made.facts.duration ?? 0) - 5) < 0.1)
        #expect(made.facts.animation == Facts.Animation(frameCount: 24, plays: 0, duration: 2))
    }

    @Test func standsUprightAndEndsWithTheClip() throws {
        _ = try clip("x.mp4", "testsrc2=s=160x120:d=1:r=10", ["-c:v", "libx264", "-pix_fmt", "yuv420p"])
        let turned = folder.file("turned.mp4")
        try Tool.output(
            "ffmpeg",
            ["-v", "error", "-i", folder.file("x.mp4"), "-metadata:s:v", "rotate=90", "-c", "copy", turned])
        let bytes = try folder.read("turned.mp4")
        let recipe = AnimateTests.recipe(.longestSide(80)) {
            $0.at = .first
            $0.animated?.lossless = true
        }
        let judge = try AnimationJudge(try AnimateTests.animate(bytes, recipe).bytes)
        #expect((judge.width, judge.height) == (60, 80))
        #expect(judge.delays == Array(repeating: 100, count: 10))
        #expect(try cover(bytes, recipe, at: 0.501).pixels == judge.canvas(at: 500))
    }

    @Test func givesAStillPictureOfAClipOfOnePicture() throws {
        let clip = try clip("x.mp4", "testsrc2=s=160x120:d=1:r=1", ["-c:v", "libx264", "-frames:v", "1"])
        let made = try AnimateTests.animate(clip, AnimateTests.recipe())
        #expect(made.facts.animation == nil)
        #expect(try AnimationJudge(made.bytes).canvases.count == 1)
    }

    @Test func movesOnPastABlackOpening() throws {
        let clip = try clip(
            "x.mp4", "color=black:s=160x120:d=1:r=25[a];testsrc2=s=160x120:d=3:r=25[b];[a][b]concat",
            ["-c:v", "libx264", "-pix_fmt", "yuv420p"])
        let made = try AnimateTests.animate(clip, AnimateTests.recipe())
        #expect((made.facts.timeUsed ?? 0) >= 1)
        let first = try AnimationJudge(made.bytes).canvases[0]
        let light = stride(from: 0, to: first.count, by: 4).map { Int(first[$0]) }.reduce(0, +)
        #expect(light / (first.count / 4) > 60)
    }

    @Test func givesTheSameFileWithAnyHelp() async throws {
        let clip = try clip(
            "x.mp4", "testsrc2=s=160x120:d=3:r=25", ["-c:v", "libx264", "-pix_fmt", "yuv420p"])
        for most in [nil, 9] {
            let recipe = AnimateTests.recipe {
                $0.at = .first
                $0.animated?.maxFrames = most
            }
            let alone = try AnimateTests.animate(clip, recipe)
            let helped = try await AnimateTests.animateHelped(clip, recipe)
            #expect(helped.bytes == alone.bytes)
            #expect(helped.facts.animation == alone.facts.animation)
            #expect(helped.facts.framesDecoded == alone.facts.framesDecoded)
        }
    }
}
