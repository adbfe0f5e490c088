import Foundation
import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import FramemillImaging

/// How much of an animation is decoded, how large a result may be, and what a frame shows beyond its canvas.
@Suite struct AnimationLimitTests {
    private let red: [UInt8] = [255, 0, 0, 255]
    private let green: [UInt8] = [0, 255, 0, 255]
    private let blue: [UInt8] = [0, 0, 255, 255]

    /// Asked where all frames are wanted: one by its number, and the first as a cover, are given.
    @Test func refusesAllFramesWhereTheyHaveTooManyPixelsTogether() throws {
        var limits = Limits()
        limits.totalPixels = 2 * 2 * 3 - 1
        let file = WebPFile(width: 2, height: 2, frames: [red, blue, green].map { WebPFile.frame($0, 2, 2) })
            .bytes
        let stop = Stop(after: .seconds(60))
        let decoder = try Imaging().animation(MemoryReader(file), limits: limits, stop: stop)
        var place = AnimationPlace()
        let failure = #expect(throws: Failure.self) {
            try decoder.frames(from: &place, windowBytes: 1 << 20, crew: .alone, stop: stop)
        }
        #expect(failure?.reason == .tooLarge && failure?.message.contains("totalPixels") == true)
        #expect(try decoder.frame(at: 2, crew: .alone, stop: stop).index == 2)
        var recipe = Recipe()
        (recipe.format, recipe.animated) = (.webp, Recipe.Animated())
        let moving = #expect(throws: Failure.self) {
            try Imaging().render(MemoryReader(file), recipe: recipe, limits: limits, stop: stop)
        }
        #expect(moving?.reason == .tooLarge)
        recipe.animated = nil
        #expect(
            try Imaging().render(MemoryReader(file), recipe: recipe, limits: limits, stop: stop).facts.width
                == 2)
        limits.totalPixels += 1
        let all = try Imaging().animation(MemoryReader(file), limits: limits, stop: stop)
        #expect(try all.frames(from: &place, windowBytes: 1 << 20, crew: .alone, stop: stop).count == 3)
    }

    @Test(arguments: [Recipe.OutputFormat.jpeg, .png, .webp])
    func makesNoResultLargerThanAPictureMayBe(_ format: Recipe.OutputFormat) throws {
        var limits = Limits()
        limits.pixelsPerFrame = 100
        var recipe = Recipe()
        (recipe.format, recipe.enlarge, recipe.box) = (format, true, .size(width: 11, height: 11))
        let file = WebPFile(width: 2, height: 2, frames: [red, blue].map { WebPFile.frame($0, 2, 2) }).bytes
        let stop = Stop(after: .seconds(60))
        for moves in format == .webp ? [false, true] : [false] {
            recipe.animated = moves ? Recipe.Animated() : nil
            let failure = #expect(throws: Failure.self) {
                try Imaging().render(MemoryReader(file), recipe: recipe, limits: limits, stop: stop)
            }
            #expect(failure?.reason == .tooLarge)
        }
    }

    /// A GIF's second frame reaches past the canvas and has data for what can be seen: it hides what is below, alone and in
    /// order.
    @Test func givesTheSameOfAFrameThatReachesPastTheCanvas() throws {
        let text =
            "R0lGODlhCAAIAIAAAP8AAAAA/yH/C05FVFNDQVBFMi4wAwEAAAAh+QQAMgAAACwAAAAACAAIAAACB4SPqcvtXQAAIfkEADIAAAAsAAAAAAgA"
            + "IwAAAgeMj6nL7V0AADs="
        let bytes = [UInt8](try #require(Data(base64Encoded: text)))
        let stop = Stop(after: .seconds(60))
        let decoder = try Imaging().animation(MemoryReader(bytes), limits: Limits(), stop: stop)
        var place = AnimationPlace()
        let frames = try decoder.frames(from: &place, windowBytes: 1 << 20, crew: .alone, stop: stop)
        #expect(frames.count == 2 && frames[1].isWhole && !frames[1].bitmap.hasAlpha)
        #expect(try decoder.frame(at: 1, crew: .alone, stop: stop) == frames[1])
    }
}
