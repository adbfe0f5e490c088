import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

@Suite struct CacheTwoLevelTests {
    private let meters = Meters()
    private func stop() -> Stop { Stop(after: .seconds(600)) }

    private func cache(_ directory: String?, memory: Int = 1 << 20) -> TwoLevelCache {
        TwoLevelCache(directory: directory, memoryBytes: memory, diskBytes: 64 << 20, meters: meters)
    }

    @Test func answersFromMemoryThenFromDisk() async throws {
        let folder = try TemporaryFolder()
        let first = cache(folder.file("made/on/demand"))
        #expect(await first.artifact(for: key(1), stop: stop()) == nil)
        await first.store(picture(1), for: key(1), stop: stop())
        #expect(await first.artifact(for: key(1), stop: stop())?.origin == .memory)
        first.close()

        let second = cache(folder.file("made/on/demand"))
        let found = await second.artifact(for: key(1), stop: stop())
        #expect(found?.origin == .disk)
        #expect(found?.bytes == picture(1).bytes)
        #expect(found?.facts == picture(1).facts)
        #expect(await second.artifact(for: key(1), stop: stop())?.origin == .memory)
        second.close()
    }

    @Test func worksWithoutADirectory() async {
        let cache = cache(nil)
        await cache.store(picture(1), for: key(1), stop: stop())
        #expect(await cache.artifact(for: key(1), stop: stop())?.origin == .memory)
        #expect(await cache.artifact(for: key(2), stop: stop()) == nil)
        cache.close()
    }

    @Test func worksWithoutMemory() async throws {
        let folder = try TemporaryFolder()
        let cache = cache(folder.path, memory: 0)
        await cache.store(picture(1), for: key(1), stop: stop())
        for _ in 0..<3 { #expect(await cache.artifact(for: key(1), stop: stop())?.origin == .disk) }
        cache.close()
    }

    /// B30: the cache is an aid, never a condition.
    @Test func deliversFromMemoryWhenTheDiskFails() async throws {
        let folder = try TemporaryFolder()
        let cache = cache(try folder.write([1], to: "file"))
        for number in 0..<100 {
            await cache.store(picture(number), for: key(number), stop: stop())
            #expect(await cache.artifact(for: key(number), stop: stop())?.bytes == picture(number).bytes)
        }
        #expect(meters.count("cache_write_failed") == 100)
        cache.close()
    }

    @Test func answersFromMemoryEvenWhenClosedOrCancelled() async throws {
        let folder = try TemporaryFolder()
        let cache = cache(folder.path)
        await cache.store(picture(1), for: key(1), stop: stop())
        let raised = stop()
        raised.raise()
        #expect(await cache.artifact(for: key(1), stop: raised)?.origin == .memory)
        #expect(await cache.artifact(for: key(2), stop: raised) == nil)
        cache.close()
        #expect(await cache.artifact(for: key(1), stop: stop())?.origin == .memory)
        #expect(await cache.artifact(for: key(2), stop: stop()) == nil)
        await cache.store(picture(2), for: key(2), stop: stop())
        #expect(await cache.artifact(for: key(2), stop: stop())?.origin == .memory)
    }

    /// B53: readers of more keys than fit, over two caches on one folder.
    @Test func showsNobodyAnErrorWhileEntriesComeAndGo() async throws {
        let folder = try TemporaryFolder()
        let caches = (0..<2).map { _ in
            TwoLevelCache(directory: folder.path, memoryBytes: 0, diskBytes: 1 << 20, meters: meters)
        }
        await withTaskGroup(of: Void.self) { group in
            for reader in 0..<16 {
                group.addTask {
                    for step in 0..<60 {
                        let number = (step * 13 + reader * 5) % 100
                        let cache = caches[(step + reader) % 2]
                        if let found = await cache.artifact(for: key(number), stop: stop()) {
                            #expect(found.bytes == picture(number, byteCount: 30_000).bytes)
                        } else {
                            await cache.store(
                                picture(number, byteCount: 30_000), for: key(number), stop: stop())
                        }
                    }
                }
            }
        }
        for cache in caches { cache.close() }
        #expect(meters.count("cache_bad_entry") == 0)
        #expect(meters.count("cache_write_failed") == 0)
        #expect(meters.count("cache_read_failed") == 0)
    }

    @Test func keepsFailuresAndRecordsInBothLevels() async throws {
        let folder = try TemporaryFolder()
        let failure = Failure(.http(503), .fetch, "busy")
        var gone = CacheRecord(key: key(1), url: "http://h/1", host: "h", storedAt: 5)
        gone.refusal = .init(failure)
        var kept = CacheRecord(key: key(2), url: "http://h/2", host: "h", storedAt: 6)
        kept.freshUntil = 7
        for memory in [1 << 20, 0] {
            let cache = cache(folder.path, memory: memory)
            await cache.store(.failure(failure), record: gone, for: key(1), stop: stop())
            await cache.store(.success(picture(2)), record: kept, for: key(2), stop: stop())
            var renewed = kept
            (renewed.freshUntil, renewed.byteCount) = (99, 1000)
            await cache.renew(renewed, stop: stop())
            let first = try #require(await cache.entry(for: key(1), stop: stop()))
            #expect(throws: failure) { try first.outcome.get() }
            #expect(first.record == gone)
            let second = try #require(await cache.entry(for: key(2), stop: stop()))
            #expect(try second.outcome.get().bytes == picture(2).bytes)
            #expect(second.record == renewed)
            await cache.remove(key(1), stop: stop())
            #expect(await cache.entry(for: key(1), stop: stop())?.record == nil)
            cache.close()
        }
    }
}
