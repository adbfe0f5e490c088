import CImage
import Foundation
import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import FramemillImaging

/// Our frames against those of libwebp's own, sequential decoder, to the bit.
struct WebPPeerTests {
    @Test(.enabled(if: Corpus.isPresent, "\(Corpus.absence)"))
    func givesTheCanvasesOfLibwebpsDecoder() throws {
        for row in Corpus.rows("webp") {
            let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: row.file)))
            try compare(bytes, "\(row)")
        }
    }

    /// Rectangles anywhere, of any alpha, cleared or not, over whatever is there.
    @Test func blendsAsLibwebpsDecoderDoes() throws {
        var random = SplitMix(state: 7)
        for round in 0..<200 {
            let (width, height) = (
                Int.random(in: 1...24, using: &random), Int.random(in: 1...24, using: &random)
            )
            var frames: [WebPFile.Frame] = []
            for _ in 0..<8 {
                let left = Int.random(in: 0..<width, using: &random) & ~1
                let top = Int.random(in: 0..<height, using: &random) & ~1
                let isAll = Int.random(in: 0..<4, using: &random) == 0
                let across = isAll ? width : Int.random(in: 1...width - left, using: &random)
                let down = isAll ? height : Int.random(in: 1...height - top, using: &random)
                let alphas: [UInt8] = [0, 255, UInt8.random(in: 0...255, using: &random)]
                var pixels: [UInt8] = []
                for _ in 0..<across * down {
                    pixels += (0..<3).map { _ in UInt8.random(in: 0...255, using: &random) }
                    pixels.append(alphas.randomElement(using: &random) ?? 0)
                }
                frames.append(
                    WebPFile.Frame(
                        left: isAll ? 0 : left, top: isAll ? 0 : top, width: across, height: down,
                        pixels: pixels, clears: Bool.random(using: &random),
                        replaces: Int.random(in: 0..<4, using: &random) == 0))
            }
            try compare(WebPFile(width: width, height: height, frames: frames).bytes, "round \(round)")
        }
    }

    private func compare(_ bytes: [UInt8], _ name: String) throws {
        let decoder = try Imaging().animation(
            MemoryReader(bytes), limits: Limits(), stop: Stop(after: .seconds(60)))
        let theirs = try #require(canvases(bytes), "\(name)")
        var place = AnimationPlace()
        var ours: [Bitmap] = []
        while true {
            let frames = try decoder.frames(
                from: &place, windowBytes: 1 << 20, crew: .alone, stop: Stop(after: .seconds(60)))
            if frames.isEmpty { break }
            ours += frames.map(\.bitmap)
        }
        try #require(ours.count == theirs.count, "\(name)")
        for (index, (mine, other)) in zip(ours, theirs).enumerated() {
            var found: String?
            for at in stride(from: 0, to: other.count, by: 4) where found == nil {
                let (left, right) = (Array(mine.pixels[at..<at + 4]), Array(other[at..<at + 4]))
                // The colour of a transparent pixel is nobody's.
                guard left != right, left[3] > 0 || right[3] > 0 else { continue }
                found = "\(name), frame \(index), pixel \(at / 4): \(left), not \(right)"
            }
            #expect(found == nil)
        }
    }

    /// What `WebPAnimDecoder` gives.
    private func canvases(_ bytes: [UInt8]) -> [[UInt8]]? {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            var options = WebPAnimDecoderOptions()
            var data = unsafe WebPData(bytes: bytes.baseAddress, size: bytes.count)
            guard unsafe WebPAnimDecoderOptionsInit(&options) != 0 else { return nil }
            options.color_mode = MODE_RGBA
            // The bytes outlive the decoder: both end with this closure.
            guard let decoder = unsafe WebPAnimDecoderNew(&data, &options) else { return nil }
            defer { unsafe WebPAnimDecoderDelete(decoder) }
            var info = WebPAnimInfo()
            guard unsafe WebPAnimDecoderGetInfo(decoder, &info) != 0 else { return nil }
            let count = Int(info.canvas_width) * Int(info.canvas_height) * 4
            var canvases: [[UInt8]] = []
            var canvas: UnsafeMutablePointer<UInt8>?
            var time: Int32 = 0
            while unsafe WebPAnimDecoderHasMoreFrames(decoder) != 0 {
                guard unsafe WebPAnimDecoderGetNext(decoder, &canvas, &time) != 0 else { return nil }
                // The decoder's own, of the whole canvas, until it is asked again.
                unsafe canvases.append(Array(UnsafeBufferPointer(start: canvas, count: count)))
            }
            return canvases
        }
    }
}

/// The same numbers in every run (SplitMix64).
struct SplitMix: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}
