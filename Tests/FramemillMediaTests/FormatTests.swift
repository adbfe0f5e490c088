import FramemillMedia
import TestSupport
import Testing

@Suite struct FormatTests {
    private func sniff(_ text: String) -> Format { .sniff(Array(text.utf8)) }
    private func ftyp(_ brands: String...) -> Format {
        let size = UInt8(16 + 4 * (brands.count - 1))
        let rest = brands.dropFirst().joined()
        return .sniff(
            [0, 0, 0, size] + Array("ftyp\(brands[0])".utf8) + [0, 0, 0, 0] + Array(rest.utf8) + [0, 0, 0, 8])
    }

    @Test func knowsPicturesByTheirFirstBytes() {
        #expect(Format.sniff([0xFF, 0xD8, 0xFF, 0xE0]) == .jpeg)
        #expect(Format.sniff([0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) == .png)
        #expect(sniff("GIF87a") == .gif)
        #expect(sniff("GIF89a;") == .gif)
        #expect(sniff("RIFF\0\0\0\0WEBPVP8 ") == .webp)
        #expect(sniff("RIFF\0\0\0\0AVI LIST") == .container)
    }

    @Test func tellsPicturesFromFilmsByTheirBrands() {
        #expect(ftyp("avif", "mif1", "miaf") == .avif)
        #expect(ftyp("avis", "msf1") == .avif)
        #expect(ftyp("mif1", "avif") == .avif)
        #expect(ftyp("mif1", "heic") == .heic)
        #expect(ftyp("heic", "mif1") == .heic)
        #expect(ftyp("isom", "iso2", "avc1", "mp41") == .container)
        #expect(ftyp("qt  ") == .container)
    }

    @Test func neverTakesTextForMedia() {
        for text in [
            "#EXTM3U\n#EXTINF:10,\nhttp://h/x.ts\n", "<!DOCTYPE html>", "{\"a\":1}", "ffconcat version 1.0\n",
            " ",
        ] {
            #expect(sniff(text) == .text, "\(text)")
        }
        #expect(Format.sniff([0xEF, 0xBB, 0xBF] + Array("<html>".utf8)) == .text)
        #expect(sniff("YUV4MPEG2 W2 H2 F25:1\n") == .container)
    }

    @Test func answersForEveryBeginningOfEveryKind() {
        #expect(Format.sniff([]) == .empty)
        let heads: [[UInt8]] = [
            [0, 0, 0, 0] + Array("ftyp".utf8), [0xFF, 0xFF, 0xFF, 0xFF] + Array("ftypavif".utf8),
            [0, 0, 0, 32] + Array("ftypmif1".utf8) + [0, 0, 0, 0] + Array("avifmiaf".utf8),
            [0xEF, 0xBB, 0xBF],
            Array("RIFF".utf8), Array("RIFF\0\0\0\0WEB".utf8), [0xFF, 0xD8], [0x1A, 0x45, 0xDF, 0xA3],
        ]
        // Cut at any byte it must give an answer, whichever that is.
        for head in heads { for count in 0...head.count { _ = Format.sniff(Array(head.prefix(count))) } }
    }

    @Test(.enabled(if: Corpus.isPresent, Comment(rawValue: Corpus.absence)))
    func agreesWithTheCorpus() throws {
        let names: [String: Format] = ["gif": .gif, "apng": .png, "webp": .webp]
        for row in Corpus.rows("gif", "apng", "webp") where row.refusals.isEmpty {
            let head = try TemporaryFolder.bytes(of: row.file).prefix(512)
            #expect(Format.sniff(Array(head)) == names[row.kind], "\(row.path)")
        }
        for row in Corpus.rows("video") where row.refusals.isEmpty {
            let format = Format.sniff(Array(try TemporaryFolder.bytes(of: row.file).prefix(512)))
            #expect(format != .text && format != .empty, "\(row.path)")
        }
    }
}
