internal import Foundation
internal import Framemill
internal import FramemillEngine
internal import FramemillMedia

/// What a hit and a miss on disk cost, by every way to them.
struct CacheBench {
    private var entries = 2000
    private var byteCount = 20_000
    private var rounds = 20_000
    private var rowByteCount = DiskCache.rowByteCount

    init(_ words: [String]) throws(Failure) {
        var words = words[...]
        while let word = words.popFirst() {
            switch word {
            case "--entries": entries = try Main.number(words.popFirst())
            case "--bytes": byteCount = try Main.number(words.popFirst())
            case "--rounds": rounds = try Main.number(words.popFirst())
            case "--row-bytes": rowByteCount = try Main.number(words.popFirst())
            default: throw Failure(.badOption, .input, Main.usage)
            }
        }
    }

    func run() async throws(Failure) {
        let folder = FileManager.default.temporaryDirectory.path + "/framemill-bench-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let meters = Meters()
        let cache = TwoLevelCache(
            directory: folder, memoryBytes: 0, diskBytes: 64 << 30, meters: meters)
        let disk = DiskCache(
            folder: folder, bytes: 64 << 30, meters: meters, rowByteCount: rowByteCount)
        let lane = Lane<Void>("bench", width: 1) { () }
        let keys = (0..<entries).map { Stuff.key($0) }
        var stores = Samples()
        for number in 0..<entries {
            let artifact = Stuff.artifact(number, byteCount: byteCount)
            stores.time { disk.store(artifact, for: keys[number]) }
        }
        // The connection that is read at once is opened by the first call that may wait.
        _ = disk.entry(for: keys[0])
        _ = try? await lane.run(stop: Stop()) { _, _ in disk.entry(for: keys[0]) }
        while case .askTheLane = disk.entryAtOnce(for: keys[0]) { _ = disk.entry(for: keys[0]) }
        await cache.remove(Stuff.key(-1), stop: Stop())
        _ = await cache.entry(for: keys[0], stop: Stop())
        var (hits, atOnce, plain, hops, misses) = (Samples(), Samples(), Samples(), Samples(), Samples())
        let stop = Stop()
        var found = 0
        // A key of its own each time: its bytes are in the page cache, but in no cache of the processor.
        for _ in 0..<rounds {
            let some = (0..<4).map { _ in keys[Int.random(in: 0..<keys.count)] }
            await hits.time { if await cache.entry(for: some[0], stop: stop) != nil { found += 1 } }
            // One that took long by chance sends the next sixteen to the lane: no hit, and no miss either.
            atOnce.time { if case .missing = disk.entryAtOnce(for: some[1]) { found -= 1 } }
            plain.time { if disk.entry(for: some[2]) != nil { found += 1 } }
            await hops.time {
                if (try? await lane.run(stop: stop, { _, _ in disk.entry(for: some[3]) })) != nil {
                    found += 1
                }
            }
            let none = Stuff.key(Int.random(in: 1 << 30..<1 << 40))
            await misses.time { if await cache.entry(for: none, stop: stop) != nil { found -= 1 } }
        }
        guard found == rounds * 3 else {
            throw Failure(.internalError, .cache, "\(found) of \(rounds * 3) were found: \(meters.all)")
        }
        print("\(entries) entries of \(byteCount) bytes; microseconds: least, median, 99 of 100")
        for (name, samples) in [
            ("store", stores), ("hit, public call", hits), ("hit, caller's thread", atOnce),
            ("hit, may wait", plain), ("hit, through a lane", hops), ("miss, public call", misses),
        ] {
            print("  \(name)\(String(repeating: " ", count: 22 - name.count))\(samples.text)")
        }
        cache.close()
    }
}

/// How long one thing took, many times; in microseconds unless said otherwise.
struct Samples {
    private var all: [Double] = []
    private let unit: Double

    /// - Parameter unit: how many of what is printed make a millisecond.
    init(unit: Double = 1000) { self.unit = unit }

    mutating func add(_ duration: Duration) { all.append(Rounds.milliseconds(duration) * unit) }

    mutating func time(_ body: () -> Void) {
        let start = ContinuousClock.now
        body()
        add(start.duration(to: .now))
    }

    mutating func time(_ body: () async -> Void) async {
        let start = ContinuousClock.now
        await body()
        add(start.duration(to: .now))
    }

    var text: String {
        let sorted = all.sorted()
        guard !sorted.isEmpty else { return "none" }
        return
            "\(Rounds.text(sorted[0]))  \(Rounds.text(sorted[sorted.count / 2]))  \(Rounds.text(sorted[sorted.count * 99 / 100]))"
    }
}

/// Entries that can be told by their number, bytes and all.
enum Stuff {
    static func url(_ number: Int) -> String { "http://example.org/clip/\(number).mp4" }

    static func key(_ number: Int) -> CacheKey { CacheKey(canonicalURL: url(number), recipe: Recipe()) }

    /// As a pipeline keeps it, for ever.
    static func found(_ number: Int, _ byteCount: Int) -> CacheFound {
        let record = CacheRecord(
            key: key(number), url: url(number), host: "example.org", engineClass: "video", engineVersion: "1")
        return CacheFound(.success(artifact(number, byteCount: byteCount)), record)
    }

    static func artifact(_ number: Int, byteCount: Int) -> Artifact {
        var facts = Facts()
        (facts.source, facts.container, facts.codec, facts.pixelFormat) = (.video, "mov", "h264", "yuv420p")
        (facts.width, facts.height, facts.format, facts.byteCount) = (320, 180, "jpeg", byteCount)
        (facts.duration, facts.durationText, facts.frameRate) = (Double(number), "0:12", 25)
        (facts.thumbHash, facts.dominantColor) = ("3OcRJYB4d3h/iIeHeEh3eIhw+j3A", "#a0b0c0")
        facts.milliseconds = [
            "decode": 12.5, "encode": 0.5, "fetch": 30, "probe": 1, "total": 44, "transform": 1,
        ]
        var state = UInt64(number) &* 0x9E37_79B9_7F4A_7C15 | 1
        let bytes = (0..<byteCount).map { _ in UInt8(truncatingIfNeeded: next(&state) >> 32) }
        return Artifact(bytes: bytes, facts: facts, origin: .made)
    }

    /// Xorshift: as if by chance, and the same each time.
    static func next(_ state: inout UInt64) -> UInt64 {
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return state
    }

    /// Its own size, from nothing to 60,000 bytes.
    static func artifact(_ number: Int) -> Artifact { artifact(number, byteCount: number &* 7919 % 60_000) }
}
