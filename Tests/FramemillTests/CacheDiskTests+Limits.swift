import Foundation
import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// What is kept within bounds, and what goes.
extension CacheDiskTests {
    /// B30, and churn: entries of every size come, are used, and go.
    @Test(arguments: [200_000, 12_000, 0])
    func neverHoldsMoreThanItsLimitAndOneEntry(byteCount: Int) throws {
        let limit = 2 << 20
        let cache = cache(Int64(limit))
        var random = SystemRandomNumberGenerator()
        for number in 0..<150 {
            let size = byteCount > 0 ? byteCount : Int.random(in: 0..<150_000, using: &random)
            cache.store(picture(number, byteCount: size), for: key(number))
            #expect(try bytesOnDisk() <= limit + size + 1000, "entry \(number)")
            #expect(cache.artifact(for: key(number)) != nil, "entry \(number)")
            if number % 7 == 0, cache.wantsTrim { cache.trim(stop: stop) }
            clock.advance(60)
        }
        #expect(meters.count("cache_evicted") > 20)
        #expect(meters.count("cache_write_skipped") == 0)
        #expect(meters.count("cache_write_failed") == 0)
        // Most of the limit is of use.
        #expect(cache.held > limit / 2)
        // Folders go with their entries: 256 * 256 of them would outweigh what they hold.
        let folders = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(folders.count <= files.count + 4)
    }

    /// B52: the number of entries is bounded as well.
    @Test func holdsNoMoreEntriesThanItMay() {
        let cache = cache(entries: 100)
        for number in 0..<300 {
            cache.store(picture(number), for: key(number))
            #expect(cache.status()?.entries ?? 0 <= 100)
            clock.advance(1)
        }
        cache.trim(stop: stop)
        #expect((80...90).contains(cache.status()?.entries ?? 0))
        #expect(cache.artifact(for: key(299)) != nil)
        #expect(cache.artifact(for: key(100)) == nil)
    }

    @Test func keepsNothingLargerThanItself() {
        let cache = cache(1 << 20)
        cache.store(picture(1, byteCount: 2 << 20), for: key(50))
        #expect(cache.artifact(for: key(50)) == nil)
        #expect(meters.all == ["cache_write_skipped": 1])
    }

    @Test func evictsWhatWasNotUsedForLongest() throws {
        let cache = cache(1 << 20, touchSeconds: 0)
        for number in 0..<4 {
            cache.store(picture(number, byteCount: 180_000), for: key(number))
            clock.advance(10)
        }
        // The oldest is asked for, and so it is not the oldest any more.
        #expect(cache.artifact(for: key(0)) != nil)
        cache.saveUse()
        clock.advance(10)
        for number in 4..<6 { cache.store(picture(number, byteCount: 180_000), for: key(number)) }
        #expect((0..<6).map { cache.artifact(for: key($0)) != nil }.prefix(2) == [true, false])
    }

    @Test func countsWhatWasThereBefore() {
        let before = cache()
        for number in 0..<10 { before.store(picture(number, byteCount: number * 5000), for: key(number)) }
        #expect(cache().status()?.entries == 10)
        #expect(cache().held == before.held)
        #expect(before.held > 10 * 4 * 5000)
    }

    /// B53: a folder that holds what nobody of us made, and no index.
    @Test func goesOnPastWhatIsNotItsOwn() throws {
        let before = cache()
        for number in 0..<5 { before.store(picture(number, byteCount: 30_000), for: key(number)) }
        try FileManager.default.removeItem(atPath: folder.file("index.sqlite"))
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("aa"), withDestinationPath: folder.path)
        try folder.write([1, 2, 3], to: "README")
        try folder.write([1, 2, 3], to: "zz/zz/notes.txt")
        try folder.write([1, 2, 3], to: "ab/cd/notes.txt")
        let loop = place(key(900))
        try folder.write([], to: loop)
        try FileManager.default.removeItem(atPath: folder.file(loop))
        try FileManager.default.createSymbolicLink(
            atPath: folder.file(loop), withDestinationPath: folder.file(loop))
        let cache = cache()
        cache.trim(stop: stop)
        #expect(cache.status()?.entries == 5)
        for number in 0..<5 { #expect(cache.artifact(for: key(number)) != nil) }
        for name in ["README", "zz/zz/notes.txt", "ab/cd/notes.txt"] { #expect(folder.files.contains(name)) }
        #expect(cache.artifact(for: key(900)) == nil)
        #expect(meters.count("cache_bad_entry") == 0)
    }

    @Test func stopsTrimmingWhenTold() {
        let cache = cache(1 << 20)
        for number in 0..<4 { cache.store(picture(number, byteCount: 180_000), for: key(number)) }
        let count = files.count
        let raised = Stop(after: .seconds(600))
        raised.raise()
        cache.trim(stop: raised)
        #expect(files.count == count)
    }

    @Test func purgesWhatMatches() throws {
        let cache = cache()
        for number in 0..<20 {
            var record = CacheRecord(
                key: key(number), url: "http://h\(number % 2)/\(number)", host: "h\(number % 2)",
                engineClass: number < 5 ? "gif" : "video", engineVersion: "\(number % 3)",
                storedAt: Int64(number))
            var outcome: Result<Artifact, Failure> = .success(picture(number, byteCount: number * 2000))
            if number == 19 {
                let failure = Failure(.http(404), .fetch, "gone")
                record.refusal = .init(failure)
                outcome = .failure(failure)
            }
            cache.store(CacheFound(outcome, record), for: key(number))
        }
        func count(_ set: (inout CacheFilter) -> Void) throws -> Int {
            var (filter, count) = (CacheFilter(), 0)
            set(&filter)
            try cache.list(filter, stop: stop) { _ in count += 1 }
            return count
        }
        #expect(try count { _ in } == 20)
        #expect(try count { $0.host = "h1" } == 10)
        #expect(try count { $0.url = "http://h0/4" } == 1)
        #expect(try count { $0.prefix = "http://h1/1" } == 6)
        #expect(try count { $0.storedUntil = 3 } == 4)
        #expect(try count { $0.engineClass = "gif" } == 5)
        #expect(try count { ($0.engineClass, $0.engineVersion) = ("gif", "1") } == 2)
        #expect(try count { $0.kind = .failure } == 1)
        var filter = CacheFilter()
        filter.host = "h0"
        #expect(cache.purge(filter, stop: stop) == 10)
        #expect((0..<20).filter { cache.entry(for: key($0)) != nil } == Array(stride(from: 1, to: 20, by: 2)))
        #expect(files.count == (0..<20).filter { $0 % 2 == 1 && $0 > 11 && $0 < 19 }.count)
        #expect(cache.purge(CacheFilter(), stop: stop) == 10)
        #expect(files == [])
        #expect(cache.status()?.entries == 0)
    }
}
