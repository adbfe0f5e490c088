import FramemillMedia
import Testing

@testable import FramemillImaging

struct ThumbHashTests {
    private func picture(
        _ width: Int, _ height: Int, _ color: (Int, Int) -> (Int, Int, Int, Int)
    ) -> Bitmap {
        var bitmap = Bitmap(width: width, height: height)
        for y in 0..<height {
            for x in 0..<width {
                let (red, green, blue, alpha) = color(x, y)
                let offset = (y * width + x) * 4
                for (channel, value) in [red, green, blue, alpha].enumerated() {
                    bitmap.pixels[offset + channel] = UInt8(value)
                }
            }
        }
        return bitmap
    }

    // The vectors below were made with thumbhash-python 1.0.1, which nobody here wrote.

    @Test func hashesAnOpaqueLandscapeAsThePublishedAlgorithmDoes() {
        let bitmap = picture(40, 30) { x, y in (x * 6, y * 8, x * y % 256, 255) }
        #expect(
            ThumbHash.hash(bitmap) == [
                92, 8, 14, 29, 152, 96, 118, 119, 112, 135, 136, 118, 136, 104, 136, 135, 241, 177, 15, 247,
                136,
            ])
    }

    @Test func hashesATransparentPortraitAsThePublishedAlgorithmDoes() {
        let bitmap = picture(24, 32) { x, y in
            (
                (x * x + 7 * y) % 256, (255 - y * 7 + x * 3) % 256, (x * y + x * 4) % 256,
                (x * x * 3 + y * 5) % 256
            )
        }
        #expect(
            ThumbHash.hash(bitmap) == [
                160, 8, 134, 20, 8, 7, 101, 102, 104, 9, 184, 132, 246, 139, 42, 153, 52, 63, 19, 0, 49, 114,
                134, 178, 8,
            ])
    }

    @Test func hashesOneColourAndOneRow() {
        // One colour has no waves; what the published code writes for them is rounding noise under a scale of 0.
        let red = ThumbHash.hash(picture(100, 100) { _, _ in (255, 0, 0, 255) })
        #expect(red.prefix(5) == [213, 251, 3, 7, 0])
        #expect(red.count == 24)
        let row = ThumbHash.hash(
            picture(64, 1) { x, _ in (x * x % 251, x * x * x % 239, (4351 - x * x) % 256, 255) })
        #expect(row == [158, 6, 62, 81, 130, 119, 135, 136, 136, 136, 8, 136, 51, 135, 15, 141, 39])
    }

    @Test func shrinksALargePictureFirst() {
        let large = picture(400, 300) { x, y in (x / 10 * 6, y / 10 * 8, x / 10 * (y / 10) % 256, 255) }
        let small = ThumbHash.hash(large)
        #expect(
            small.prefix(5)
                == ThumbHash.hash(picture(40, 30) { x, y in (x * 6, y * 8, x * y % 256, 255) }).prefix(5))
    }

    @Test func survivesPicturesWithoutAnyColour() {
        #expect(ThumbHash.hash(Bitmap(width: 1, height: 1)).count > 5)
        #expect(DominantColor.hex(Bitmap(width: 3, height: 3)) == "#000000")
    }

    @Test func namesTheColourThatMostOfThePictureHas() {
        let sky = picture(10, 10) { x, y in y < 6 ? (16 + x, 96, 240, 255) : (200, x * 20, y * 20, 255) }
        #expect(DominantColor.hex(sky) == "#1560f0")
        let hidden = picture(10, 10) { _, y in y < 8 ? (255, 0, 0, 0) : (0, 0x80, 0, 255) }
        #expect(DominantColor.hex(hidden) == "#008000")
    }
}
