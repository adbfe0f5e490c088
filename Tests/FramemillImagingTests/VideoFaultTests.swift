import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import FramemillImaging

/// Faults that people met in this field, each with its input made on the spot by ffmpeg.
@Suite struct VideoFaultTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    func make(_ name: String, _ arguments: [String]) throws -> [UInt8] {
        try Tool.output("ffmpeg", ["-v", "error", "-y"] + arguments + [folder.file(name)])
        return try folder.read(name)
    }

    func cover(
        _ bytes: [UInt8], at moment: Recipe.Moment = .auto, seek: Recipe.Seek = .keyframe,
        box: Recipe.Box = .native
    ) throws(Failure) -> Decoded {
        var recipe = Recipe()
        recipe.at = moment
        recipe.seek = seek
        recipe.box = box
        var timer = StageTimer()
        return try Imaging().picture(
            MemoryReader(bytes), recipe: recipe, limits: Limits(), stop: Stop(after: .seconds(120)), &timer)
    }

    /// B10
    @Test func givesAPictureForEveryMomentOfShortClips() throws {
        let moments: [Recipe.Moment] = [
            .auto, .first, .seconds(0), .percent(50), .percent(100), .seconds(99999),
        ]
        let clips = [
            try make("short.mp4", ["-f", "lavfi", "-i", "testsrc2=d=0.3:s=160x90"]),
            try make("one.mp4", ["-f", "lavfi", "-i", "testsrc2=s=160x90", "-frames:v", "1"]),
            try make(
                "onekey.mp4",
                ["-f", "lavfi", "-i", "testsrc2=d=8:s=160x90", "-g", "999", "-sc_threshold", "0"]),
            try make(
                "live.mov",
                [
                    "-f", "lavfi", "-i", "testsrc2=d=1.2:s=160x90", "-f", "lavfi", "-i", "sine=d=3", "-c:v",
                    "libx265",
                    "-x265-params", "log-level=none",
                ]),
            try make("clip.ts", ["-f", "lavfi", "-i", "testsrc2=d=5:s=160x90"]),
        ]
        for clip in clips {
            for moment in moments {
                for seek in [Recipe.Seek.keyframe, .exact] {
                    let picture = try cover(clip, at: moment, seek: seek)
                    #expect(picture.bitmap.width == 160)
                    #expect(picture.facts.timeUsed != nil)
                }
            }
        }
        // The last frame of 8 s at 25 a second starts at 7.96.
        let last = try cover(clips[2], at: .seconds(99999), seek: .exact)
        #expect(abs((last.facts.timeUsed ?? 0) - 7.96) < 0.001)
        let middle = try cover(clips[2], at: .percent(50), seek: .exact)
        #expect(abs((middle.facts.timeUsed ?? 0) - 4) < 0.05)
        #expect(try cover(clips[2], at: .percent(50)).facts.timeUsed == 0)
    }

    /// B43
    @Test(arguments: ["smpte2084", "arib-std-b67"]) func mapsHighDynamicRangeToLight(_ curve: String) throws {
        let clip = try make(
            "hdr.mp4",
            [
                "-f", "lavfi", "-i",
                "color=black:s=640x360:d=0.2:r=10,format=yuv420p10le,geq=lum='if(lt(X,320),573,64)'"
                    + ":cb=512:cr=512",
                "-pix_fmt", "yuv420p10le", "-c:v", "libx265", "-x265-params", "log-level=none:lossless=1",
                "-color_trc", curve, "-color_primaries", "bt2020", "-colorspace", "bt2020nc",
            ])
        let picture = try cover(clip)
        #expect(picture.facts.hdr == (curve == "smpte2084" ? "pq" : "hlg"))
        let patch = VideoCorpusTests.colour(picture.bitmap, "tl")
        let black = VideoCorpusTests.colour(picture.bitmap, "tr")
        #expect(patch.allSatisfy { $0 >= 170 && $0 <= 235 }, "\(patch)")
        #expect(black.allSatisfy { $0 <= 5 }, "\(black)")
    }

    func luma(_ bitmap: Bitmap) -> Int {
        let mean = VideoCorpusTests.colour(bitmap, "mean")
        return (mean[0] * 299 + mean[1] * 587 + mean[2] * 114) / 1000
    }

    /// B45
    @Test func movesOnPastABlackOpeningAndAFade() throws {
        let opening = try make(
            "opening.mp4",
            [
                "-f", "lavfi", "-i", "color=black:d=3:s=320x240", "-f", "lavfi", "-i",
                "testsrc2=s=320x240:d=27,fade=in:d=1", "-filter_complex", "concat",
            ])
        let late = try make(
            "late.mp4",
            [
                "-f", "lavfi", "-i", "color=black:d=3.5:s=320x240", "-f", "lavfi", "-i",
                "testsrc2=s=320x240:d=0.5",
                "-filter_complex", "concat",
            ])
        for clip in [opening, late] {
            let picture = try cover(clip)
            #expect(luma(picture.bitmap) > 32)
            #expect(!picture.facts.dark)
        }
        let full = try cover(opening, at: .seconds(5), seek: .exact)
        // Past the fade, not in its middle.
        #expect(luma(try cover(opening).bitmap) * 10 > luma(full.bitmap) * 8)
        #expect(luma(try cover(opening, at: .first).bitmap) < 5)
    }

    /// B45
    @Test func marksAnAllBlackClipAndStopsLooking() throws {
        let clip = try make("black.mp4", ["-f", "lavfi", "-i", "color=black:d=30:s=320x240"])
        let picture = try cover(clip)
        #expect(picture.facts.dark)
        #expect(picture.facts.framesDecoded <= Limits().scanFrames + 2)
    }

    /// B46
    @Test func takesTheMovingStreamAndNotThePoster() throws {
        let video = try make(
            "v.webm", ["-f", "lavfi", "-i", "testsrc2=d=1:s=1280x720", "-c:v", "libvpx-vp9", "-speed", "8"])
        let mp4 = try make("v.mp4", ["-f", "lavfi", "-i", "testsrc2=d=1:s=1280x720"])
        #expect(!video.isEmpty && !mp4.isEmpty)
        _ = try make("c.jpg", ["-f", "lavfi", "-i", "color=red:s=300x400", "-frames:v", "1"])
        let attached = try make(
            "attached.mkv",
            [
                "-i", folder.file("v.webm"), "-attach", folder.file("c.jpg"), "-metadata:s:t",
                "mimetype=image/jpeg", "-c", "copy",
            ])
        let poster = try make(
            "poster.mkv",
            [
                "-i", folder.file("c.jpg"), "-i", folder.file("v.webm"), "-map", "0", "-map", "1", "-c",
                "copy",
                "-disposition:v:0", "default",
            ])
        let behind = try make(
            "behind.mp4",
            [
                "-i", folder.file("v.mp4"), "-i", folder.file("c.jpg"), "-map", "0", "-map", "1", "-c",
                "copy",
                "-disposition:v:1", "attached_pic",
            ])
        let before = try make(
            "before.mp4",
            [
                "-i", folder.file("v.mp4"), "-i", folder.file("c.jpg"), "-map", "1", "-map", "0", "-c",
                "copy",
                "-disposition:v:0", "attached_pic",
            ])
        for clip in [attached, poster, behind, before] {
            let facts = try cover(clip).facts
            #expect(facts.source == .video)
            #expect("\(facts.storedWidth)x\(facts.storedHeight)" == "1280x720")
        }
        let motion = try make("m.avi", ["-f", "lavfi", "-i", "testsrc2=d=1:s=640x480", "-c:v", "mjpeg"])
        #expect(try cover(motion).facts.storedWidth == 640)
        let song = try make(
            "song.m4a",
            [
                "-f", "lavfi", "-i", "sine=d=1", "-i", folder.file("c.jpg"), "-map", "0", "-map", "1", "-c:v",
                "copy",
                "-disposition:v:0", "attached_pic",
            ])
        let art = try cover(song).facts
        #expect(art.source == .attached)
        #expect("\(art.width)x\(art.height)" == "300x400")
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

    /// B54: the corner colours of the four reflections, as FAULTS lists them.
    @Test(arguments: [
        (2, "GRWB"), (4, "BWRG"), (5, "RBGW"), (7, "WGBR"), (1, "RGBW"), (3, "WBGR"), (6, "BRWG"),
        (8, "GWRB"),
    ]) func turnsAndMirrorsCorners(_ orientation: Int, _ corners: String) {
        let colours: [Character: [UInt8]] = [
            "R": [255, 0, 0, 255], "G": [0, 255, 0, 255], "B": [0, 0, 255, 255], "W": [255, 255, 255, 255],
        ]
        let quad = Bitmap(
            width: 2, height: 2, pixels: Array("RGBW").flatMap { colours[$0]! }, hasAlpha: false)
        let upright = Geometry.upright(quad, orientation: orientation)
        #expect(upright.pixels == Array(corners).flatMap { colours[$0]! })
    }

    /// B54: matrices in the order a b c d.
    @Test func readsTheOrientationOffADisplayMatrix() {
        let unit: Int32 = 65536
        let matrices: [(Int32, Int32, Int32, Int32, Int)] = [
            (1, 0, 0, 1, 1), (-1, 0, 0, 1, 2), (-1, 0, 0, -1, 3), (1, 0, 0, -1, 4), (0, 1, 1, 0, 5),
            (0, 1, -1, 0, 6),
            (0, -1, -1, 0, 7), (0, -1, 1, 0, 8),
        ]
        for (a, b, c, d, orientation) in matrices {
            #expect(Geometry.orientation(a: a * unit, b: b * unit, c: c * unit, d: d * unit) == orientation)
        }
    }

    /// B57
    @Test func waitsForTheFirstCleanPictureOfAChoppedStream() throws {
        let whole = try make(
            "a.ts", ["-f", "lavfi", "-i", "testsrc2=d=8:s=320x240", "-g", "100", "-sc_threshold", "0"])
        // Cut inside the first group of pictures, on a packet border.
        let cut = Array(whole[(whole.count / 5 / 188 * 188)...])
        let picture = try cover(cut, at: .first)
        #expect(!picture.facts.degraded)
        let reference = try cover(whole, at: .seconds(4), seek: .exact)
        let (ours, theirs) = (
            VideoCorpusTests.colour(picture.bitmap, "mean"), VideoCorpusTests.colour(reference.bitmap, "mean")
        )
        #expect(zip(ours, theirs).allSatisfy { abs($0 - $1) <= 5 }, "\(ours) \(theirs)")
    }

    @Test func takesTheCombsOutOfInterlacedMotion() throws {
        // A bar that moves 16 pixels from field to field leaves teeth; without them each edge is one step.
        let clip = try make(
            "comb.ts",
            [
                "-f", "lavfi", "-i",
                "color=black:s=320x240:r=50:d=1,drawbox=x='mod(t*800,200)':y=0:w=60:h=240:c=white:t=fill",
                "-vf", "drawbox=x=0:y=0:w=1:h=1,tinterlace=interleave_top,fieldorder=tff,setfield=tff",
                "-c:v",
                "mpeg2video", "-flags", "+ilme+ildct", "-q:v", "2",
            ])
        let picture = try cover(clip, at: .seconds(0.2), seek: .exact).bitmap
        var teeth = 0
        for y in 1..<picture.height - 1 {
            for x in 0..<picture.width {
                func value(_ row: Int) -> Int { Int(picture.pixels[(row * picture.width + x) * 4]) }
                if abs(value(y) - value(y - 1)) > 100, abs(value(y) - value(y + 1)) > 100 { teeth += 1 }
            }
        }
        #expect(teeth < picture.width, "\(teeth) teeth")
    }

    /// B33
    @Test func refusesWhatIsLargerThanTheLimitBeforeItDecodes() throws {
        let clip = try make("big.mp4", ["-f", "lavfi", "-i", "color=red:s=1280x720:d=0.1"])
        var limits = Limits()
        limits.pixelsPerFrame = 640 * 480
        #expect(throws: Failure.self) {
            try Imaging().render(
                MemoryReader(clip), recipe: Recipe(), limits: limits, stop: Stop(after: .seconds(60)))
        }
    }

    /// B02 (d): a broadcast that never ends, with packets of a stream that no table declares.
    @Test func givesACoverOfAnEndlessStreamAfterABoundedLook() throws {
        var clip = try make("live.ts", ["-f", "lavfi", "-i", "testsrc2=d=1:s=320x180", "-g", "10"])
        let stray: [UInt8] = [0x47, 0x41, 0xF0, 0x10] + [UInt8](repeating: 0xAA, count: 184)
        for packet in stride(from: clip.count / 188 / 4 * 4, to: 0, by: -4) {
            clip.insert(contentsOf: stray, at: packet * 188)
        }
        let endless = EndlessReader(clip)
        let artifact = try Imaging().render(
            endless, recipe: Recipe(), limits: Limits(), stop: Stop(after: .seconds(60)))
        #expect(artifact.facts.codec == "mpeg2video")
        #expect(endless.cost.bytes < Limits().probeBytes)
    }

    @Test func refusesAPlaylistAndOpensNothing() throws {
        let list = Array("#EXTM3U\n#EXTINF:1,\nfile:///etc/passwd\n".utf8)
        let failure = #expect(throws: Failure.self) { try cover(list) }
        #expect(failure?.reason == .notMedia)
    }
}
