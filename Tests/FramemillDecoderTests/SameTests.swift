import Foundation
import FramemillEngine
import FramemillImaging
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// What comes out of a decoder process is what comes out of this one, to the byte, for every file of the corpus.
@Suite(.enabled(if: Corpus.isPresent, Comment(rawValue: Corpus.absence)))
struct SameTests {
    static let pool = Result { try DecoderPool() }

    @Test func coversAreTheSame() throws {
        let pool = try Self.pool.get()
        var compared = 0
        for row in Corpus.rows {
            var recipe = Recipe()
            recipe.format = [.jpeg, .png, .webp][compared % 3]
            compared += 1
            #expect(
                Self.outcome(of: row.file, recipe, pool) == Self.outcome(of: row.file, recipe, Imaging()),
                "\(row.path)")
        }
        #expect(compared == Corpus.rows.count)
    }

    @Test func probesAreTheSame() throws {
        let pool = try Self.pool.get()
        for row in Corpus.rows {
            let answers = [pool as any Renderer, Imaging()].map { renderer in
                Self.told { () throws(Failure) in
                    try renderer.probe(
                        try FileReader(path: row.file), limits: Limits(), stop: Stop(after: .seconds(60)))
                }
            }
            #expect(answers[0] == answers[1], "\(row.path)")
        }
    }

    @Test func movingOnesAreTheSame() throws {
        let pool = try Self.pool.get()
        var recipe = Recipe()
        (recipe.format, recipe.animated, recipe.box) = (.webp, Recipe.Animated(), .longestSide(64))
        recipe.animated?.maxFrames = 20
        for row in Corpus.rows("gif", "webp", "apng", "video") where row.byteCount < 1 << 20 {
            #expect(
                Self.outcome(of: row.file, recipe, pool) == Self.outcome(of: row.file, recipe, Imaging()),
                "\(row.path)")
        }
    }

    @Test(arguments: [1, 3 << 20, 16 << 20]) func framesAreTheSame(windowBytes: Int) throws {
        let pool = try Self.pool.get()
        for row in Corpus.rows("gif", "webp", "apng", "broken", "image") where row.byteCount < 1 << 21 {
            let one = Self.frames(of: row.file, pool, windowBytes)
            let other = Self.frames(of: row.file, Imaging(), windowBytes)
            #expect(one.failure == other.failure, "\(row.path)")
            #expect(one.facts == other.facts, "\(row.path)")
            #expect(one.hashes == other.hashes, "\(row.path)")
        }
    }

    @Test func anyFrameAloneIsTheSame() throws {
        let pool = try Self.pool.get()
        let stop = Stop(after: .seconds(600))
        for row in Corpus.rows("gif", "webp", "apng") where row.byteCount < 1 << 16 {
            let bytes = try TemporaryFolder.bytes(of: row.file)
            guard
                let here = try? Imaging().animation(MemoryReader(bytes), limits: Limits(), stop: stop),
                here.facts.frameCount <= 30
            else { continue }
            let apart = try pool.animation(MemoryReader(bytes), limits: Limits(), stop: stop)
            for index in 0..<here.facts.frameCount {
                let answers = [here, apart].map { decoder in
                    Result { () throws(Failure) in try decoder.frame(at: index, crew: .alone, stop: stop) }
                }
                #expect(answers[0] == answers[1], "\(row.path) \(index)")
            }
        }
    }

    @Test func finishedFramesAreTheSame() throws {
        let pool = try Self.pool.get()
        let stop = Stop(after: .seconds(60))
        // More than one part of what is shared takes.
        var bitmap = Bitmap(width: 900, height: 700)
        for at in bitmap.pixels.indices { bitmap.pixels[at] = UInt8(truncatingIfNeeded: at &* 31 >> 3) }
        #expect(
            try pool.fit(bitmap, into: .longestSide(320), stop: stop)
                == Imaging().fit(bitmap, into: .longestSide(320), stop: stop))
        #expect(try pool.fit(bitmap, into: .native, stop: stop) == bitmap)
        var recipe = Recipe()
        for format in Recipe.OutputFormat.allCases {
            recipe.format = format
            #expect(
                try pool.encode(bitmap, recipe: recipe, stop: stop)
                    == Imaging().encode(bitmap, recipe: recipe, stop: stop))
        }
        recipe.quality = 1000
        #expect(throws: Failure.self) { try pool.encode(bitmap, recipe: recipe, stop: stop) }
    }

    // MARK: -

    private struct Told: Equatable {
        var facts: Facts?
        var bytes: [UInt8] = []
        var failure: Failure?
    }

    private static func outcome(of file: String, _ recipe: Recipe, _ renderer: any Renderer) -> Told {
        var bytes: [UInt8] = []
        var told = told { () throws(Failure) in
            let artifact = try renderer.render(
                try FileReader(path: file), recipe: recipe, limits: Limits(), crew: .alone,
                stop: Stop(after: .seconds(60)))
            bytes = artifact.bytes
            return artifact.facts
        }
        told.bytes = bytes
        return told
    }

    /// Less what is of the moment.
    private static func told(_ make: () throws(Failure) -> Facts) -> Told {
        do throws(Failure) {
            var facts = try make()
            (facts.milliseconds, facts.peakBytes) = ([:], nil)
            return Told(facts: facts)
        } catch {
            return Told(failure: error)
        }
    }

    private static func frames(
        of file: String, _ renderer: any Renderer, _ windowBytes: Int
    ) -> (facts: AnimationFacts?, hashes: [Int], failure: Failure?) {
        var facts: AnimationFacts?
        var hashes: [Int] = []
        do throws(Failure) {
            let stop = Stop(after: .seconds(60))
            let decoder = try renderer.animation(try FileReader(path: file), limits: Limits(), stop: stop)
            facts = decoder.facts
            var place = AnimationPlace()
            while hashes.count < 200 {
                let frames = try decoder.frames(
                    from: &place, windowBytes: windowBytes, crew: .alone, stop: stop)
                if frames.isEmpty { break }
                for frame in frames.prefix(200 - hashes.count) {
                    var hasher = Hasher()
                    hasher.combine(frame.index)
                    hasher.combine(frame.delay)
                    hasher.combine(frame.isWhole)
                    hasher.combine(frame.bitmap.hasAlpha)
                    hasher.combine(frame.bitmap.pixels)
                    hashes.append(hasher.finalize())
                }
            }
            return (facts, hashes, nil)
        } catch {
            return (facts, hashes, error)
        }
    }
}
