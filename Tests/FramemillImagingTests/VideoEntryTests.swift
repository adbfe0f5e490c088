import FramemillMedia
import TestSupport
import Testing

@testable import FramemillImaging

/// Streams that are entered between key pictures, and moments inside them.
extension VideoFaultTests {
    /// 8 s at 25 frames a second in groups of 40 pictures.
    private func source(_ name: String, _ codec: [String]) throws -> [UInt8] {
        try make(name, ["-f", "lavfi", "-i", "testsrc2=d=8:s=160x120:r=25"] + codec)
    }

    /// `name` without its first packets.
    private func cut(_ name: String, packets: Int) throws -> [UInt8] {
        try make(
            "cut-\(name)",
            [
                "-i", folder.file(name), "-c", "copy", "-copyinkf", "-bsf:v",
                "noise=amount=0:drop='lt(n,\(packets))'",
            ])
    }

    /// Mean difference of a channel between the cover and the frame of that number in the source.
    private func distance(_ picture: Decoded, _ name: String, frame: Int) throws -> Double {
        let pixels = try Tool.output(
            "ffmpeg",
            [
                "-v", "error", "-i", folder.file(name), "-vf", "select=eq(n\\,\(frame))", "-frames:v", "1",
                "-f", "rawvideo", "-pix_fmt", "rgba", "-",
            ])
        try #require(pixels.count == picture.bitmap.pixels.count)
        let sum = zip(pixels, picture.bitmap.pixels).reduce(0) { $0 + abs(Int($1.0) - Int($1.1)) }
        return Double(sum) / Double(pixels.count) / 3 * 4
    }

    static let h264 = [
        "-c:v", "libx264", "-x264-params", "open-gop=1:bframes=3:b-adapt=0:keyint=40:scenecut=0",
    ]
    static let hevc = [
        "-c:v", "libx265", "-x265-params",
        "log-level=none:open-gop=1:bframes=4:b-adapt=0:keyint=40:min-keyint=40:scenecut=0",
    ]

    /// B57: behind the first key picture, inside a group, at a leading picture of the second.
    @Test(arguments: [h264, hevc]) func entersAnOpenGroupAtItsFirstCleanPicture(_ codec: [String]) throws {
        for kind in ["ts", "mkv"] {
            _ = try source("open.\(kind)", codec)
            // Packets stand a few places before or behind their pictures.
            for (packets, key) in [(1, 40), (20, 40), (41, 80), (43, 80)] {
                let picture = try cover(try cut("open.\(kind)", packets: packets), at: .auto)
                #expect(!picture.facts.degraded)
                #expect(try distance(picture, "open.\(kind)", frame: key) <= 2, "\(kind) \(packets)")
            }
        }
    }

    /// B57: a key picture every ten seconds, and a file that begins 40 packets behind one.
    @Test func waitsForTheFirstCleanPictureOfAChoppedStream() throws {
        let whole = try make(
            "a.ts", ["-f", "lavfi", "-i", "testsrc2=d=12:s=160x120", "-c:v", "libx264", "-g", "250"])
        let picture = try cover(try cut("a.ts", packets: 40), at: .first)
        #expect(!picture.facts.degraded)
        #expect(try distance(picture, "a.ts", frame: 250) <= 2)
        // On a border of 188 bytes rather than of a packet.
        let chopped = Array(whole[(whole.count / 5 / 188 * 188)...])
        #expect(try distance(try cover(chopped, at: .first), "a.ts", frame: 250) <= 2)
    }

    /// B57: no key picture but the first; a recovery point says from where on pictures are whole.
    @Test func waitsUntilAStreamOfRecoveryPointsIsWhole() throws {
        _ = try source(
            "refresh.mkv", ["-c:v", "libx264", "-x264-params", "intra-refresh=1:keyint=40:scenecut=0"])
        let picture = try cover(try cut("refresh.mkv", packets: 20))
        #expect(!picture.facts.degraded)
        let frame = Int(((picture.facts.timeUsed ?? 0) * 25).rounded())
        #expect(frame > 40)
        #expect(try distance(picture, "refresh.mkv", frame: frame) <= 2)
    }

    /// B57
    @Test(arguments: [h264, hevc])
    func marksThePictureOfAStreamThatHasOnlyDamagedOnes(_ codec: [String]) throws {
        _ = try source("end.mkv", codec)
        // Behind the last key picture, at 160.
        let picture = try cover(try cut("end.mkv", packets: 170))
        #expect(picture.facts.degraded)
        #expect(picture.bitmap.width == 160)
    }

    /// Of a stream that refreshes itself bit by bit without saying so, a later picture shows more than the first.
    @Test func showsAPictureThatHealedWhereNoneIsClean() throws {
        _ = try source(
            "heal.mkv",
            ["-c:v", "libx265", "-x265-params", "log-level=none:intra-refresh=1:keyint=40:scenecut=0"])
        let picture = try cover(try cut("heal.mkv", packets: 20))
        #expect(picture.facts.degraded)
        let frame = Int(((picture.facts.timeUsed ?? 0) * 25).rounded())
        // The first one is 99 away.
        #expect(try distance(picture, "heal.mkv", frame: frame) < 20)
    }

    /// B57, B10: the key picture before a moment must be found too where containers know only times, and where the
    /// moment lies among the leading pictures of a group.
    @Test(
        arguments: [
            ("mp4", h264), ("mp4", hevc), ("mkv", hevc), ("ts", h264), ("ts", hevc),
            ("ts", ["-c:v", "mpeg2video", "-q:v", "3", "-g", "40"]),
            ("mpg", ["-c:v", "mpeg2video", "-q:v", "3", "-g", "40", "-maxrate", "8M", "-bufsize", "4M"]),
        ] as [(String, [String])])
    func givesExactlyTheFrameThatWasAskedFor(_ kind: String, _ codec: [String]) throws {
        let clip = try source("exact.\(kind)", codec)
        for frame in [0, 1, 37, 40, 43, 78, 80, 120, 199] {
            let picture = try cover(clip, at: .seconds(Double(frame) / 25 + 0.001), seek: .exact)
            #expect(try distance(picture, "exact.\(kind)", frame: frame) <= 2, "\(frame)")
        }
    }
}
