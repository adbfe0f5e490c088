import Foundation
import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import FramemillImaging

/// JPEGs made from planes against those made from RGBA, and against ffmpeg.
@Suite struct YCbCrTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    private static func small(
        _ bytes: [UInt8], _ recipe: Recipe, toPlanes: Bool
    ) throws(Failure) -> SmallPicture {
        var timer = StageTimer()
        return try Imaging().picture(
            MemoryReader(bytes), recipe: recipe, limits: Limits(), stop: Stop(after: .seconds(60)),
            toPlanes: toPlanes, &timer
        ).small
    }

    /// Mean difference of the colours of two opaque pictures.
    private static func apart(_ left: Bitmap, _ right: Bitmap) throws -> Double {
        try #require(left.width == right.width && left.height == right.height)
        let sum = zip(left.pixels, right.pixels).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
        // A quarter of the bytes are the fourth, which is always 255.
        return Double(sum) / Double(left.pixels.count / 4 * 3)
    }

    /// 161 pixels: odd sides.
    private static var recipe: Recipe {
        var recipe = Recipe()
        recipe.at = .first
        recipe.box = .longestSide(161)
        return recipe
    }

    /// Every third clip of the corpus, for time's sake: all codecs, matrices, ranges, depths and turns are among them.
    @Test(.enabled(if: Corpus.isPresent, Comment(rawValue: Corpus.absence)))
    func givesTheJPEGThatTheWayOverRGBGives() throws {
        var compared = 0
        var sums = (planes: 0.0, pixels: 0.0)
        for (index, row) in Corpus.rows("video").enumerated() where index % 3 == 0 {
            let bytes = [UInt8](FileManager.default.contents(atPath: row.file) ?? Data())
            let planes: SmallPicture
            // A clip that is refused has no picture to compare.
            do { planes = try Self.small(bytes, Self.recipe, toPlanes: true) } catch { continue }
            guard case .planes = planes else { continue }
            let pixels = try Self.small(bytes, Self.recipe, toPlanes: false)
            guard case .pixels(let truth) = pixels else {
                Issue.record("asked for RGBA and got planes: \(row.path)")
                return
            }
            compared += 1
            for quality in [80, 100] {
                var recipe = Self.recipe
                recipe.quality = quality
                let ours = try StillCorpus.decode(Encoder.encode(planes, recipe: recipe)).get().bitmap
                let theirs = try StillCorpus.decode(Encoder.encode(pixels, recipe: recipe)).get().bitmap
                // At 100 the quantiser leaves rounding alone; at 80 it can turn a rounding into a step of its own, so
                // there the question is which of the two is nearer to the picture. A
                // picture of one colour may round by half a level.
                if quality == 100 {
                    let difference = try Self.apart(ours, theirs)
                    #expect(difference <= 1, "\(row.path)")
                } else {
                    let (our, their) = (try Self.apart(ours, truth), try Self.apart(theirs, truth))
                    #expect(our <= their * 1.03 + 0.5, "\(row.path): \(our) instead of \(their)")
                    sums = (sums.planes + our, sums.pixels + their)
                }
            }
        }
        #expect(compared > 60)
        #expect(sums.planes <= sums.pixels * 1.01, "\(sums)")
    }

    static let colours: [(name: String, arguments: [String])] = ["bt601", "bt709"].flatMap { matrix in
        ["tv", "pc"].map { range in
            let name = matrix == "bt601" ? "smpte170m" : matrix
            return (
                "\(matrix) \(range)",
                [
                    "-vf", "scale=out_color_matrix=\(matrix):out_range=\(range),format=yuv444p",
                    "-colorspace",
                    name, "-color_range", range, "-c:v", "libx264", "-qp", "4",
                ]
            )
        }
    }

    @Test(arguments: colours, [Recipe.Box.native, .longestSide(160), .size(width: 101, height: 75)])
    func hasTheColoursThatFFmpegShows(
        _ kind: (name: String, arguments: [String]), _ box: Recipe.Box
    ) throws {
        let file = folder.file("bars.mkv")
        try Tool.output(
            "ffmpeg",
            ["-v", "error", "-y", "-f", "lavfi", "-i", "pal75bars=s=320x240:d=0.1"] + kind.arguments + [file])
        let bytes = try folder.read("bars.mkv")
        for quality in [80, 95] {
            var recipe = Self.recipe
            recipe.box = box
            recipe.quality = quality
            recipe.mode = .stretch
            let small = try Self.small(bytes, recipe, toPlanes: true)
            guard case .planes = small else {
                Issue.record("this clip has a way over planes")
                return
            }
            let (width, height) = small.size
            try folder.write(Encoder.encode(small, recipe: recipe), to: "ours.jpg")
            func shown(_ name: String) throws -> [UInt8] {
                try Tool.output(
                    "ffmpeg",
                    [
                        "-v", "error", "-i", folder.file(name), "-frames:v", "1", "-vf",
                        "scale=\(width):\(height):flags=area+accurate_rnd+full_chroma_int+full_chroma_inp",
                        "-f", "rawvideo", "-pix_fmt", "rgb24", "-",
                    ])
            }
            let (ours, theirs) = (try shown("ours.jpg"), try shown("bars.mkv"))
            try #require(ours.count == theirs.count && ours.count == width * height * 3)
            // The means of the middle halves of the eight bars: JPEG's ripples beside the edges are not colours. Its
            // quantiser moves a mean by up to two levels more at 80 than at 95.
            for bar in 0..<8 {
                let columns = (4 * bar + 1) * width / 32..<(4 * bar + 3) * width / 32
                for channel in 0..<3 {
                    func mean(_ bytes: [UInt8]) -> Double {
                        let values = (0..<height).flatMap { y in
                            columns.map { Int(bytes[(y * width + $0) * 3 + channel]) }
                        }
                        return Double(values.reduce(0, +)) / Double(values.count)
                    }
                    let apart = abs(mean(ours) - mean(theirs))
                    #expect(apart <= (quality == 80 ? 4 : 2), "\(kind.name), bar \(bar), channel \(channel)")
                }
            }
        }
    }

    @Test(arguments: 1...8, [(7, 5), (8, 6), (1, 3)])
    func turnsPlanesAsItTurnsPixels(_ orientation: Int, _ size: (Int, Int)) {
        var picture = YCbCrPicture(width: size.0, height: size.1)
        for y in 0..<size.1 {
            var row = SampleRow(count: size.0)
            for x in 0..<size.0 {
                (row.first[x], row.second[x], row.third[x]) = (Float(x * 30), Float(y * 40), Float(x + y) * 9)
            }
            picture.set(y, row)
        }
        #expect(picture.upright(orientation: 1) == picture)
        #expect(
            picture.upright(orientation: orientation).bitmap()
                == Geometry.upright(picture.bitmap(), orientation: orientation))
    }

    /// The middle of the picture must not move by the chroma's half samples, whatever the sides and the turn.
    @Test(arguments: [(1, 1), (2, 3), (3, 2), (17, 16), (33, 31)])
    func halvesChromaInTheMiddleOfItsFourPixels(_ size: (Int, Int)) {
        var picture = YCbCrPicture(width: size.0, height: size.1)
        for y in 0..<size.1 {
            var row = SampleRow(count: size.0)
            for x in 0..<size.0 { (row.first[x], row.third[x]) = (Float(x * 7), Float(y * 7)) }
            picture.set(y, row)
        }
        let (whole, half) = (picture.whole(), picture.halved())
        let (halfWidth, halfHeight) = ((size.0 + 1) / 2, (size.1 + 1) / 2)
        #expect(half.strides == [Int32(halfWidth * 2), Int32(halfWidth), Int32(halfWidth)])
        #expect(half.samples.count == half.starts[2] + halfWidth * halfHeight)
        func at(_ plane: Int, _ x: Int, _ y: Int) -> Int {
            let offset = whole.starts[plane] + min(y, size.1 - 1) * size.0 + min(x, size.0 - 1)
            return Int(whole.samples[offset])
        }
        for y in 0..<halfHeight {
            for x in 0..<halfWidth {
                let luma = (0..<4).map {
                    half.samples[(2 * y + $0 / 2) * 2 * halfWidth + 2 * x + $0 % 2]
                }
                #expect(luma.map(Int.init) == (0..<4).map { at(0, 2 * x + $0 % 2, 2 * y + $0 / 2) })
                for plane in 1...2 {
                    let sum = (0..<4).reduce(0) { $0 + at(plane, 2 * x + $1 % 2, 2 * y + $1 / 2) }
                    let mean = Int(half.samples[half.starts[plane] + y * halfWidth + x])
                    #expect(abs(4 * mean - sum) <= 2)
                }
            }
        }
    }

    @Test func givesTheSamePlaceholderForEveryFormat() throws {
        let file = folder.file("clip.mkv")
        try Tool.output("ffmpeg", ["-v", "error", "-f", "lavfi", "-i", "testsrc2=s=352x288:d=0.1", file])
        let bytes = try folder.read("clip.mkv")
        let facts = try [Recipe.OutputFormat.jpeg, .png].map { format in
            var recipe = Self.recipe
            recipe.format = format
            return try Imaging().render(
                MemoryReader(bytes), recipe: recipe, limits: Limits(), stop: Stop(after: .seconds(60))
            ).facts
        }
        #expect(facts[0].thumbHash == facts[1].thumbHash)
        #expect(facts[0].dominantColor == facts[1].dominantColor)
    }

    @Test func keepsAlphaOutOfPlanes() throws {
        let file = folder.file("alpha.mov")
        try Tool.output(
            "ffmpeg",
            [
                "-v", "error", "-f", "lavfi", "-i", "color=red@0.5:s=64x48:d=0.1,format=rgba", "-c:v",
                "qtrle",
                file,
            ])
        let alpha = try Self.small(folder.read("alpha.mov"), Self.recipe, toPlanes: true)
        guard case .pixels(let bitmap) = alpha else {
            Issue.record("planes have no alpha")
            return
        }
        #expect(bitmap.hasAlpha)
    }
}
