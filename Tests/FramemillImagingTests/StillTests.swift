import FramemillEngine
import FramemillMedia
import Synchronization
import Testing

@testable import FramemillImaging

struct StillTests {
    private func noise(_ width: Int, _ height: Int) -> Bitmap {
        var bitmap = Bitmap(width: width, height: height)
        for offset in 0..<bitmap.pixels.count {
            bitmap.pixels[offset] =
                offset % 4 == 3 ? 255 : UInt8(truncatingIfNeeded: offset &* 2_654_435_761 >> 11)
        }
        bitmap.hasAlpha = false
        return bitmap
    }

    private func file(_ format: Recipe.OutputFormat, _ width: Int = 200, _ height: Int = 120) throws
        -> [UInt8]
    {
        var recipe = Recipe()
        recipe.format = format
        return try Encoder.encode(noise(width, height), recipe: recipe)
    }

    @Test func keepsTheRowsOfAPNGAndAJPEGThatEndEarly() throws {
        for format in [Recipe.OutputFormat.png, .jpeg] {
            let bytes = try file(format)
            let whole = try StillCorpus.decode(bytes).get()
            let half = try StillCorpus.decode(Array(bytes.prefix(bytes.count / 2))).get()
            #expect(!whole.facts.degraded && half.facts.degraded)
            let rows = 200 * 4 * 40
            #expect(whole.bitmap.pixels[..<rows] == half.bitmap.pixels[..<rows])
        }
    }

    @Test func takesAPNGWithoutItsLastChunkAsWhole() throws {
        let picture = try StillCorpus.decode(file(.png).dropLast(12)).get()
        #expect(!picture.facts.degraded)
    }

    @Test func keepsTheRowsOfAGIFThatEndsEarly() throws {
        let whole = GIFFile.twoFrames
        let cut = try StillCorpus.decode(Array(whole.prefix(GIFFile.firstData + 4))).get()
        #expect(cut.facts.degraded)
        #expect(StillCorpus.pixel(cut.bitmap, 1, 0) == "#00ff00ff")
        #expect(StillCorpus.pixel(cut.bitmap, 1, 3) == "#00000000")
        #expect(try !StillCorpus.decode(whole).get().facts.degraded)
    }

    @Test func asksTheLimitBeforeItAllocates() throws {
        var limits = Limits()
        limits.pixelsPerFrame = 23_999
        for bytes in [try file(.jpeg), try file(.png), try file(.webp)] {
            guard case .failure(let failure) = StillCorpus.decode(bytes, limits: limits) else {
                Issue.record("a picture over the limit was decoded")
                continue
            }
            #expect(failure.reason == .tooLarge)
            #expect(failure.message == "200 x 120 = 24000 px exceeds 23999 px (Limits.pixelsPerFrame)")
        }
        #expect(throws: Failure.self) { try Still.admit(width: .max, height: 2, limits: Limits()) }
        var bytes = Limits()
        bytes.sourceBytes = 1000
        #expect(StillCorpus.decode(try file(.png), limits: bytes).reason == .tooLarge)
    }

    @Test func endsWhenItIsCancelled() throws {
        let stop = Stop(after: .seconds(600))
        stop.raise()
        for format in Recipe.OutputFormat.allCases {
            #expect(StillCorpus.decode(try file(format), stop: stop).reason == .cancelled)
        }
    }

    @Test func decodesJPEGAndWebPNoSmallerThanTheBox() throws {
        let (jpeg, webp) = (try file(.jpeg, 1600, 1000), try file(.webp, 1600, 1000))
        for (box, jpegWidth, webpWidth) in [
            ((200, 125), 200, 400), ((201, 100), 400, 402), ((1600, 1), 1600, 1600),
        ] {
            let small = try StillCorpus.decode(jpeg, box: (width: box.0, height: box.1)).get()
            #expect(small.bitmap.width == jpegWidth && small.facts.storedWidth == 1600)
            #expect(
                try StillCorpus.decode(webp, box: (width: box.0, height: box.1)).get().bitmap.width
                    == webpWidth)
        }
    }

    @Test func readsAGIFNoFurtherThanItsFirstPicture() throws {
        var bytes = GIFFile.twoFrames
        bytes.removeLast()
        // Comments as long as you like: nobody needs them for a cover.
        for _ in 0..<4000 { bytes += [0x21, 0xFE, 0xFF] + [UInt8](repeating: 0x41, count: 255) + [0] }
        let reader = FarReader(bytes + [0x3B])
        let stop = Stop(after: .seconds(600))
        let picture = try Still.decode(.gif, reader, limits: Limits(), stop: stop, targetBox: nil)
        #expect(picture.facts.animated && picture.facts.frameCount == nil)
        #expect(reader.cost.bytes <= 64 << 10)
        #expect(try StillCorpus.decode(bytes + [0x3B]).get().facts.frameCount == 2)
    }

    @Test func refusesHEICWithAHint() {
        let heic = [0, 0, 0, 24] + Array("ftypheic\0\0\0\0mif1heic".utf8)
        guard case .failure(let failure) = StillCorpus.decode(heic) else {
            Issue.record("a HEIC was decoded")
            return
        }
        #expect(failure.reason == .unsupportedFormat && failure.message.contains("JPEG"))
    }

    @Test func findsTheOrientationInEitherByteOrderAndNowhereElse() {
        let little: [UInt8] = [
            0x49, 0x49, 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0,
        ]
        let big: [UInt8] = [
            0x4D, 0x4D, 0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 8, 0, 0, 0, 0, 0, 0,
        ]
        #expect(Exif.orientation(tiff: little[...]) == 6)
        #expect(Exif.orientation(tiff: big[...]) == 8)
        #expect(Exif.orientation(block: (Array("Exif\0\0".utf8) + big)[...]) == 8)
        for cut in 0..<18 { #expect(Exif.orientation(tiff: little.prefix(cut)) == 1) }
        var wild = little
        wild[4...7] = [0xFF, 0xFF, 0xFF, 0xFF]
        #expect(Exif.orientation(tiff: wild[...]) == 1)
        wild = little
        wild[18] = 9
        #expect(Exif.orientation(tiff: wild[...]) == 1)
    }
}

extension Result where Success == StillPicture, Failure == FramemillMedia.Failure {
    fileprivate var reason: FramemillMedia.Failure.Reason? {
        guard case .failure(let failure) = self else { return nil }
        return failure.reason
    }
}

/// 4 x 4 pixels, twice: codes of one literal each, in blocks of 4 bytes, so that the first holds one row and no more.
private enum GIFFile {
    /// Where the first picture's codes begin.
    static let firstData = 13 + 12 + 19 + 10 + 1 + 1
    static let twoFrames: [UInt8] = {
        let head: [UInt8] =
            Array("GIF89a".utf8) + [4, 0, 4, 0, 0x81, 0, 0] + [255, 0, 0, 0, 255, 0, 0, 0, 255, 9, 9, 9]
            + [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, 0, 0, 0]
        // Code size 2: a clear code before every second literal keeps every code three bits wide.
        var codes: [Int] = []
        for pixel in 0..<16 { codes += pixel % 2 == 0 ? [4, pixel % 3] : [pixel % 3] }
        codes.append(5)
        var (bits, count) = (0, 0)
        var data: [UInt8] = []
        for code in codes {
            bits |= code << count
            count += 3
            while count >= 8 {
                data.append(UInt8(bits & 255))
                (bits, count) = (bits >> 8, count - 8)
            }
        }
        data.append(UInt8(bits & 255))
        var blocks: [UInt8] = []
        for start in stride(from: 0, to: data.count, by: 4) {
            let block = data[start..<min(start + 4, data.count)]
            blocks += [UInt8(block.count)] + block
        }
        let frame: [UInt8] = [0x2C, 0, 0, 0, 0, 4, 0, 4, 0, 0, 2] + blocks + [0]
        return head + frame + frame + [0x3B]
    }()
}

/// A source far away, which counts what was asked of it and gives at most 16 KiB at a time.
private final class FarReader: ByteReader {
    private let inner: MemoryReader
    private let asked = Mutex<Int64>(0)
    init(_ bytes: [UInt8]) { inner = MemoryReader(bytes) }
    var byteCount: Int64? { inner.byteCount }
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
        // A shorter front of the caller's own buffer.
        let some = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(16 << 10))
        let count = try unsafe inner.read(at: offset, into: some)
        asked.withLock { $0 += Int64(count) }
        return count
    }
    func expect(_ range: Range<Int64>) {}
    var cost: (bytes: Int64, requests: Int) { (asked.withLock { $0 }, 1) }
    var isLocal: Bool { false }
}
