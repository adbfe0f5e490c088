import FramemillMedia
import Testing

@testable import Framemill

@Suite struct CacheMemoryTests {
    private static let price = MemoryCache.cost(of: picture(0))

    @Test func givesBackWhatItWasGiven() throws {
        let cache = MemoryCache(bytes: 1 << 20)
        cache.store(picture(1), for: key(1))
        let found = try #require(cache.artifact(for: key(1)))
        #expect(found.bytes == picture(1).bytes)
        #expect(found.facts == picture(1).facts)
        #expect(found.origin == .memory)
        #expect(cache.artifact(for: key(2)) == nil)
    }

    @Test func neverCostsMoreThanItsLimit() {
        let cache = MemoryCache(bytes: Self.price * 10)
        for number in 0..<1000 {
            cache.store(picture(number, byteCount: number % 7 * 300), for: key(number % 300))
            #expect(cache.cost <= Self.price * 10)
        }
        #expect(cache.count > 0)
    }

    @Test func countsMoreThanThePayload() {
        #expect(Self.price > 1000 + 200)
        var facts = picture(0)
        facts.facts.thumbHash = String(repeating: "x", count: 100)
        #expect(MemoryCache.cost(of: facts) >= Self.price + 100)
    }

    @Test func replacesAnEntryWithoutCountingItTwice() {
        let cache = MemoryCache(bytes: 1 << 20)
        for number in 0..<50 { cache.store(picture(number), for: key(7)) }
        #expect(cache.count == 1)
        #expect(cache.cost == MemoryCache.cost(of: picture(49)))
        #expect(cache.artifact(for: key(7))?.bytes == picture(49).bytes)
    }

    @Test func keepsNothingThatIsLargerThanItself() {
        let cache = MemoryCache(bytes: 4096)
        cache.store(picture(1), for: key(1))
        cache.store(picture(2, byteCount: 8192), for: key(2))
        #expect(cache.artifact(for: key(1)) != nil)
        #expect(cache.artifact(for: key(2)) == nil)
        // What was there under the same key is not the picture any more.
        cache.store(picture(3, byteCount: 8192), for: key(1))
        #expect(cache.artifact(for: key(1)) == nil)
        #expect(cache.cost == 0)
        let none = MemoryCache(bytes: 0)
        none.store(picture(1, byteCount: 0), for: key(1))
        #expect(none.count == 0)
    }

    @Test func keepsHotEntriesUnderAScan() {
        let cache = MemoryCache(bytes: Self.price * 100)
        for number in 0..<50 { cache.store(picture(number), for: key(number)) }
        for number in 0..<50 { _ = cache.artifact(for: key(number)) }
        for number in 1000..<2000 {
            cache.store(picture(number), for: key(number))
            // Each hot one is asked for once in a hundred arrivals: LRU of this size would just lose it.
            if number % 2 == 0 { _ = cache.artifact(for: key(number / 2 % 50)) }
        }
        let kept = (0..<50).count { cache.artifact(for: key($0)) != nil }
        // How often a key is asked for is known nearly.
        #expect(kept >= 48)
    }

    @Test func keepsTheNewestAndInDoubtTheOld() {
        let cache = MemoryCache(bytes: Self.price * 3)
        for number in 0..<5 { cache.store(picture(number), for: key(number)) }
        #expect((0..<5).map { cache.artifact(for: key($0)) != nil } == [true, true, false, false, true])
    }

    @Test func makesRoomForWhatIsAskedForMoreOften() {
        let cache = MemoryCache(bytes: Self.price * 3)
        for number in 0..<3 { cache.store(picture(number), for: key(number)) }
        for _ in 0..<3 { cache.store(picture(7), for: key(7)) }
        cache.store(picture(8), for: key(8))
        #expect(cache.artifact(for: key(7)) != nil && cache.artifact(for: key(8)) != nil)
        #expect(cache.count == 3)
    }

    @Test func standsManyThreads() async {
        let cache = MemoryCache(bytes: Self.price * 20)
        await withTaskGroup(of: Void.self) { group in
            for worker in 0..<8 {
                group.addTask {
                    for step in 0..<2000 {
                        let number = (step * 7 + worker) % 60
                        if let found = cache.artifact(for: key(number)) {
                            #expect(found.facts.container == "test-\(number)")
                        } else {
                            cache.store(picture(number), for: key(number))
                        }
                    }
                }
            }
        }
        #expect(cache.cost <= Self.price * 20)
    }

    /// What is served at a glance is what the whole verdict serves as fresh.
    @Test func servesWhatTheVerdictServes() throws {
        let times = [-3600, -61, -60, -59, 0, 1, 59, 60, 99, 100, 101, 149, 150, 3600]
        let reuses: [Reuse] = [
            .whileFresh, .onceConfirmed, .offline, .within(seconds: 0), .within(seconds: 60),
        ]
        for isForEver in [false, true] {
            let cache = MemoryCache(bytes: 1 << 20)
            var record = CacheRecord(key: key(1), storedAt: 10_000)
            if !isForEver {
                record.freshUntil = 10_100
                (record.staleWhileRevalidateUntil, record.staleIfErrorUntil) = (10_150, 20_000)
            }
            let found = CacheFound(.success(picture(1)), record)
            cache.store(found, for: key(1))
            for (now, reuse) in times.flatMap({ time in reuses.map { (10_000 + time, $0) } }) {
                var request = Request("http://h/1")
                request.reuse = reuse
                let served = cache.served(for: key(1), reuse, now: now)
                switch Kept(found).verdict(for: request, now: now, limits: "") {
                case .serve(let artifact) where !artifact.isStale:
                    let served = try #require(served, "\(now) \(reuse)")
                    #expect(served.bytes == artifact.bytes && !served.isStale && served.origin == .memory)
                case .serve, .serveAndAsk, .refuse, .ask: #expect(served == nil, "\(now) \(reuse)")
                }
            }
        }
    }

    @Test func servesNoFailure() {
        let cache = MemoryCache(bytes: 1 << 20)
        let failure = Failure(.http(404), .fetch, "gone")
        var record = CacheRecord(key: key(1))
        record.refusal = .init(failure)
        cache.store(CacheFound(.failure(failure), record), for: key(1))
        for reuse in [Reuse.whileFresh, .offline, .within(seconds: 60)] {
            #expect(cache.served(for: key(1), reuse, now: 1) == nil)
        }
        #expect(cache.entry(for: key(1)) != nil)
        #expect(cache.served == 0)
    }
}
