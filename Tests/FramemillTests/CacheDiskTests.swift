import Foundation
import FramemillEngine
import FramemillMedia
import Synchronization
import TestSupport
import Testing

@testable import Framemill

/// B29, B30, B52 and B53, as far as one process shows them. Plain calls from here block a little; no lane is
/// needed.
@Suite struct CacheDiskTests {
    let folder: TemporaryFolder
    let meters = Meters()
    let stop = Stop(after: .seconds(600))

    init() throws { folder = try TemporaryFolder() }

    /// The second that the cache believes it is.
    let clock = HandClock()

    func cache(_ bytes: Int64 = 64 << 20, entries: Int = 1000, touchSeconds: Int64 = 600) -> DiskCache {
        DiskCache(
            folder: folder.path, bytes: bytes, entries: entries, meters: meters, touchSeconds: touchSeconds
        ) { [clock] in clock.second }
    }

    /// All but the index and what belongs to it.
    var files: [String] { folder.files.filter { !$0.hasPrefix("index.sqlite") && $0 != "lock" } }

    /// Bytes in the folder, files that are being written included.
    func bytesOnDisk() throws -> Int { try folder.files.reduce(0) { try $0 + folder.read($1).count } }

    func index(_ sql: String) throws -> String {
        try Tool.run("sqlite3", [folder.file("index.sqlite"), sql]).text
    }

    @Test func givesBackWhatItWasGiven() throws {
        for byteCount in [0, 1, 20_000, 30_000, 300_000] {
            cache().store(picture(1, byteCount: byteCount), for: key(1))
            let found = try #require(cache().artifact(for: key(1)))
            #expect(found.bytes == picture(1, byteCount: byteCount).bytes)
            #expect(found.facts == picture(1, byteCount: byteCount).facts)
            #expect(found.origin == .disk)
        }
        #expect(files == [place(key(1))])
        #expect(cache().artifact(for: key(2)) == nil)
        cache().store(picture(1), for: key(1))
        #expect(files == [], "an entry that is small now has no file any more")
        #expect(cache().artifact(for: key(1))?.bytes == picture(1).bytes)
        #expect(meters.all == [:])
    }

    @Test func missesOnDamageAtEveryByteOfAFile() throws {
        let cache = cache()
        let whole = picture(1, byteCount: 25_000)
        cache.store(whole, for: key(1))
        let good = try folder.read(place(key(1)))
        let positions = Array(0..<600) + Array(stride(from: 600, to: good.count, by: 311)) + [good.count - 1]
        for position in positions {
            var bad = good
            bad[position] ^= 1 << UInt8.random(in: 0..<8)
            try folder.write(bad, to: place(key(1)))
            #expect(cache.artifact(for: key(1)) == nil, "byte \(position)")
            #expect(files == [], "byte \(position)")
            cache.store(whole, for: key(1))
        }
        #expect(meters.all == ["cache_bad_entry": positions.count])
        #expect(cache.artifact(for: key(1))?.bytes == whole.bytes)
    }

    @Test func missesOnDamageAtEveryByteOfARow() throws {
        let cache = cache()
        cache.store(picture(1, byteCount: 40), for: key(1))
        let good = try index("SELECT hex(entry) FROM entry").trimmingCharacters(in: .whitespacesAndNewlines)
        var changes: [String] = []
        for position in 0..<good.utf8.count / 2 {
            var digits = Array(good)
            digits[position * 2] = digits[position * 2] == "0" ? "8" : "0"
            guard String(digits) != good else { continue }
            // A row of its own for each, under the numbers that key(1000) and the following have.
            let id = key(1000 + position).rowNumber
            changes.append(
                "INSERT INTO entry SELECT \(id),place,used,cost,stamp,kind,stored,size,class,version,host,url,"
                    + "x'\(String(digits))' FROM entry WHERE id=\(key(1).rowNumber);")
        }
        while !changes.isEmpty {
            // A command line has a limit.
            _ = try index(changes.prefix(50).joined())
            changes.removeFirst(min(50, changes.count))
        }
        for position in 0..<good.utf8.count / 2 { #expect(cache.artifact(for: key(1000 + position)) == nil) }
        #expect(meters.count("cache_bad_entry") > 100)
        #expect(cache.status()?.entries == 1)
        // And in its own place.
        _ = try index("UPDATE entry SET entry = x'\(good.dropLast(2))' || x'7F'")
        #expect(cache.artifact(for: key(1)) == nil)
        #expect(cache.status()?.entries == 0)
    }

    @Test func missesOnEveryLengthButTheRightOne() throws {
        let cache = cache()
        let whole = picture(1, byteCount: 25_000)
        cache.store(whole, for: key(1))
        let good = try folder.read(place(key(1)))
        for count in Array(0..<500) + [4095, 4096, 4097, good.count - 1] {
            try folder.write(Array(good.prefix(count)), to: place(key(1)))
            #expect(cache.artifact(for: key(1)) == nil, "\(count) bytes")
            cache.store(whole, for: key(1))
        }
        try folder.write(good + [0], to: place(key(1)))
        #expect(cache.artifact(for: key(1)) == nil)
        cache.store(whole, for: key(1))
        #expect(cache.artifact(for: key(1))?.bytes == whole.bytes)
    }

    @Test func servesNoEntryUnderAnotherKey() throws {
        let cache = cache()
        for number in 1...2 { cache.store(picture(number, byteCount: 25_000), for: key(number)) }
        try folder.write(try folder.read(place(key(1))), to: place(key(2)))
        #expect(cache.artifact(for: key(2)) == nil)
        #expect(cache.artifact(for: key(1)) != nil)
        for number in 3...4 { cache.store(picture(number), for: key(number)) }
        _ = try index(
            "UPDATE entry SET entry = (SELECT entry FROM entry WHERE id = \(key(3).rowNumber)) "
                + "WHERE id = \(key(4).rowNumber)")
        #expect(cache.artifact(for: key(4)) == nil)
        #expect(cache.artifact(for: key(3)) != nil)
    }

    /// What a writer leaves that is killed between the steps of writing a file.
    @Test func sweepsWhatDeadWritersLeftAtTheStart() throws {
        let cache = cache()
        cache.store(picture(1, byteCount: 25_000), for: key(1))
        // The walk through a folder whose index is new comes before.
        cache.trim(stop: stop)
        let good = try folder.read(place(key(1)))
        let inner = place(key(1)).split(separator: "/").prefix(2).joined(separator: "/")
        // No process has number 4194305: Linux counts to 4194304.
        let dead = "\(inner)/.part-4194305-abc-1"
        let earlierRun = "\(inner)/.part-\(ProcessInfo.processInfo.processIdentifier)-0-1"
        let alive = "\(inner)/.part-1-abc-1"
        let old = "\(inner)/.part-1-abc-2"
        for name in [dead, earlierRun, alive, old] {
            try folder.write(Array(good.prefix(500)), to: name)
            let since = clock.second - (name == old ? 3700 : 0)
            _ = try index(
                "INSERT INTO pending VALUES ('\(name)', '\(place(key(1)))', "
                    + "\(key(1).rowNumber), 4096, \(since))")
        }
        // Named, and killed before it had its row.
        let orphan = place(key(2))
        try folder.write(good, to: orphan)
        _ = try index(
            "INSERT INTO pending VALUES ('\(dead)2', '\(orphan)', "
                + "\(key(2).rowNumber), 4096, 0)")
        #expect(cache.artifact(for: key(1))?.bytes == picture(1, byteCount: 25_000).bytes)
        self.cache().trim(stop: stop)
        #expect(files == [place(key(1)), alive].sorted())
        #expect(meters.count("cache_swept") == 4)
        #expect(try index("SELECT count(*) FROM pending") == "1\n")
    }

    @Test func leavesWholeBytesWhenManyWriteOneKey() async throws {
        let first = cache()
        let second = cache()
        let lane = Lane<Void>("test", width: 8) { () }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask {
                    try? await lane.run(stop: Stop(after: .seconds(600))) { _, _ in
                        (number % 2 == 0 ? first : second).store(
                            picture(number, byteCount: 50_000), for: key(1))
                        let found = first.artifact(for: key(1))
                        let name = found?.facts.container.dropFirst(5) ?? ""
                        #expect(found?.bytes == picture(Int(name) ?? -1, byteCount: 50_000).bytes)
                    }
                }
            }
        }
        #expect(files == [place(key(1))])
        #expect(meters.all == [:])
    }

    /// A database that is no database, and one with holes: a new one, with the entries whose files are there.
    @Test(arguments: [0, 1, 2])
    func replacesADamagedIndex(kind: Int) throws {
        let before = cache()
        for number in 0..<20 {
            before.store(picture(number, byteCount: number < 10 ? 30_000 : 1000), for: key(number))
        }
        _ = try index("PRAGMA wal_checkpoint(TRUNCATE)")
        var bytes = try folder.read("index.sqlite")
        switch kind {
        case 0: bytes = Array("no database at all, but long enough to be looked at by somebody".utf8)
        case 1: for at in 8192..<bytes.count where at % 3 == 0 { bytes[at] ^= 0x55 }
        default: bytes = Array(bytes.prefix(bytes.count / 2))
        }
        try folder.write(bytes, to: "index.sqlite")
        let cache = cache()
        for number in 0..<20 {
            if let found = cache.artifact(for: key(number)) {
                #expect(found.bytes == picture(number, byteCount: number < 10 ? 30_000 : 1000).bytes)
            }
        }
        clock.advance(1)
        for number in 20..<25 { cache.store(picture(number), for: key(number)) }
        clock.advance(1)
        _ = cache.verify(stop: stop)
        clock.advance(1)
        cache.trim(stop: stop)
        for number in 30..<35 {
            cache.store(picture(number), for: key(number))
            #expect(cache.artifact(for: key(number))?.bytes == picture(number).bytes)
        }
        #expect(meters.count("cache_index_damaged") > 0)
        for number in 0..<10 { #expect(cache.artifact(for: key(number)) != nil, "\(number)") }
        #expect(cache.verify(stop: stop)?.bad == 0)
    }

    /// A renewed record stands in the index alone; the file keeps the one it was written with.
    @Test func renewsARecordWithoutItsFile() throws {
        let cache = cache()
        for (number, byteCount) in [(1, 1000), (2, 30_000)] {
            cache.store(picture(number, byteCount: byteCount), for: key(number))
            let before = files.map { try? folder.read($0) }
            var record = CacheRecord(key: key(number), url: "http://h/\(number)", host: "h")
            (record.freshUntil, record.etag) = (77, "\"x\"")
            cache.renew(record)
            let found = try #require(cache.entry(for: key(number)))
            #expect(found.record.freshUntil == 77)
            #expect(try found.outcome.get().bytes == picture(number, byteCount: byteCount).bytes)
            #expect(files.map { try? folder.read($0) } == before)
            // A file that is damaged is found out all the same.
            guard number == 2 else { continue }
            var bytes = try folder.read(place(key(2)))
            bytes[bytes.count - 1] ^= 1
            try folder.write(bytes, to: place(key(2)))
            #expect(cache.entry(for: key(2)) == nil)
        }
    }

    /// What is asked on a thread that must not wait is the same.
    @Test func answersAtOnceAsItDoesLater() throws {
        let cache = cache()
        for (number, byteCount) in [(1, 1000), (2, 30_000), (3, 100_000)] {
            cache.store(picture(number, byteCount: byteCount), for: key(number))
        }
        guard case .askTheLane = cache.entryAtOnce(for: key(1)) else {
            Issue.record("nobody has opened the index yet")
            return
        }
        _ = cache.entry(for: key(9))
        for (number, byteCount) in [(1, 1000), (2, 30_000)] {
            guard case .found(let found) = cache.entryAtOnce(for: key(number)) else {
                // A machine that stalls for 5 ms in here is right to ask the lane.
                #expect(cache.entry(for: key(number)) != nil)
                continue
            }
            #expect(try found.outcome.get().bytes == picture(number, byteCount: byteCount).bytes)
        }
        if case .found = cache.entryAtOnce(for: key(3)) { Issue.record("a large file is for the lane") }
        try folder.write([1, 2, 3], to: place(key(2)))
        if case .found = cache.entryAtOnce(for: key(2)) { Issue.record("served a damaged file") }
        #expect(files.contains(place(key(2))))
    }
}

/// A clock that is set by hand.
final class HandClock: Sendable {
    private let state = Mutex<Int64>(1_800_000_000)
    var second: Int64 { state.withLock { $0 } }
    func advance(_ seconds: Int64) { state.withLock { $0 += seconds } }
}
