import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import FramemillImaging

/// Animated WebP and APNG that are unusual or broken.
struct AnimationFaultTests {
    private static let red: [UInt8] = [255, 0, 0, 255]
    private static let green: [UInt8] = [0, 255, 0, 255]
    private static let blue: [UInt8] = [0, 0, 255, 255]
    private var red: [UInt8] { Self.red }
    private var green: [UInt8] { Self.green }
    private var blue: [UInt8] { Self.blue }

    // MARK: both

    @Test func saysOfEveryAnimationThatItIsOne() throws {
        let colors = [red, blue, green]
        let webp = WebPFile(
            width: 100, height: 100, frames: colors.map { WebPFile.frame($0, 100, 100, milliseconds: 200) })
        let folder = try TemporaryFolder()
        let raw = webp.frames.flatMap(\.pixels)
        let input = [
            "-v", "error", "-f", "rawvideo", "-pix_fmt", "rgba", "-s", "100x100", "-r", "5", "-i", "-",
        ]
        let palette = "split[a][b];[a]palettegen[p];[b][p]paletteuse"
        try Tool.output(
            "ffmpeg", input + ["-filter_complex", palette, folder.path + "/a.gif"], input: raw)
        for bytes in [webp.bytes, APNGFile.file(colors, 100, 100), try folder.read("a.gif")] {
            let (facts, frames) = try play(bytes)
            #expect(facts.frameCount == 3 && facts.animated && !facts.partial)
            #expect(facts.milliseconds == 600)
            #expect(frames.map { pixel($0, 50, 50) } == colors, "\(facts.container)")
            let cover = try StillCorpus.decode(bytes).get().facts
            #expect(cover.frameCount == 3 && cover.animated)
            #expect(cover.pictureUsed == .firstFrame && cover.duration == 0.6)
        }
        for bytes in [
            WebPFile.still(WebPFile.frame(red, 8, 8)),
            APNGFile.header(8, 8) + APNGFile.image(red, 8, 8) + APNGFile.end,
        ] {
            let (facts, frames) = try play(bytes)
            #expect(facts.frameCount == 1 && !facts.animated && facts.rawLoop == nil && facts.plays == 1)
            #expect(frames.map { pixel($0, 4, 4) } == [red])
            #expect(["png", "webp"].contains(facts.container))
            let cover = try StillCorpus.decode(bytes).get().facts
            #expect(cover.frameCount == 1 && !cover.animated && cover.pictureUsed == nil)
        }
    }

    @Test func raisesVeryShortTimesAndKeepsTheRawOnes() throws {
        let webp = WebPFile(
            width: 2, height: 2,
            frames: [0, 10, 11, 100].map { WebPFile.frame(Self.red, 2, 2, milliseconds: $0) })
        let facts = try play(webp.bytes).facts
        #expect(facts.frames.map(\.delay) == [100, 100, 11, 100])
        #expect(facts.frames.map(\.rawDelay) == [0, 10, 11, 100])
        let apng = try play(APNGFile.file([red, green], 2, 2, delays: [(0, 100), (0, 1000)])).facts
        #expect(apng.frames.map(\.delay) == [100, 100] && apng.milliseconds == 200)
        #expect(apng.frames.map(\.rawDelay) == [0, 0])
    }

    @Test func countsLoopsAsShowings() throws {
        for loop in [0, 1, 4] {
            let frames = [red, green].map { WebPFile.frame($0, 2, 2) }
            let webp = try play(WebPFile(width: 2, height: 2, loop: loop, frames: frames).bytes).facts
            let apng = try play(APNGFile.file([red, green], 2, 2, plays: loop)).facts
            for facts in [webp, apng] { #expect(facts.plays == loop && facts.rawLoop == loop) }
        }
    }

    // MARK: WebP

    @Test func blendsAndClearsAWebPByItsFlags() throws {
        let file = WebPFile(
            width: 6, height: 2,
            frames: [
                WebPFile.frame(red, 6, 2),
                WebPFile.frame([0, 0, 255, 128], left: 2, 2, 2, clears: true, replaces: true),
                WebPFile.frame([0, 0, 0, 0], left: 4, 2, 2),
            ])
        let (_, frames) = try play(file.bytes)
        let row = { (index: Int) in (0..<6).map { pixel(frames[index], $0, 1) } }
        let half: [UInt8] = [0, 0, 255, 128]
        #expect(row(1) == [red, red, half, half, red, red])
        #expect(row(2) == [red, red, [0, 0, 0, 0], [0, 0, 0, 0], red, red])
        let stop = Stop(after: .seconds(60))
        let alone = try open(file.bytes).frame(at: 2, crew: .alone, stop: stop)
        #expect(alone == frames[2])
    }

    @Test func refusesAWebPFrameThatPassesTheCanvas() throws {
        let file = WebPFile(
            width: 4, height: 4,
            frames: [WebPFile.frame(red, 4, 4), WebPFile.frame(blue, left: 2, top: 2, 4, 4)])
        let failure = #expect(throws: Failure.self) { try open(file.bytes) }
        #expect(failure?.reason == .corrupt)
        let cover = #expect(throws: Failure.self) { try StillCorpus.decode(file.bytes).get() }
        #expect(cover?.reason == .corrupt)
    }

    @Test func keepsTheWholeFramesOfAWebPThatIsCut() throws {
        var random = SplitMix(state: 3)
        let noise = (0..<3).map { _ in
            WebPFile.Frame(
                width: 16, height: 16,
                pixels: (0..<1024).map { $0 % 4 == 3 ? 255 : UInt8.random(in: 0...255, using: &random) })
        }
        let bytes = WebPFile(width: 16, height: 16, frames: noise).bytes
        let whole = try play(bytes).frames
        let (facts, frames) = try play(Array(bytes.dropLast(100)))
        #expect(facts.partial && facts.frameCount == 2)
        #expect(frames == Array(whole.prefix(2)))
        let cover = try StillCorpus.decode(Array(bytes.dropLast(100))).get().facts
        #expect(cover.frameCount == 2 && cover.animated && cover.degraded)
        #expect(throws: Failure.self) { try open(Array(bytes.prefix(200))) }
    }

    @Test func endsAWebPAtAFrameThatCannotBeDecoded() throws {
        let frames = [red, green, blue].map { WebPFile.frame($0, 16, 16) }
        var bytes = WebPFile(width: 16, height: 16, frames: frames).bytes
        // The second frame's VP8L signature and size stay; what follows is no lossless stream any more.
        let starts = bytes.indices.dropLast(4).filter { bytes[$0..<$0 + 4].elementsEqual("VP8L".utf8) }
        for at in starts[1] + 13..<starts[1] + 17 { bytes[at] = 0xFF }
        let (facts, given) = try play(bytes)
        #expect(facts.frameCount == 3)
        #expect(given.map(\.isWhole) == [true, false])
        #expect(given.map { pixel($0, 8, 8) } == [red, red])
    }

    // MARK: APNG

    @Test func readsTheTwoPartTimesOfAnAPNG() throws {
        let delays = [(5, 0), (0, 0), (16384, 16384), (16384, 4096), (1, 24), (65535, 1)]
        let colors = Array(repeating: red, count: delays.count)
        let facts = try play(APNGFile.file(colors, 1, 1, delays: delays)).facts
        #expect(facts.frames.map(\.delay) == [50, 100, 1000, 4000, 42, 65_535_000])
        #expect(abs(facts.frames[4].rawDelay - 41.6667) < 0.001)
        #expect(facts.frames[1].rawDelay == 0)
    }

    @Test func takesNoPictureForAFrameThatIsNone() throws {
        let bytes =
            APNGFile.header(4, 4) + APNGFile.animation(frames: 2) + APNGFile.image(red, 4, 4)
            + APNGFile.control(0, 4, 4) + APNGFile.frame(1, green, 4, 4) + APNGFile.control(2, 4, 4)
            + APNGFile.frame(3, blue, 4, 4) + APNGFile.end
        try expect(bytes, shows: [green, blue], partial: false, cover: red, .defaultImage)
    }

    @Test func rejectsALeadingControlThatIsNotOfTheWholePicture() throws {
        let bytes =
            APNGFile.header(8, 8) + APNGFile.animation(frames: 2) + APNGFile.control(0, 8, 1)
            + APNGFile.image(red, 8, 8) + APNGFile.control(1, 8, 8) + APNGFile.frame(2, green, 8, 8)
            + APNGFile.control(3, 8, 8) + APNGFile.frame(4, blue, 8, 8) + APNGFile.end
        try expect(bytes, shows: [green, blue], partial: true, cover: red, .defaultImage)
    }

    @Test func countsTheFramesOfAnAPNGThatAreThere() throws {
        var bytes = APNGFile.header(4, 4) + APNGFile.animation(frames: 5) + APNGFile.control(0, 4, 4)
        bytes += APNGFile.image(red, 4, 4)
        bytes += APNGFile.control(1, 4, 4) + APNGFile.frame(2, green, 4, 4)
        bytes += APNGFile.control(3, 4, 4) + APNGFile.frame(4, blue, 4, 4)
        try expect(bytes + APNGFile.end, shows: [red, green, blue], partial: true, cover: red, .firstFrame)
        // Cut inside the third frame.
        try expect(bytes.dropLast(20), shows: [red, green], partial: true, cover: red, .firstFrame)
    }

    @Test func endsAnAPNGBeforeAControlWithoutData() throws {
        let start = APNGFile.header(4, 4) + APNGFile.animation(frames: 3) + APNGFile.control(0, 4, 4)
        let bytes =
            start + APNGFile.image(red, 4, 4) + APNGFile.control(1, 4, 4) + APNGFile.control(2, 4, 4)
            + APNGFile.frame(3, blue, 4, 4) + APNGFile.end
        try expect(bytes, shows: [red], partial: true, cover: red, nil)
    }

    @Test func takesFramesInTheOrderOfTheFileWhateverTheirNumbers() throws {
        let bytes =
            APNGFile.header(4, 4) + APNGFile.animation(frames: 3) + APNGFile.control(0, 4, 4)
            + APNGFile.image(red, 4, 4) + APNGFile.control(2, 4, 4) + APNGFile.frame(1, green, 4, 4)
            + APNGFile.control(3, 4, 4) + APNGFile.frame(4, blue, 4, 4) + APNGFile.end
        try expect(bytes, shows: [red, green, blue], partial: true, cover: red, .firstFrame)
    }

    @Test func decodesAFrameWhoseDataIsOneLargeChunk() throws {
        let side = 900
        let bytes = APNGFile.file([red, green], side, side)
        #expect(APNGFile.frame(2, green, side, side).count > 3_200_000)
        try expect(bytes, shows: [red, green], partial: false, cover: red, .firstFrame)
    }

    @Test func endsAnAPNGAtAFramePastItsEdge() throws {
        let bytes =
            APNGFile.header(4, 4) + APNGFile.animation(frames: 2) + APNGFile.control(0, 4, 4)
            + APNGFile.image(red, 4, 4) + APNGFile.control(1, 4, 4, left: 1)
            + APNGFile.frame(2, green, 4, 4) + APNGFile.end
        try expect(bytes, shows: [red], partial: true, cover: red, nil)
    }

    @Test func asksTheLimitsOfAnAnimation() throws {
        var limits = Limits()
        limits.frames = 1
        let webp = WebPFile(width: 2, height: 2, frames: [red, blue].map { WebPFile.frame($0, 2, 2) })
        for bytes in [webp.bytes, APNGFile.file([red, green], 2, 2)] {
            let failure = #expect(throws: Failure.self) { try open(bytes, limits: limits) }
            #expect(failure?.reason == .tooLarge)
            // A cover needs no more than one.
            #expect(throws: Never.self) { try StillCorpus.decode(bytes, limits: limits).get() }
        }
    }

    // MARK: helpers

    private func expect(
        _ bytes: [UInt8], shows colors: [[UInt8]], partial: Bool, cover: [UInt8],
        _ used: Facts.AnimationPicture?, _ location: SourceLocation = #_sourceLocation
    ) throws {
        let (facts, frames) = try play(bytes)
        #expect(frames.map { pixel($0, 0, 0) } == colors, sourceLocation: location)
        #expect(!frames.map(\.isWhole).contains(false), sourceLocation: location)
        #expect(facts.frameCount == colors.count, sourceLocation: location)
        #expect(facts.partial == partial, sourceLocation: location)
        let still = try StillCorpus.decode(bytes).get()
        #expect(Array(still.bitmap.pixels.prefix(4)) == cover, sourceLocation: location)
        #expect(still.facts.frameCount == colors.count, sourceLocation: location)
        #expect(still.facts.animated == facts.animated, sourceLocation: location)
        #expect(still.facts.pictureUsed == used, sourceLocation: location)
    }

    private func open(_ bytes: [UInt8], limits: Limits = Limits()) throws -> any AnimationDecoder {
        try Imaging().animation(MemoryReader(bytes), limits: limits, stop: Stop(after: .seconds(60)))
    }

    private func play(_ bytes: [UInt8]) throws -> (facts: AnimationFacts, frames: [AnimationFrame]) {
        let decoder = try open(bytes)
        var place = AnimationPlace()
        var all: [AnimationFrame] = []
        while true {
            let stop = Stop(after: .seconds(60))
            let frames = try decoder.frames(from: &place, windowBytes: 1 << 20, crew: .alone, stop: stop)
            if frames.isEmpty { return (decoder.facts, all) }
            all += frames
        }
    }

    private func pixel(_ frame: AnimationFrame, _ x: Int, _ y: Int) -> [UInt8] {
        let at = (y * frame.bitmap.width + x) * 4
        return Array(frame.bitmap.pixels[at..<at + 4])
    }
}
