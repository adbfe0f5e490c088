import FramemillMedia
import TestSupport
import Testing

@testable import FramemillImaging

/// Turns, reflections and pixel aspects.
extension VideoFaultTests {
    /// B54: matrices in the order a b c d, what they mean, and the corners they give a picture of R G over B W.
    static let turns: [(matrix: [Int], orientation: Int, corners: String)] = [
        ([1, 0, 0, 1], 1, "RGBW"), ([-1, 0, 0, 1], 2, "GRWB"), ([-1, 0, 0, -1], 3, "WBGR"),
        ([1, 0, 0, -1], 4, "BWRG"), ([0, 1, 1, 0], 5, "RBGW"), ([0, 1, -1, 0], 6, "BRWG"),
        ([0, -1, -1, 0], 7, "WGBR"), ([0, -1, 1, 0], 8, "GWRB"),
    ]

    /// B54
    @Test(arguments: turns)
    func turnsAndMirrorsWhatTheTrackHeaderSays(
        _ matrix: [Int], _ orientation: Int, _ corners: String
    ) throws {
        let quad = try make(
            "quad.mp4",
            [
                "-f", "lavfi", "-i",
                "color=white:s=1920x1080:d=0.1,drawbox=0:0:960:540:red:fill,"
                    + "drawbox=960:0:960:540:0x00ff00:fill,drawbox=0:540:960:540:blue:fill",
                "-preset", "ultrafast",
            ])
        var boxes = Boxes(quad)
        try boxes.turn(matrix[0], matrix[1], matrix[2], matrix[3])
        let picture = try cover(boxes.bytes, box: .longestSide(192))
        let facts = picture.facts
        #expect(facts.orientation == orientation)
        let isTurned = orientation >= 5
        #expect("\(facts.displayWidth)x\(facts.displayHeight)" == (isTurned ? "1080x1920" : "1920x1080"))
        #expect("\(picture.bitmap.width)x\(picture.bitmap.height)" == (isTurned ? "108x192" : "192x108"))
        #expect(Self.corners(picture.bitmap) == corners)
        // ffmpeg's own first frame of the same file.
        try folder.write(boxes.bytes, to: "turned.mp4")
        let pixels = try Tool.output(
            "ffmpeg",
            [
                "-v", "error", "-i", folder.file("turned.mp4"), "-frames:v", "1", "-vf", "scale=iw/10:-1",
                "-f", "rawvideo",
                "-pix_fmt", "rgba", "-",
            ])
        try #require(pixels.count == picture.bitmap.pixels.count)
        let theirs = Bitmap(
            width: picture.bitmap.width, height: picture.bitmap.height, pixels: pixels, hasAlpha: false)
        #expect(Self.corners(theirs) == corners)
    }

    /// The letters of the four corners: top left, top right, bottom left, bottom right.
    private static func corners(_ bitmap: Bitmap) -> String {
        let letters = ["tl", "tr", "bl", "br"].map { place in
            switch VideoCorpusTests.colour(bitmap, place).map({ $0 > 128 }) {
            case [true, false, false]: "R"
            case [false, true, false]: "G"
            case [false, false, true]: "B"
            case [true, true, true]: "W"
            default: "?"
            }
        }
        return letters.joined()
    }

    /// B54
    @Test(arguments: turns)
    func turnsAndMirrorsEachPixel(_ matrix: [Int], _ orientation: Int, _ corners: String) {
        let colours: [Character: [UInt8]] = [
            "R": [255, 0, 0, 255], "G": [0, 255, 0, 255], "B": [0, 0, 255, 255], "W": [255, 255, 255, 255],
        ]
        let quad = Bitmap(
            width: 2, height: 2, pixels: Array("RGBW").flatMap { colours[$0]! }, hasAlpha: false)
        let upright = Geometry.upright(quad, orientation: orientation)
        #expect(upright.pixels == Array(corners).flatMap { colours[$0]! })
    }

    /// B55
    @Test func showsPixelsInTheirShape() throws {
        func clip(_ size: String, _ aspect: String) throws -> [UInt8] {
            try make("sar.mp4", ["-f", "lavfi", "-i", "testsrc2=s=\(size):d=0.2,setsar=\(aspect)"])
        }
        func size(_ picture: Decoded) -> String { "\(picture.bitmap.width)x\(picture.bitmap.height)" }
        #expect(size(try cover(try clip("1920x1080", "9/16"))) == "1080x1080")
        #expect(size(try cover(try clip("720x576", "64/45"))) == "1024x576")
        #expect(size(try cover(try clip("1920x1080", "9/16"), box: .longestSide(512))) == "512x512")
        _ = try clip("1440x1080", "4/3")
        let turned = try make(
            "turned.mp4", ["-i", folder.file("sar.mp4"), "-c", "copy", "-metadata:s:v", "rotate=90"])
        #expect(size(try cover(turned)) == "1080x1920")
    }
}
