import Foundation
import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import FramemillImaging

/// Every video of the corpus against what several independent decoders agree on.
@Suite(.enabled(if: Corpus.isPresent, Comment(rawValue: Corpus.absence)))
struct VideoCorpusTests {
    static let videos = Corpus.rows("video")
    static let broken = Corpus.rows("broken").filter {
        !["gif", "webp", "png"].contains(($0.path as NSString).pathExtension)
    }

    /// Rows where we refuse for another reason than the manifest names, and why that is right.
    static let otherReasons: [String: String] = [
        // The header says 12336 x 12336: refused before a decoder is fed, as Limits.pixelsPerFrame promises.
        "broken/libwebm_invalid_vp9_bitstream-bug_1416.webm": "too_large",
        // An index without samples whose only video entry is `encv`: both are true, and the row of another such file
        // (gomp4_sample_init.encv) lists this one.
        "broken/shaka_empty_caption_video_init.mp4": "encrypted",
        // All its samples are encrypted (`encv`, `cbcs`, no clear group); ffmpeg decodes the ciphertext to an even grey.
        "video/media3_sample_fragmented_sgpd_v2.mp4": "encrypted",
    ]

    /// Rows where our first picture is another than ffmpeg's, and why.
    static let otherPictures: Set<String> = [
        // The manifest itself says so: skipping the damaged first picture is better than its grey.
        "video/gen_corrupt_first_key.mp4",
        // The listed colours are those of the second picture (1.08 s) beside the time of the first (1.04 s), which is ours:
        // a leading one that needs only the key picture behind it, and is whole.
        "video/mdx_Sony-ILCE-7M3-A7M3-.mts",
    ]

    static func render(_ row: Corpus.Row, box: Recipe.Box = .native) throws(Failure) -> Decoded {
        var recipe = Recipe()
        recipe.box = box
        recipe.mode = .stretch
        recipe.at = .first
        var timer = StageTimer()
        let bytes = [UInt8](FileManager.default.contents(atPath: row.file) ?? Data())
        return try Imaging().picture(
            MemoryReader(bytes), recipe: recipe, limits: Limits(), stop: Stop(after: .seconds(60)), &timer)
    }

    @Test(arguments: videos) func givesTheListedFactsAndColours(_ row: Corpus.Row) throws {
        // Only a decoder newer than Debian's knows VVC.
        if row.expected["codec"] == "vvc1" {
            #expect(throws: Failure.self) { try Self.render(row) }
            return
        }
        let picture: Decoded
        do {
            picture = try Self.render(row)
        } catch let failure {
            let allowed = row.refusals + [Self.otherReasons[row.path]].compactMap { $0 }
            #expect(allowed.contains(failure.reason.code), "\(failure)")
            return
        }
        if !row.refusals.isEmpty {
            #expect(row.refusals.contains("cover_art"), "made a picture")
            #expect(picture.facts.source == .attached)
        }
        let facts = picture.facts
        if picture.facts.source == .video {
            if let coded = row.expected["coded"] {
                #expect("\(facts.storedWidth)x\(facts.storedHeight)" == coded)
            }
            if let codec = row.expected["codec"] { #expect(facts.codec == codec) }
            if let layout = row.expected["pix_fmt"], facts.pixelFormat?.hasPrefix("yuva") != true {
                #expect(facts.pixelFormat == layout)
            }
            if let sar = row.expected["sar"], facts.pixelAspect != sar {
                let ours = facts.pixelAspect.split(separator: ":").compactMap { Double($0) }
                let theirs = sar.split(separator: ":").compactMap { Double($0) }
                #expect(abs(ours[0] / ours[1] - theirs[0] / theirs[1]) < 1e-3, "\(facts.pixelAspect) \(sar)")
            }
            if let turn = row.expected["orientation"]?.prefix(1), let number = Int(turn) {
                #expect(facts.orientation == number)
            }
            if let count = row.number("nb_frames"), let ours = facts.frameCount { #expect(ours == count) }
        }
        if let container = row.expected["container"] { #expect(facts.container == container) }
        if let shown = row.expected["display"] ?? row.expected["oriented"],
            row.expected["display"] == nil || facts.orientation < 5
        {
            #expect("\(picture.bitmap.width)x\(picture.bitmap.height)" == shown)
        }
        guard facts.hdr == nil, !Self.otherPictures.contains(row.path) else { return }
        // The listed colours are of the picture before its pixel aspect is applied.
        let sides = row.expected["oriented"]?.split(separator: "x").compactMap { Int($0) } ?? []
        let plain =
            row.expected["display"] == nil || sides.count != 2
            ? picture : try Self.render(row, box: .size(width: sides[0], height: sides[1]))
        for (place, colour) in row.colours {
            let ours = Self.colour(plain.bitmap, place)
            let theirs = stride(from: 1, to: 7, by: 2).map { start -> Int in
                let text = Array(colour)[start..<start + 2]
                return Int(String(text), radix: 16) ?? -1
            }
            let distance = zip(ours, theirs).map { abs($0 - $1) }.max() ?? 0
            #expect(distance <= 16, "\(place): \(ours) instead of \(theirs)")
        }
    }

    @Test(arguments: broken) func refusesBrokenFilesWithTheListedReason(_ row: Corpus.Row) throws {
        do {
            _ = try Self.render(row)
            #expect(row.refusals.contains("ok"), "made a picture")
        } catch let failure {
            let allowed = row.refusals + [Self.otherReasons[row.path]].compactMap { $0 }
            #expect(allowed.contains(failure.reason.code), "\(failure)")
        }
    }

    /// Mean of the 8 x 8 block at a place, or of the whole picture, as the manifest defines them.
    static func colour(_ bitmap: Bitmap, _ place: String) -> [Int] {
        let (width, height) = (bitmap.width, bitmap.height)
        func span(_ center: Int, _ count: Int) -> Range<Int> {
            let low = min(max(0, center - 4), max(0, count - 8))
            return low..<min(count, low + 8)
        }
        // Quarters round half up, as the manifest's own numbers do.
        func quarter(_ number: Int, _ count: Int) -> Range<Int> { span((count * number + 2) / 4, count) }
        let (columns, rows): (Range<Int>, Range<Int>) =
            switch place {
            case "tl": (quarter(1, width), quarter(1, height))
            case "tr": (quarter(3, width), quarter(1, height))
            case "bl": (quarter(1, width), quarter(3, height))
            case "br": (quarter(3, width), quarter(3, height))
            case "c": (quarter(2, width), quarter(2, height))
            default: (0..<width, 0..<height)
            }
        var sums = [0, 0, 0]
        for y in rows {
            for x in columns {
                for channel in 0..<3 { sums[channel] += Int(bitmap.pixels[(y * width + x) * 4 + channel]) }
            }
        }
        return sums.map { $0 / (columns.count * rows.count) }
    }
}
