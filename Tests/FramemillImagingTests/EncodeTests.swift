import FramemillMedia
import Testing

@testable import FramemillImaging

struct EncodeTests {
    /// A soft photo-like picture, left half see-through where asked.
    private func photo(_ width: Int, _ height: Int, alpha: Bool = false) -> Bitmap {
        var bitmap = Bitmap(width: width, height: height)
        for y in 0..<height {
            for x in 0..<width {
                let offset = (y * width + x) * 4
                bitmap.pixels[offset] = UInt8(x * 255 / width)
                bitmap.pixels[offset + 1] = UInt8(y * 255 / height)
                bitmap.pixels[offset + 2] = UInt8((x + y) * 127 / (width + height) + (x * 7 + y * 13) % 5)
                bitmap.pixels[offset + 3] = alpha && x < width / 2 ? UInt8(y * 255 / height) : 255
            }
        }
        bitmap.hasAlpha = alpha
        return bitmap
    }

    private func encode(
        _ bitmap: Bitmap, _ format: Recipe.OutputFormat, quality: Int? = nil, effort: Int? = nil
    ) throws -> [UInt8] {
        var recipe = Recipe()
        recipe.format = format
        recipe.quality = quality
        recipe.effort = effort
        return try Encoder.encode(bitmap, recipe: recipe)
    }

    private func meanDifference(_ left: Bitmap, _ right: Bitmap) -> Double {
        let sum = zip(left.pixels, right.pixels).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
        return Double(sum) / Double(left.pixels.count)
    }

    @Test(arguments: [nil, 0, 1, 2, 3, 4, 5, 6], [false, true])
    func writesAPNGThatDecodesToTheSamePixels(effort: Int?, alpha: Bool) throws {
        let bitmap = photo(61, 43, alpha: alpha)
        let picture = try StillCorpus.decode(encode(bitmap, .png, effort: effort)).get()
        #expect(picture.bitmap.pixels == bitmap.pixels)
        #expect(picture.facts.alpha == alpha)
    }

    @Test(arguments: [Recipe.OutputFormat.jpeg, .webp], [1, 2, 7, 320])
    func writesLossyPicturesThatLookTheSame(format: Recipe.OutputFormat, side: Int) throws {
        let bitmap = photo(side, side)
        let picture = try StillCorpus.decode(encode(bitmap, format)).get()
        #expect(picture.bitmap.width == side && picture.bitmap.height == side)
        // Below a few chroma blocks the lost colour resolution is the whole picture.
        #expect(meanDifference(picture.bitmap, bitmap) < (side < 16 ? 30 : 4))
        #expect(!picture.facts.alpha)
    }

    @Test func keepsTheAlphaOfAWebPExactly() throws {
        let bitmap = photo(64, 48, alpha: true)
        let picture = try StillCorpus.decode(encode(bitmap, .webp)).get()
        #expect(picture.facts.alpha)
        for offset in stride(from: 3, to: bitmap.pixels.count, by: 4)
        where picture.bitmap.pixels[offset] != bitmap.pixels[offset] {
            Issue.record("alpha differs at \(offset)")
        }
    }

    @Test func laysATransparentPictureOnTheBackgroundOfAJPEG() throws {
        var recipe = Recipe()
        recipe.background = Recipe.RGB(red: 10, green: 200, blue: 30)
        let picture = try StillCorpus.decode(Encoder.encode(Bitmap(width: 16, height: 16), recipe: recipe))
            .get()
        #expect(StillCorpus.isClose(StillCorpus.pixel(picture.bitmap, 8, 8), "#0ac81eff", within: 3))
    }

    @Test func makesSmallerFilesOfLowerQualityAndOfMoreEffort() throws {
        let bitmap = photo(320, 180)
        for format in [Recipe.OutputFormat.jpeg, .webp] {
            #expect(try encode(bitmap, format, quality: 40).count < encode(bitmap, format, quality: 95).count)
        }
        #expect(try encode(bitmap, .png, effort: 6).count < encode(bitmap, .png, effort: 0).count)
    }

    @Test func refusesQualitiesAndEffortsThatDoNotExist() throws {
        for (quality, effort) in [(0, nil), (101, nil), (nil, -1), (nil, 7)] as [(Int?, Int?)] {
            #expect(throws: Failure.self) { try encode(photo(4, 4), .webp, quality: quality, effort: effort) }
        }
    }

    @Test(arguments: Recipe.OutputFormat.allCases)
    func writesTheFormatAskedForAndNoMetadata(format: Recipe.OutputFormat) throws {
        let bytes = try encode(photo(20, 20), format)
        #expect(Format.sniff(bytes).rawValue == format.rawValue)
        let text = String(decoding: bytes, as: UTF8.self)
        for word in ["Exif", "ICC", "http", "tEXt", "iCCP", "eXIf"] { #expect(!text.contains(word)) }
    }

    @Test(arguments: Recipe.OutputFormat.allCases)
    func holdsNoMoreMemoryThanItsBytes(_ format: Recipe.OutputFormat) throws {
        var recipe = Recipe()
        recipe.format = format
        let bytes = try Encoder.encode(Bitmap(width: 320, height: 180), recipe: recipe)
        #expect(bytes.capacity < bytes.count + 256)
    }
}
