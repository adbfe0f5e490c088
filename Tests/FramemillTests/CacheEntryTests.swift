import FramemillMedia
import Testing

@testable import Framemill

@Suite struct CacheEntryTests {
    /// A record with something in each field.
    private func record(_ refusal: CacheRecord.Refusal? = nil) -> CacheRecord {
        var record = CacheRecord(
            key: key(1), url: "http://h/1", host: "h", engineClass: "gif", engineVersion: "7", storedAt: 11)
        (record.freshUntil, record.staleWhileRevalidateUntil, record.staleIfErrorUntil) = (12, 13, 14)
        (record.etag, record.lastModified) = ("\"é\"", "Thu, 01 Jan 1970 00:00:00 GMT")
        record.refusal = refusal
        return record
    }

    private func decode(_ bytes: [UInt8]) -> CacheFound? {
        unsafe bytes.withUnsafeBytes { unsafe CacheEntry.decode($0, for: key(1)) }
    }

    private var everyFact: Facts {
        var facts = Facts()
        (facts.source, facts.container, facts.codec, facts.pixelFormat) = (.video, "mov", "h264", "yuv420p")
        (facts.storedWidth, facts.storedHeight, facts.displayWidth, facts.displayHeight) = (1, 2, 3, 4)
        (facts.width, facts.height, facts.format, facts.byteCount, facts.pixelAspect) = (
            5, 6, "jpeg", 7, "4:3"
        )
        (facts.orientation, facts.rotation, facts.mirrored) = (6, 90, true)
        (facts.duration, facts.durationText, facts.frameRate, facts.frameCount) = (1.5, "0:01", 29.97, 44)
        (facts.timeUsed, facts.hdr, facts.alpha, facts.animated, facts.audio) = (
            -0.25, "pq", true, true, true
        )
        (facts.colorMatrix, facts.colorRange, facts.dark, facts.degraded) = ("bt709", "tv", true, true)
        (facts.approximate, facts.thumbHash, facts.dominantColor) = (
            true, "3OcRJYB4d3h/iIeHeEh3eIhw+j3A", "#a0b0c0"
        )
        facts.pictureUsed = .defaultImage
        facts.animation = .init(frameCount: 3, plays: 2, duration: 0.3)
        facts.animation?.passedThrough = true
        (facts.bytesRead, facts.requests, facts.framesDecoded) = (1 << 40, 3, 9)
        facts.peakBytes = 1 << 41
        facts.milliseconds = ["fetch": 1.25, "total": 1e9, "": 0]
        return facts
    }

    @Test func keepsEveryFactThereIs() throws {
        let facts = everyFact
        // A field that is as in a blank one would pass here without being kept.
        for (child, blank) in zip(Mirror(reflecting: facts).children, Mirror(reflecting: Facts()).children) {
            #expect("\(child.value)" != "\(blank.value)", "\(child.label ?? "")")
        }
        let artifact = Artifact(bytes: [1, 2, 3], facts: facts, origin: .made)
        let entry = CacheFound(.success(artifact), record())
        let found = try #require(decode(CacheEntry.head(entry, for: key(1)) + artifact.bytes))
        #expect(try found.outcome.get().facts == facts)
        #expect(try found.outcome.get().bytes == [1, 2, 3])
        var wanted = record()
        wanted.byteCount = 3
        #expect(found.record == wanted)
    }

    @Test func keepsAFailureWithItsWords() throws {
        let failure = Failure(.http(404), .fetch, "gone from example.org", cause: "404")
        let entry = CacheFound(.failure(failure), record(.init(failure, attempts: 3)))
        let found = try #require(decode(CacheEntry.head(entry, for: key(1))))
        #expect(throws: failure) { try found.outcome.get() }
        #expect(found.record == entry.record)
        #expect(found.record.kind == .failure)
    }

    @Test func keepsNoUserAndNoPassword() {
        let urls = [
            ("http://u:p@h/1", "http://h/1"), ("https://u@h?x=a@b", "https://h?x=a@b"),
            ("http://h/a@b", "http://h/a@b"), ("/a://b@c", "/a://c"), ("a@b", "a@b"),
        ]
        for (url, kept) in urls { #expect(CacheRecord(key: key(1), url: url).url == kept) }
    }

    /// The values are those of Python's `xxhash`, for each of the ways that the lengths of XXH3 go.
    @Test func agreesWithTheReferenceChecksum() {
        #expect(Checksum.of([]) == 0x2D06_8005_38D3_94C2)
        #expect(
            Checksum.of(Array("Nobody inspects the spammish repetition".utf8)) == 0x6CB0_0603_B5CC_47E9)
        let bytes = (0..<1000).map { UInt8(truncatingIfNeeded: $0 * $0 * 7 + $0 * 13) }
        let wanted: [(count: Int, plain: UInt64, seeded: UInt64)] = [
            (1, 0xC44B_DFF4_074E_ECDB, 0xB53D_5557_E7F7_6F8D),
            (3, 0x6647_6348_5053_9FA2, 0x6E0B_D69E_A002_7E1A),
            (4, 0x26DF_B56D_E65C_55CD, 0x27AC_1DA9_590C_2D19),
            (8, 0x83A1_92AD_A40B_0CE9, 0x10E3_6849_A6D8_97BF),
            (9, 0x2DAC_7C78_2402_C359, 0x46EF_0E45_2001_5CBE),
            (16, 0x1E83_ACE8_EFBD_71B2, 0xFBD2_E4EC_C1A2_8CB6),
            (17, 0x13DE_6825_4468_95BB, 0x8C88_BC5A_FBF9_3B5B),
            (128, 0x370F_45FB_C044_3EE5, 0x3A6C_2057_183B_B342),
            (129, 0x81C5_EE1D_1813_E394, 0x5D2D_C503_9B37_6D00),
            (240, 0xA638_B2EA_0D22_9925, 0x0919_A05D_76A4_5AD5),
            (241, 0x5B09_1583_4777_72F7, 0xD817_7532_DFF3_EFF5),
            (512, 0xB565_76AB_9723_D8E7, 0x9826_F882_C6D6_5A16),
            (1000, 0x134C_5E13_9D4C_289F, 0x86A1_D5DF_A239_6F91),
        ]
        for (count, plain, seeded) in wanted {
            #expect(Checksum.of(Array(bytes.prefix(count))) == plain, "\(count) bytes")
            #expect(Checksum.of(Array(bytes.prefix(count)), seed: 2_654_435_761) == seeded, "\(count) bytes")
        }
    }
}
