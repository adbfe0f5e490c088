internal import CAllocator
internal import Foundation
internal import Framemill
internal import FramemillEngine
internal import FramemillImaging
internal import FramemillMedia
internal import Synchronization

/// What a hit in memory costs: the look-up by key, and the whole call from the URL, from one task and from two.
///
/// A call is shorter than reading the clock twice, so a sample is a hundred calls. Each is for one of the entries by
/// chance. `--only` makes the calls and measures nothing, for a tool that counts allocations: Tests/cache-memory.sh.
struct MemoryBench {
    private enum Way: String, CaseIterable {
        case lookUp = "look-up"
        case cached
        case cover
    }

    private var entries = 1000
    private var byteCount = 20_000
    private var rounds = 500_000
    private var only: Way?
    private static let batch = 100

    init(_ words: [String]) throws(Failure) {
        var words = words[...]
        while let word = words.popFirst() {
            switch word {
            case "--entries": entries = try Main.number(words.popFirst())
            case "--bytes": byteCount = try Main.number(words.popFirst())
            case "--rounds": rounds = try Main.number(words.popFirst())
            case "--only":
                only = words.popFirst().flatMap { Way(rawValue: $0) }
                if only == nil { throw Failure(.badOption, .input, Main.usage) }
            default: throw Failure(.badOption, .input, Main.usage)
            }
        }
    }

    func run() async throws(Failure) {
        let folder = FileManager.default.temporaryDirectory.path + "/framemill-bench-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let requests = (0..<entries).map { Request(Stuff.url($0)) }
        let mill = try await filled(folder, requests)
        let memory = MemoryCache(bytes: 1 << 30)
        let before = Self.heapBytes
        for number in 0..<entries { memory.store(Stuff.found(number, byteCount), for: Stuff.key(number)) }
        let taken = Self.heapBytes - before
        let calls = Calls(
            memory: memory, mill: mill, requests: requests, keys: (0..<entries).map { Stuff.key($0) },
            order: (0..<max(Self.batch, rounds)).map { _ in Int.random(in: 0..<entries) })
        if let only {
            let count = await calls.make(only.rawValue, rounds, from: 0)
            print("\(only.rawValue) \(count) hits")
        } else {
            print("\(entries) entries of \(byteCount) bytes; nanoseconds a call: least, median, 99 of 100")
            print("  counted \(memory.cost) bytes, the heap has \(taken)")
            for way in Way.allCases { await measure(way, calls) }
        }
        await mill.close()
    }

    /// One whose memory holds every entry.
    private func filled(_ folder: String, _ requests: [Request]) async throws(Failure) -> Framemill {
        let disk = DiskCache(folder: folder, bytes: 64 << 30, meters: Meters())
        for number in 0..<entries { disk.store(Stuff.found(number, byteCount), for: Stuff.key(number)) }
        var configuration = Configuration()
        (configuration.cacheDirectory, configuration.memoryCacheBytes) = (folder, 1 << 30)
        let mill = try Framemill(configuration, renderer: Imaging())
        for request in requests {
            var request = request
            request.reuse = .offline
            _ = try await mill.cover(for: request)
        }
        return mill
    }

    private static var heapBytes: Int {
        let info = mallinfo2()
        return Int(info.uordblks + info.hblkhd)
    }

    private func measure(_ way: Way, _ calls: Calls) async {
        let alone = await samples(way, calls, offset: 0, isWarm: false)
        let together = await withTaskGroup(of: Samples.self) { group in
            for task in 0..<2 {
                group.addTask { await samples(way, calls, offset: task * rounds / 2, isWarm: true) }
            }
            return await group.reduce(into: [Samples]()) { $0.append($1) }
        }
        print("  \(way.rawValue)\(String(repeating: " ", count: 10 - way.rawValue.count))\(alone.text)")
        for samples in together { print("    one of two \(samples.text)") }
    }

    private func samples(_ way: Way, _ calls: Calls, offset: Int, isWarm: Bool) async -> Samples {
        var samples = Samples(unit: 1e6 / Double(Self.batch))
        let before = isWarm ? 0 : min(rounds, entries * 4) / Self.batch
        for round in -before..<rounds / Self.batch {
            let from = (max(0, round) * Self.batch + offset) % rounds
            let start = ContinuousClock.now
            let count = await calls.make(way.rawValue, Self.batch, from: from)
            let end = ContinuousClock.now
            if count < Self.batch { return Samples() }
            if round >= 0 { samples.add(start.duration(to: end)) }
        }
        return samples
    }
}

/// The three ways to a hit.
private struct Calls: Sendable {
    let memory: MemoryCache
    let mill: Framemill
    let requests: [Request]
    let keys: [CacheKey]
    let order: [Int]

    /// How many of `count` calls were hits.
    func make(_ way: String, _ count: Int, from start: Int) async -> Int {
        switch way {
        case "look-up": lookUps(count, start)
        case "cached": cached(count, start)
        default: await covers(count, start)
        }
    }

    private func number(_ place: Int) -> Int { order[place < order.count ? place : place - order.count] }

    private func lookUps(_ count: Int, _ start: Int) -> Int {
        var hits = 0
        for place in start..<start + count where memory.entry(for: keys[number(place)]) != nil { hits += 1 }
        return hits
    }

    private func cached(_ count: Int, _ start: Int) -> Int {
        var hits = 0
        for place in start..<start + count where mill.cached(requests[number(place)]) != nil { hits += 1 }
        return hits
    }

    private func covers(_ count: Int, _ start: Int) async -> Int {
        var hits = 0
        for place in start..<start + count {
            // Nothing that fails is among them; it would be missing in the count.
            guard let cover = try? await mill.cover(for: requests[number(place)]) else { continue }
            if cover.origin == .memory { hits += 1 }
        }
        return hits
    }
}
