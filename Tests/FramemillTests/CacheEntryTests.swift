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

    /// The values are those of Python's `xxhash`, over every way that the loops can end.
    @Test func agreesWithTheReferenceChecksum() {
        #expect(Checksum.of([]) == 0xEF46_DB37_51D8_E999)
        #expect(Checksum.of(Array("Nobody inspects the spammish repetition".utf8)) == 0xFBCE_A83C_8A37_8BF1)
        let bytes = (0..<101).map { UInt8(truncatingIfNeeded: $0 * $0 * 7 + $0 * 13) }
        let wanted: [(count: Int, plain: UInt64, seeded: UInt64)] = [
            (1, 0xE934_A84A_DB05_2768, 0x5014_6076_43A9_B4C3),
            (3, 0xD750_6C28_8CD4_9551, 0xC64B_B458_E6C5_16DA),
            (4, 0xA9AF_5665_3E86_C01C, 0x55A1_8F8B_6DE3_8B25),
            (7, 0xEEC5_4F47_3C92_6887, 0x8B74_08D7_DDA2_302E),
            (8, 0xFAD7_A44E_6E70_F81F, 0x95F2_9B87_539A_F83B),
            (12, 0x7ABA_17B2_E225_2CEA, 0x2908_1527_4779_9573),
            (31, 0x21A7_FCC7_B27E_CCF9, 0xE930_6547_2D4D_A705),
            (32, 0x65F5_B228_1A8D_1FED, 0x9CBF_F15D_EF92_851B),
            (33, 0x6871_51EA_8EE4_CC79, 0xAC61_2501_3D49_44C1),
            (63, 0x3213_8ADC_C061_538A, 0xC627_1C14_EF3A_1E9E),
            (64, 0x5C8E_D663_3157_8C86, 0xDF67_47DC_6162_47A7),
            (100, 0x6D89_1D35_0BEA_9E38, 0x7EB9_8908_18F1_BF55),
            (101, 0xA513_2B6F_0915_358F, 0xAF49_2988_6E44_EE8C),
        ]
        for (count, plain, seeded) in wanted {
            #expect(Checksum.of(Array(bytes.prefix(count))) == plain, "\(count) bytes")
            #expect(Checksum.of(Array(bytes.prefix(count)), seed: 2_654_435_761) == seeded, "\(count) bytes")
        }
    }
}
