import Foundation
import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import FramemillImaging

/// What is already as asked for is handed on.
struct PassThroughTests {
    private static let source: [UInt8] = {
        let frames = (0..<6).map { index in
            DrawnGIF.Frame(index % 3, delay: 5, at: (left: index, top: 0, width: 20, height: 16))
        }
        let gif = DrawnGIF.bytes(width: 32, height: 16, loop: 2, frames)
        // Ours: a test that can't make its source can't go on.
        guard let made = try? AnimateTests.animate(gif, AnimateTests.recipe(.native)) else { return [] }
        return made.bytes
    }()

    private func chunk(_ name: String, _ body: [UInt8]) -> [UInt8] {
        Array(name.utf8) + [UInt8(body.count), 0, 0, 0] + body + (body.count % 2 == 0 ? [] : [0])
    }

    /// The source with another chunk at its end, or behind its header.
    private func with(_ chunk: [UInt8], flag: UInt8, atFront: Bool = false) -> [UInt8] {
        var file = Self.source
        file.insert(contentsOf: chunk, at: atFront ? 30 : file.count)
        file[20] |= flag
        let size = file.count - 8
        (file[4], file[5]) = (UInt8(size & 255), UInt8(size >> 8))
        return file
    }

    @Test(arguments: [Recipe.Box.native, .longestSide(32), .longestSide(200), .size(width: 32, height: 16)])
    func handsOnToTheByteWhatIsAsAskedFor(_ box: Recipe.Box) throws {
        let made = try AnimateTests.animate(Self.source, AnimateTests.recipe(box))
        #expect(made.bytes == Self.source)
        let animation = try #require(made.facts.animation)
        #expect(animation.passedThrough)
        #expect((animation.frameCount, animation.plays, animation.duration) == (6, 3, 0.3))
        #expect((made.facts.width, made.facts.height, made.facts.format) == (32, 16, "webp"))
        #expect(made.facts.thumbHash != nil)
    }

    @Test func takesTheMetadataOut() throws {
        let secret = Array("GPS 52.5200 13.4050".utf8)
        for (name, flag) in [("EXIF", UInt8(0x08)), ("XMP ", 0x04), ("note", 0)] {
            let file = with(chunk(name, secret), flag: flag)
            let made = try AnimateTests.animate(file, AnimateTests.recipe(.native))
            #expect(made.bytes == Self.source, "\(name)")
            #expect(made.facts.animation?.passedThrough == true)
        }
        // Bytes behind the file's own end.
        let made = try AnimateTests.animate(Self.source + secret, AnimateTests.recipe(.native))
        #expect(made.bytes == Self.source)
    }

    @Test(
        arguments: [
            { $0.box = .longestSide(16) }, { $0.quality = 75 }, { $0.effort = 2 },
            { $0.animated?.lossless = true }, { $0.animated?.maxFrames = 5 },
            { $0.animated?.maxFramesPerSecond = 10 },
            {
                $0.box = .size(width: 16, height: 16); $0.mode = .fill
            },
        ] as [@Sendable (inout Recipe) -> Void])
    func encodesWhatIsNotAsAskedFor(_ change: @Sendable (inout Recipe) -> Void) throws {
        let made = try AnimateTests.animate(Self.source, AnimateTests.recipe(.native, change))
        #expect(made.facts.animation?.passedThrough == false)
        #expect(made.bytes != Self.source)
        _ = try AnimationJudge(made.bytes)
    }

    @Test func encodesAgainWhatHasAColourProfileOrHidesSomethingInAFrame() throws {
        let profiled = with(chunk("ICCP", Array("profile!".utf8)), flag: 0x20, atFront: true)
        let made = try AnimateTests.animate(profiled, AnimateTests.recipe(.native))
        #expect(made.facts.animation?.passedThrough == false)
        #expect(!String(decoding: made.bytes, as: UTF8.self).contains("profile!"))

        var hiding = Self.source
        let hidden = chunk("note", Array("secret".utf8))
        // The last frame runs to the end of the file: what is added there can be made its own.
        let start = try #require(
            (0..<hiding.count - 4).last { hiding[$0..<$0 + 4].elementsEqual("ANMF".utf8) })
        let frameSize = hiding.count - start - 8 + hidden.count
        hiding += hidden
        (hiding[start + 4], hiding[start + 5]) = (UInt8(frameSize & 255), UInt8(frameSize >> 8))
        (hiding[4], hiding[5]) = (UInt8((hiding.count - 8) & 255), UInt8((hiding.count - 8) >> 8))
        #expect(PassThrough.bare(hiding) == nil)
    }

    @Test func handsOnNothingThatIsBroken() throws {
        let cut = Array(Self.source.dropLast(Self.source.count / 3))
        let made = try AnimateTests.animate(cut, AnimateTests.recipe(.native))
        #expect(made.facts.animation?.passedThrough != true)
        #expect(made.facts.degraded)
        #expect(try AnimationJudge(made.bytes).delays.count < 6)
    }
}
