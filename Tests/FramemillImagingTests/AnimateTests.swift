import Foundation
import FramemillEngine
import FramemillMedia
import Synchronization
import TestSupport
import Testing

@testable import FramemillImaging

/// Moving results, judged by libwebp's own player.
struct AnimateTests {
    static let rows = Corpus.rows("gif", "webp", "apng").filter {
        // Long and large ones take minutes without loss, and prove nothing that the others don't.
        $0.refusals.isEmpty && ($0.number("frames") ?? 1) > 1 && $0.byteCount < 120_000
            && !$0.path.contains("many_frames") && !$0.path.contains("big_screen")
    }

    static func recipe(_ box: Recipe.Box = .longestSide(48), _ change: (inout Recipe) -> Void = { _ in })
        -> Recipe
    {
        var recipe = Recipe()
        recipe.box = box
        recipe.format = .webp
        recipe.animated = Recipe.Animated()
        change(&recipe)
        return recipe
    }

    static func animate(_ bytes: [UInt8], _ recipe: Recipe, crew: Crew = .alone) throws -> Artifact {
        try Imaging().render(
            MemoryReader(bytes), recipe: recipe, limits: Limits(), crew: crew,
            stop: Stop(after: .seconds(600)))
    }

    /// By up to three threads.
    static func animateHelped(_ bytes: [UInt8], _ recipe: Recipe) async throws -> Artifact {
        let (permits, lane) = (Permits(count: 3), Lane<Void>("test", width: 4) { () })
        return try await lane.run(stop: Stop(after: .seconds(600))) { _, stop throws(Failure) in
            try permits.holding { () throws(Failure) in
                try Imaging().render(
                    MemoryReader(bytes), recipe: recipe, limits: Limits(),
                    crew: Crew(lane, permits: permits), stop: stop)
            }
        }
    }

    /// Every canvas of a source at the size that a recipe asks for, with the time it begins; and when the last is over.
    static func resized(_ bytes: [UInt8], _ recipe: Recipe) throws -> (pictures: [TimedPicture], end: Int) {
        let stop = Stop(after: .seconds(600))
        let decoder = try Imaging().animation(MemoryReader(bytes), limits: Limits(), stop: stop)
        let facts = decoder.facts
        let plan = Plan(
            storedWidth: facts.width, storedHeight: facts.height, aspect: (1, 1), orientation: 1,
            recipe: recipe)
        var place = AnimationPlace()
        var (clock, pictures) = (0, [TimedPicture]())
        while let frame = try decoder.frames(from: &place, windowBytes: 1, crew: .alone, stop: stop).first {
            pictures.append(
                TimedPicture(
                    start: clock, bitmap: Resampler.resize(frame.bitmap, plan: plan, orientation: 1)))
            clock += frame.delay
        }
        return (pictures, clock)
    }

    /// With 0, 0, 0, 0 for each that is fully transparent.
    private static func visible(_ pixels: [UInt8]) -> [UInt8] {
        var pixels = pixels
        for at in stride(from: 0, to: pixels.count, by: 4) where pixels[at + 3] == 0 {
            (pixels[at], pixels[at + 1], pixels[at + 2]) = (0, 0, 0)
        }
        return pixels
    }

    @Test(.enabled(if: Corpus.isPresent, "\(Corpus.absence)"), arguments: rows)
    func losesNoPixelNoMillisecondAndNoLoop(_ row: Corpus.Row) throws {
        let source = try TemporaryFolder.bytes(of: row.file)
        let recipe = Self.recipe { $0.animated?.lossless = true }
        let (expected, end) = try Self.resized(source, recipe)
        let made = try Self.animate(source, recipe)
        let judge = try AnimationJudge(made.bytes)
        let facts = try Imaging().animation(
            MemoryReader(source), limits: Limits(), stop: Stop(after: .seconds(60))
        ).facts
        #expect((judge.width, judge.height) == (made.facts.width, made.facts.height))
        for picture in expected {
            let isSame = Self.visible(judge.canvas(at: picture.start)) == Self.visible(picture.bitmap.pixels)
            #expect(isSame, "at \(picture.start) ms")
        }
        guard let animation = made.facts.animation else {
            // Nothing in it moves at this size.
            #expect(judge.delays.count == 1)
            return
        }
        #expect(judge.delays.reduce(0, +) == end)
        // The format counts to 65535.
        #expect(judge.loop == min(facts.plays, 65535))
        #expect((animation.frameCount, animation.plays) == (judge.delays.count, judge.loop))
        #expect(animation.duration == Double(end) / 1000)
        #expect(made.facts.frameCount == facts.frameCount)
    }

    @Test(.enabled(if: Corpus.isPresent, "\(Corpus.absence)"), arguments: rows)
    func staysNearTheSourceWithLoss(_ row: Corpus.Row) throws {
        let source = try TemporaryFolder.bytes(of: row.file)
        let recipe = Self.recipe(.longestSide(96)) { $0.quality = 90 }
        let judge = try AnimationJudge(try Self.animate(source, recipe).bytes)
        for picture in try Self.resized(source, recipe).pictures {
            let shown = judge.canvas(at: picture.start)
            let alone = try Still.decode(
                .webp, MemoryReader(try Encoder.encode(picture.bitmap, recipe: recipe)), limits: Limits(),
                stop: Stop(after: .seconds(60)), targetBox: nil)
            // What the format itself loses of such a picture, and what a quality of 90 takes for unchanged.
            let loss = Self.distance(picture.bitmap.pixels, alone.bitmap.pixels)
            #expect(Self.distance(picture.bitmap.pixels, shown) < loss + 4, "at \(picture.start) ms")
            let hasItsAlpha = stride(from: 3, to: shown.count, by: 4).allSatisfy {
                picture.bitmap.pixels[$0] == shown[$0]
            }
            #expect(hasItsAlpha, "alpha at \(picture.start) ms")
        }
    }

    /// The mean difference of a channel, as it shows: under little alpha it hardly does.
    private static func distance(_ ours: [UInt8], _ theirs: [UInt8]) -> Double {
        var sum = 0
        for pixel in stride(from: 0, to: ours.count, by: 4) {
            for channel in pixel..<pixel + 3 {
                sum += abs(Int(ours[channel]) - Int(theirs[channel])) * Int(ours[pixel + 3])
            }
        }
        return Double(sum) / 255 / Double(ours.count / 4 * 3)
    }

    @Test func joinsFramesThatLookTheSame() throws {
        let whole = (left: 0, top: 0, width: 8, height: 8)
        let source = DrawnGIF.bytes(
            width: 8, height: 8, loop: 2,
            [
                .init(0, delay: 7, at: whole), .init(0, delay: 8, at: whole), .init(1, delay: 30, at: whole),
                .init(3, delay: 9, at: whole), .init(0, delay: 1, at: whole),
            ])
        let made = try Self.animate(source, Self.recipe())
        // 10 ms are shown for 100, as everywhere.
        #expect(try AnimationJudge(made.bytes).delays == [150, 390, 100])
        #expect(made.facts.animation == Facts.Animation(frameCount: 3, plays: 3, duration: 0.64))
        #expect((made.facts.frameCount, made.facts.animated, made.facts.format) == (5, true, "webp"))
    }

    @Test func givesAStillPictureOfWhatDoesNotMove() throws {
        let whole = (left: 0, top: 0, width: 8, height: 8)
        for count in [1, 3] {
            let frames = Array(repeating: DrawnGIF.Frame(2, at: whole), count: count)
            let made = try Self.animate(
                DrawnGIF.bytes(width: 8, height: 8, loop: 0, frames), Self.recipe())
            #expect(made.facts.animation == nil)
            #expect(made.facts.animated == (count > 1))
            #expect(try AnimationJudge(made.bytes).canvases.count == 1)
        }
    }

    @Test func thinsToARateAndKeepsTheTimeOfWhatIsLeft() throws {
        let frames = (0..<100).map { index in
            DrawnGIF.Frame(index % 3, delay: 4, at: (left: 0, top: 0, width: 8, height: 8))
        }
        let source = DrawnGIF.bytes(width: 8, height: 8, loop: 0, frames)
        let made = try Self.animate(source, Self.recipe { $0.animated?.maxFramesPerSecond = 12 })
        let judge = try AnimationJudge(made.bytes)
        // Four seconds; neighbours of one colour are joined.
        #expect(judge.delays.count <= 48)
        #expect(judge.delays.reduce(0, +) == 4000)
        var start = 0
        for (delay, canvas) in zip(judge.delays, judge.canvases) {
            #expect(start % 40 == 0)
            let color = DrawnGIF.colors[start / 40 % 3]
            #expect(zip(canvas, color).allSatisfy { abs(Int($0) - Int($1)) < 6 }, "at \(start) ms")
            start += delay
        }
    }

    @Test func endsBeforeThereAreTooManyFrames() throws {
        let frames = (0..<9).map { index in
            DrawnGIF.Frame(index % 3, delay: 5, at: (left: 0, top: 0, width: 8, height: 8))
        }
        let source = DrawnGIF.bytes(width: 8, height: 8, loop: nil, frames)
        let made = try Self.animate(source, Self.recipe { $0.animated?.maxFrames = 4 })
        #expect(try AnimationJudge(made.bytes).delays == [50, 50, 50, 50])
        #expect(made.facts.animation == Facts.Animation(frameCount: 4, plays: 1, duration: 0.2))
        #expect(made.facts.frameCount == 9)
    }

    @Test(
        arguments: [
            { $0.format = .jpeg }, { $0.quality = 0 }, { $0.effort = 7 }, { $0.animated?.maxFrames = 0 },
            { $0.animated?.maxFramesPerSecond = 0 }, { $0.animated?.maxFramesPerSecond = .nan },
            { $0.animated?.seconds = -1 },
        ] as [@Sendable (inout Recipe) -> Void])
    func refusesARecipeThatCanNotBe(_ change: @Sendable (inout Recipe) -> Void) throws {
        let frames = [DrawnGIF.Frame(0, at: (left: 0, top: 0, width: 2, height: 2))]
        let source = DrawnGIF.bytes(width: 2, height: 2, loop: nil, frames)
        #expect {
            try Self.animate(source, Self.recipe(.native, change))
        } throws: { error in
            (error as? Failure)?.reason == .badOption
        }
    }

    /// What is read ahead, and by how many threads, changes nothing: neither the file nor what is said of it.
    @Test(.enabled(if: Corpus.isPresent, "\(Corpus.absence)"), arguments: rows)
    func givesTheSameFileWithAnyHelp(_ row: Corpus.Row) async throws {
        let source = try TemporaryFolder.bytes(of: row.file)
        for change in [{ _ in }, { $0.animated?.maxFrames = 3 }] as [(inout Recipe) -> Void] {
            let recipe = Self.recipe(.longestSide(64), change)
            let alone = try Self.animate(source, recipe)
            let helped = try await Self.animateHelped(source, recipe)
            #expect(helped.bytes == alone.bytes)
            #expect(helped.facts.animation == alone.facts.animation)
            #expect(helped.facts.degraded == alone.facts.degraded)
        }
    }

    @Test func isNotDegradedByWhatItDoesNotShow() throws {
        var source = GIFBuilder(width: 8, height: 8)
        source.frames = (0..<6).map { GIFBuilder.Frame(width: 8, height: 8, index: UInt8($0 % 3)) }
        // One pixel, then the codes run out.
        source.frames[3].data = [1, 0x44, 0]
        #expect(try Self.animate(source.bytes, Self.recipe()).facts.degraded)
        let cut = try Self.animate(source.bytes, Self.recipe { $0.animated?.maxFrames = 2 })
        #expect(cut.facts.animation?.frameCount == 2)
        #expect(!cut.facts.degraded)
    }

    @Test func endsWhenNobodyWaitsAndLetsTheSourceGo() {
        let frames = (0..<400).map { index in
            DrawnGIF.Frame(index % 3, at: (left: 0, top: 0, width: 64, height: 64))
        }
        let source = DrawnGIF.bytes(width: 64, height: 64, loop: 0, frames)
        weak var freed: RaisingReader?
        do {
            let stop = Stop(after: .seconds(60))
            // The index is read once; among the frames somebody cancels.
            let reader = RaisingReader(source, stop, after: source.count * 3 / 2)
            freed = reader
            #expect {
                try Imaging().render(reader, recipe: Self.recipe(), limits: Limits(), stop: stop)
            } throws: { error in
                (error as? Failure)?.reason == .cancelled
            }
            #expect(reader.cost.bytes < source.count * 2)
        }
        #expect(freed == nil)
    }
}

/// A source whose caller cancels once so many bytes were read.
private final class RaisingReader: ByteReader {
    private let inner: MemoryReader
    private let stop: Stop
    private let most: Int
    private let given = Mutex(0)

    init(_ bytes: [UInt8], _ stop: Stop, after most: Int) {
        inner = MemoryReader(bytes)
        self.stop = stop
        self.most = most
    }

    var byteCount: Int64? { inner.byteCount }
    var isLocal: Bool { true }
    var cost: (bytes: Int64, requests: Int) { (Int64(given.withLock { $0 }), 0) }
    func expect(_ range: Range<Int64>) {}

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
        // The caller's own buffer, handed on.
        let count = try unsafe inner.read(at: offset, into: buffer)
        let total = given.withLock { given in
            given += count
            return given
        }
        if total > most { stop.raise() }
        return count
    }
}
