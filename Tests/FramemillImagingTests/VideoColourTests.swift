import FramemillMedia
import TestSupport
import Testing

@testable import FramemillImaging

/// High dynamic range.
extension VideoFaultTests {
    /// A flat grey patch of 203 nits beside black, 10 bit.
    private func patch(_ curve: String) throws -> [UInt8] {
        try make(
            "hdr.mp4",
            [
                "-f", "lavfi", "-i",
                "color=black:s=640x360:d=0.2:r=10,format=yuv420p10le,geq=lum='if(lt(X,320),573,64)'"
                    + ":cb=512:cr=512",
                "-pix_fmt", "yuv420p10le", "-c:v", "libx265", "-x265-params", "log-level=none:lossless=1",
                "-tag:v", "hvc1", "-color_trc", curve, "-color_primaries", "bt2020", "-colorspace",
                "bt2020nc",
            ])
    }

    /// B43 (a) (b)
    @Test(arguments: ["smpte2084", "arib-std-b67"]) func mapsHighDynamicRangeToLight(_ curve: String) throws {
        let picture = try cover(try patch(curve))
        #expect(picture.facts.hdr == (curve == "smpte2084" ? "pq" : "hlg"))
        #expect(!picture.facts.approximate)
        let patch = VideoCorpusTests.colour(picture.bitmap, "tl")
        let black = VideoCorpusTests.colour(picture.bitmap, "tr")
        #expect(patch.allSatisfy { $0 >= 170 && $0 <= 235 }, "\(patch)")
        #expect(black.allSatisfy { $0 <= 5 }, "\(black)")
    }

    /// B43 (c): the profile, what its base layer is compatible with (0 nothing, 1 HDR10, 2 SDR, 4 HLG, 6 Blu-ray), the
    /// box its record stands in ("Dolby Vision Streams Within the ISO Base Media File Format", 2.2), and whether colours
    /// are approximate.
    @Test(arguments: [
        (5, 0, "dvcC", true), (8, 1, "dvvC", false), (8, 4, "dvvC", false), (8, 2, "dvvC", false),
        (7, 6, "dvcC", false), (10, 0, "dvvC", true), (10, 1, "dvvC", false),
    ]) func marksDolbyVisionWithoutABaseLayer(
        _ profile: UInt8, _ compatibility: UInt8, _ name: String, _ isApproximate: Bool
    ) throws {
        var boxes = Boxes(try patch(compatibility == 4 ? "arib-std-b67" : "smpte2084"))
        // Version 1.0; profile in 7 bits, level 6 in 6; metadata and base layer present, no enhancement layer.
        let record =
            [1, 0, profile << 1, 6 << 3 | 0b101, compatibility << 4] + [UInt8](repeating: 0, count: 19)
        try boxes.append(name, record, to: "moov", "trak", "mdia", "minf", "stbl", "stsd", "hvc1")
        let picture = try cover(boxes.bytes)
        #expect(picture.facts.approximate == isApproximate)
        #expect("\(picture.bitmap.width)x\(picture.bitmap.height)" == "640x360")
        // The same record as Matroska carries it, where ffmpeg copies what it understood.
        try folder.write(boxes.bytes, to: "dolby.mp4")
        let copy = try make(
            "dolby.mkv", ["-i", folder.file("dolby.mp4"), "-c", "copy", "-strict", "unofficial"])
        #expect(try cover(copy).facts.approximate == isApproximate)
    }
}
