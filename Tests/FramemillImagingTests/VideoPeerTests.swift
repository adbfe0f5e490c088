import FramemillMedia
import TestSupport
import Testing

@testable import FramemillImaging

extension VideoFaultTests {
    /// The picture itself against ffmpeg's, for every codec and layout at hand.
    @Test(
        arguments: [
            ("mp4", ["-c:v", "libx264", "-pix_fmt", "yuv420p"]),
            ("mp4", ["-c:v", "libx264", "-pix_fmt", "yuv444p"]),
            ("mkv", ["-c:v", "libx264", "-pix_fmt", "yuvj420p", "-color_range", "pc"]),
            ("mkv", ["-c:v", "libvpx"]), ("webm", ["-c:v", "libvpx-vp9", "-speed", "8"]),
            ("mkv", ["-c:v", "libx265", "-x265-params", "log-level=none"]),
            ("avi", ["-c:v", "mpeg4", "-q:v", "2"]),
            ("ts", ["-c:v", "mpeg2video", "-q:v", "2"]), ("mpg", ["-c:v", "mpeg1video", "-q:v", "2"]),
            ("mov", ["-c:v", "mjpeg", "-q:v", "2"]), ("mov", ["-c:v", "prores"]),
            ("flv", ["-c:v", "flv1", "-q:v", "2"]),
            ("ogv", ["-c:v", "libtheora", "-q:v", "9"]), ("wmv", ["-c:v", "wmv2", "-q:v", "2"]),
            ("mkv", ["-c:v", "ffv1", "-pix_fmt", "gray"]), ("mov", ["-c:v", "qtrle"]),
            ("mov", ["-c:v", "rawvideo", "-pix_fmt", "uyvy422"]),
            ("avi", ["-c:v", "rawvideo", "-pix_fmt", "bgr24"]),
            ("mkv", ["-c:v", "ffv1", "-pix_fmt", "yuv422p10le"]),
        ] as [(String, [String])])
    func equalsWhatFFmpegDecodes(_ kind: String, _ codec: [String]) throws {
        let clip = try make("x.\(kind)", ["-f", "lavfi", "-i", "testsrc2=d=0.4:s=352x288:r=25"] + codec)
        let ours = try cover(clip, at: .first).bitmap
        let theirs = try Tool.output(
            "ffmpeg",
            [
                "-v", "error", "-i", folder.file("x.\(kind)"), "-frames:v", "1", "-f", "rawvideo", "-pix_fmt",
                "rgba", "-",
            ])
        try #require(theirs.count == ours.pixels.count)
        var sums = [0, 0, 0, 0]
        for index in theirs.indices { sums[index % 4] += abs(Int(theirs[index]) - Int(ours.pixels[index])) }
        for channel in 0..<3 { #expect(Double(sums[channel]) / Double(352 * 288) <= 2, "channel \(channel)") }
    }
}
