internal import Foundation
internal import Framemill
internal import FramemillEngine
internal import FramemillMedia
internal import Synchronization

/// A day of a cache on disk in a few minutes: covers come, are read and go, by a clock that is moved a minute at a time,
/// and each ten minutes another process writes to the same folder until it is killed. After each store all that lies in
/// the folder is counted.
struct CacheChurn {
    private static let limit = 32 << 20
    /// The largest that is stored, with its head, in whole blocks.
    private static let entry = 64 << 10
    private let hours: Int
    private let folder = FileManager.default.temporaryDirectory.path + "/framemill-churn-\(UUID().uuidString)"
    private let clock = Clock()

    private final class Clock: Sendable {
        let now = Atomic<Int64>(Int64(Date().timeIntervalSince1970))
    }

    init(_ words: [String]) throws(Failure) {
        guard words.count <= 1 else { throw Failure(.badOption, .input, Main.usage) }
        hours = words.isEmpty ? 24 : try Main.number(words[0])
    }

    func run() throws(Failure) {
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let meters = Meters()
        let cache = DiskCache(
            folder: folder, bytes: Int64(Self.limit), meters: meters,
            clock: { [clock] in
                clock.now.load(ordering: .relaxed)
            })
        var (largest, stores, hits, kills) = (0, 0, 0, 0)
        for minute in 0..<hours * 60 {
            clock.now.add(60, ordering: .relaxed)
            for _ in 0..<10 {
                // Some are asked for far more often than others.
                let number = min(Int.random(in: 0..<20_000), Int.random(in: 0..<20_000))
                if try CacheStorm.check(cache, number) {
                    hits += 1
                    continue
                }
                cache.store(Stuff.artifact(number), for: Stuff.key(number))
                stores += 1
                largest = max(largest, held)
            }
            if minute % 10 == 9 {
                try writeAndDie()
                kills += 1
                largest = max(largest, held)
            }
            if cache.wantsTrim { cache.trim(stop: Stop()) }
        }
        cache.trim(stop: Stop())
        print(
            "hours=\(hours) stores=\(stores) hits=\(hits) kills=\(kills) limit=\(Self.limit) largest=\(largest) "
                + "last=\(held) evicted=\(meters.count("cache_evicted")) swept=\(meters.count("cache_swept"))"
        )
        guard largest <= Self.limit + Self.entry, meters.count("cache_evicted") > 0 else {
            throw Failure(.internalError, .cache, "the folder held \(largest) bytes of \(Self.limit)")
        }
    }

    /// Bytes of all files and folders, whosever they are.
    private var held: Int {
        guard let all = FileManager.default.enumerator(atPath: folder) else { return 0 }
        var sum = 0
        while all.nextObject() != nil { sum += (all.fileAttributes?[.size] as? NSNumber)?.intValue ?? 0 }
        return sum
    }

    private func writeAndDie() throws(Failure) {
        let writer = Process()
        writer.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        writer.arguments = ["cache-fill", folder]
        do {
            try writer.run()
        } catch {
            throw Failure(.internalError, .cache, "no second process", cause: "\(error)")
        }
        Thread.sleep(forTimeInterval: .random(in: 0.02...0.1))
        kill(writer.processIdentifier, SIGKILL)
        writer.waitUntilExit()
    }
}
