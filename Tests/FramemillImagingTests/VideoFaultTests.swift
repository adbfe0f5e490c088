import Foundation
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

    /// B33, B45: of large pictures the search decodes key pictures only, and all of them where no key picture is good.
    @Test(arguments: [(25, 25...50), (999, 25...29)])
    func searchesLargePicturesByTheirKeys(_ group: Int, _ frames: ClosedRange<Int>) throws {
        let clip = try make(
            "large.mp4",
            [
                "-f", "lavfi", "-i", "color=black:d=1:s=3840x2160:r=25", "-f", "lavfi", "-i",
                "testsrc2=s=3840x2160:d=1:r=25", "-filter_complex", "concat", "-preset", "ultrafast", "-g",
                "\(group)", "-sc_threshold", "0",
            ])
        let facts = try cover(clip, box: .longestSide(64)).facts
        #expect(!facts.dark)
        #expect(frames.contains(Int(((facts.timeUsed ?? 0) * 25).rounded())), "\(facts.timeUsed ?? -1)")
        #expect(group == 999 || facts.framesDecoded <= 4)
    }

    /// B33
    @Test func saysThePeakMemoryOfItsProcess() throws {
        let clip = try make("small.mp4", ["-f", "lavfi", "-i", "color=red:s=320x180:d=0.1"])
        let facts = try Imaging().render(
            MemoryReader(clip), recipe: Recipe(), limits: Limits(), stop: Stop(after: .seconds(60))
        ).facts
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") })
        let kibibytes = try #require(line.split(separator: " ").compactMap { Int64($0) }.first)
        let peak = try #require(facts.peakBytes)
        // Tests beside this one may have raised it since.
        #expect(peak > 1 << 20 && peak <= kibibytes * 1024 && peak >= kibibytes * 1024 / 2)
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
