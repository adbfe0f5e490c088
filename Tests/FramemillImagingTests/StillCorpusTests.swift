import FramemillMedia
import TestSupport
import Testing

@testable import FramemillImaging

/// The files that nobody here wrote, against what independent decoders say of them.
@Suite(.enabled(if: Corpus.isPresent, "\(Corpus.absence)"))
struct StillCorpusTests {
    @Test func decodesEveryPictureAsIndependentDecodersDo() throws {
        let rows = Corpus.rows("image", "gif", "webp", "apng")
        #expect(rows.count > 300 && StillCorpus.firstFrames.count > 300)
        let wrong = try rows.flatMap { try mismatches($0) }
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
    }

    @Test func refusesBrokenPicturesForTheRightReason() throws {
        let rows = Corpus.rows("broken").filter { row in
            [".gif", ".webp", ".png"].contains { row.path.hasSuffix($0) }
        }
        let wrong = try rows.flatMap { try mismatches($0) }
        #expect(rows.count > 40)
        #expect(wrong.isEmpty, "\(wrong.joined(separator: "\n"))")
    }

    @Test func tellsTheSameFactsWithAndWithoutDecoding() throws {
        for row in Corpus.rows("image", "gif", "webp", "apng") {
            let bytes = try StillCorpus.bytes(row)
            guard case .success(let picture) = StillCorpus.decode(bytes) else { continue }
            let (told, found) = (try StillCorpus.facts(bytes).get(), picture.facts)
            #expect(told.facts.storedWidth == found.storedWidth, "\(row)")
            #expect(told.facts.storedHeight == found.storedHeight, "\(row)")
            #expect(told.orientation == picture.orientation, "\(row)")
            // Damage is met by decoding only, and ends the count.
            guard !found.degraded else { continue }
            #expect(told.facts.animated == found.animated, "\(row)")
            #expect(told.facts.frameCount == found.frameCount, "\(row)")
        }
    }

    @Test(arguments: [
        ("image/pillow_hopper_orientation_3.webp", 3), ("image/pillow_hopper_orientation_5.webp", 5),
        ("image/pillow_hopper_orientation_7.webp", 7), ("image/pillow_hopper_orientation_8.webp", 8),
        ("image/lilliput_rotation-animated-irot90.avif", 8), ("image/lilliput_rotation-irot180.avif", 3),
        ("image/lilliput_rotation-irot90-imir1.avif", 7), ("image/pillow_rot1mir1.avif", 7),
        ("image/pillow_rot3mir0.avif", 7), ("image/exiforient_Landscape_6.jpg", 6),
    ])
    func saysHowAPictureIsMeantToBeTurned(path: String, orientation: Int) throws {
        let row = try #require(Corpus.rows.first { $0.path == path })
        #expect(try StillCorpus.decode(StillCorpus.bytes(row)).get().orientation == orientation)
    }

    /// Cut anywhere, a file gives a picture or a failure that names the source, and nothing else.
    @Test func survivesFilesThatAreCutAnywhere() throws {
        var seen: Set<String> = []
        for row in Corpus.rows("image", "gif", "webp", "apng") where row.byteCount < 20_000 {
            guard seen.insert(row.kind + row.path.suffix(4)).inserted else { continue }
            let bytes = try StillCorpus.bytes(row)
            for cut in stride(from: 0, to: bytes.count, by: max(1, bytes.count / 50)) {
                if case .failure(let failure) = StillCorpus.decode(Array(bytes.prefix(cut))) {
                    #expect(failure.reason.fault == .source, "\(row) cut at \(cut): \(failure)")
                }
            }
        }
        #expect(seen.count >= 5)
    }

    private func mismatches(_ row: Corpus.Row) throws -> [String] {
        let bytes = try StillCorpus.bytes(row)
        let format = Format.sniff(Array(bytes.prefix(512)))
        var allowed = row.refusals
        // A picture of no width shows nothing; browsers differ.
        if row.path == "gif/wuffs_zero-width-frame.gif" { allowed = ["corrupt"] }
        // By its first bytes not a picture at all: others say so, or let libavformat look at it.
        if allowed == ["not_media"], format == .text || format == .container { return [] }
        switch StillCorpus.decode(bytes) {
        case .failure(let failure):
            if allowed.contains(failure.reason.code) { return [] }
            return ["\(row): expected \(allowed.isEmpty ? ["a picture"] : allowed), got \(failure)"]
        case .success(let picture):
            if !allowed.isEmpty, !allowed.contains("ok") {
                return ["\(row): expected \(allowed), got a picture"]
            }
            return differences(row, picture, format)
        }
    }

    private func differences(_ row: Corpus.Row, _ picture: StillPicture, _ format: Format) -> [String] {
        var wrong: [String] = []
        let (bitmap, facts) = (picture.bitmap, picture.facts)
        var found = ["width": "\(facts.storedWidth)", "height": "\(facts.storedHeight)"]
        found["orientation"] = row.path.hasSuffix("jpg") ? "\(picture.orientation)" : nil
        // Files that promise other frames than they hold: the list has what decoders could show, we the promise.
        let promises = ["num_frames", "apng_trunc", "no_fdat", "mdx_f88b6907"].contains {
            row.path.contains($0)
        }
        if row.kind != "broken", !promises, !facts.degraded {
            found["frames"] = facts.frameCount.map { "\($0)" }
        }
        for (key, value) in found {
            guard let expected = row.expected[key], expected != value else { continue }
            wrong.append("\(row): \(key) is \(value), not \(expected)")
        }
        // A hidden default image is the cover, and not among the frames listed. On the last two the list itself has no
        // majority: some decoders paint the background colour around a small frame, browsers and we do not.
        let isSplit = ["frame-out-of-bounds", "small-frame-interlaced"].contains { row.path.contains($0) }
        guard row.expected["default_image"] != "hidden", !facts.degraded, !isSplit else { return wrong }
        let isLossless = format == .gif || format == .png || facts.codec == "webp-lossless"
        for (key, x, y) in [("frame0_centre", bitmap.width / 2, bitmap.height / 2), ("frame0_topleft", 0, 0)]
        {
            guard let expected = row.expected[key] else { continue }
            let pixel = StillCorpus.pixel(bitmap, x, y)
            if !StillCorpus.isClose(pixel, expected, within: isLossless ? 0 : 3) {
                wrong.append("\(row): \(key) is \(pixel), not \(expected)")
            }
        }
        if isLossless, let digest = StillCorpus.firstFrames[row.path], !digest.isEmpty {
            if StillCorpus.digest(bitmap) != digest {
                wrong.append("\(row): the canvas is not the reference's")
            }
        }
        return wrong
    }
}
