internal import Foundation
internal import Framemill
internal import FramemillEngine
internal import FramemillMedia
internal import Glibc

/// What a hit and a miss on disk cost, by every way to them, beside what the bytes alone cost: a file of as many opened,
/// read and closed.
///
/// The ways take turns of a few thousand calls, so that none has what another left in the processor's caches, and what
/// the machine does beside falls on all. Each call is for one of the entries by chance.
struct CacheBench {
    private enum Way: String, CaseIterable {
        case file = "file alone"
        case publicCall = "hit, public call"
        case atOnce = "hit, caller's thread"
        case mayWait = "hit, may wait"
        case lane = "hit, through a lane"
        case miss = "miss, public call"
    }

    private var entries = 2000
    private var byteCount = 20_000
    private var rounds = 20_000
    private var rowByteCount = DiskCache.rowByteCount
    private var ways = Way.allCases
    private static let turn = 4000

    init(_ words: [String]) throws(Failure) {
        var words = words[...]
        while let word = words.popFirst() {
            switch word {
            case "--entries": entries = try Main.number(words.popFirst())
            case "--bytes": byteCount = try Main.number(words.popFirst())
            case "--rounds": rounds = try Main.number(words.popFirst())
            case "--only":
                guard let way = words.popFirst().flatMap({ Way(rawValue: $0) }) else {
                    throw Failure(.badOption, .input, Main.usage)
                }
                ways = [way]
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
        let keys = (0..<entries).map { Stuff.key($0) }
        var stores = Samples()
        for number in 0..<entries {
            let artifact = Stuff.artifact(number, byteCount: byteCount)
            stores.time { disk.store(artifact, for: keys[number]) }
        }
        let shelf = Shelf(
            cache: cache, disk: disk, lane: Lane("bench", width: 1) { () },
            paths: (0..<entries).map { "\(folder)/plain-\($0)" })
        for (number, path) in shelf.paths.enumerated() {
            // One that is not there fails the first read.
            _ = FileManager.default.createFile(
                atPath: path, contents: Data(Stuff.artifact(number, byteCount: byteCount).bytes))
        }
        // The connection that is read at once is opened by the first call that may wait.
        while case .askTheLane = disk.entryAtOnce(for: keys[0]) { _ = disk.entry(for: keys[0]) }
        await cache.remove(Stuff.key(-1), stop: Stop())
        var samples = [Samples](repeating: Samples(), count: ways.count)
        for _ in 0..<max(1, rounds / Self.turn) {
            for (place, way) in ways.enumerated() {
                await take(way, keys, shelf, &samples[place])
            }
        }
        print("\(entries) entries of \(byteCount) bytes; microseconds: least, median, 99 of 100")
        for (name, samples) in [("store", stores)] + zip(ways.map(\.rawValue), samples) {
            print("  \(name)\(String(repeating: " ", count: 22 - name.count))\(samples.text)")
        }
        let bad = meters.all.filter { $0.key.hasPrefix("cache_") && $0.value > 0 }
        guard bad.isEmpty else { throw Failure(.internalError, .cache, "not all was found: \(bad)") }
        cache.close()
    }

    private func take(_ way: Way, _ keys: [CacheKey], _ shelf: Shelf, _ samples: inout Samples) async {
        // One that took long by chance sends the next sixteen to the lane; they are over before it counts.
        while case .askTheLane = shelf.disk.entryAtOnce(for: keys[0]) { _ = shelf.disk.entry(for: keys[0]) }
        let stop = Stop()
        for _ in 0..<Self.turn {
            let number = Int.random(in: 0..<entries)
            let key = way == .miss ? Stuff.key(entries + number) : keys[number]
            let start = ContinuousClock.now
            let isRight =
                switch way {
                case .file: shelf.read(number, byteCount)
                case .publicCall: await shelf.cache.entry(for: key, stop: stop) != nil
                case .atOnce: if case .missing = shelf.disk.entryAtOnce(for: key) { false } else { true }
                case .mayWait: shelf.disk.entry(for: key) != nil
                case .lane:
                    (try? await shelf.lane.run(stop: stop) { [disk = shelf.disk] _, _ in disk.entry(for: key)
                    })
                    .flatMap { $0 } != nil
                case .miss: await shelf.cache.entry(for: key, stop: stop) == nil
                }
            let end = ContinuousClock.now
            if isRight { samples.add(start.duration(to: end)) }
        }
    }
}

private struct Shelf {
    let cache: TwoLevelCache
    let disk: DiskCache
    let lane: Lane<Void>
    let paths: [String]

    /// A file as large as an entry's payload, with nothing around it.
    func read(_ number: Int, _ byteCount: Int) -> Bool {
        // The path lives until the call is over.
        let file = unsafe open(paths[number], O_RDONLY | O_CLOEXEC)
        defer { close(file) }
        // The kernel writes into the room, and says how much.
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: byteCount + 1) { room, filled in
            filled = max(0, unsafe Glibc.read(file, room.baseAddress, byteCount + 1))
        }
        return bytes.count == byteCount
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
