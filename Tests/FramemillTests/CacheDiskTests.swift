import Foundation
import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// B29, B30, B52 and B53, as far as one process shows them. Plain calls from here block a little; no lane is needed.
@Suite struct CacheDiskTests {
    private let folder: TemporaryFolder
    private let meters = Meters()
    private let stop = Stop(after: .seconds(600))

    init() throws { folder = try TemporaryFolder() }

    private func cache(_ bytes: Int64 = 64 << 20, touchSeconds: Int = 600) -> DiskCache {
        DiskCache(folder: folder.path, bytes: bytes, meters: meters, touchSeconds: touchSeconds)
    }

    @Test func givesBackWhatItWasGiven() throws {
        for byteCount in [0, 1, 20_000, 300_000] {
            cache().store(picture(1, byteCount: byteCount), for: key(1))
            let found = try #require(cache().artifact(for: key(1)))
            #expect(found.bytes == picture(1, byteCount: byteCount).bytes)
            #expect(found.facts == picture(1, byteCount: byteCount).facts)
            #expect(found.origin == .disk)
        }
        #expect(folder.files == [place(key(1))])
        #expect(cache().artifact(for: key(2)) == nil)
        #expect(meters.all == [:])
    }

    @Test func missesOnDamageAtEveryByte() throws {
        let cache = cache()
        cache.store(picture(1, byteCount: 40), for: key(1))
        let good = try folder.read(place(key(1)))
        for position in good.indices {
            for bit in [UInt8(1), 0x80, 0xFF] {
                var bad = good
                bad[position] ^= bit
                try folder.write(bad, to: place(key(1)))
                #expect(cache.artifact(for: key(1)) == nil, "byte \(position)")
                #expect(folder.files == [], "byte \(position)")
            }
        }
        #expect(meters.count("cache_bad_entry") == good.count * 3)
    }

    @Test func missesOnEveryLengthButTheRightOne() throws {
        let cache = cache()
        cache.store(picture(1, byteCount: 40), for: key(1))
        let good = try folder.read(place(key(1)))
        for count in 0..<good.count {
            try folder.write(Array(good.prefix(count)), to: place(key(1)))
            #expect(cache.artifact(for: key(1)) == nil, "\(count) bytes")
        }
        try folder.write(good + [0], to: place(key(1)))
        #expect(cache.artifact(for: key(1)) == nil)
        try folder.write(good, to: place(key(1)))
        #expect(cache.artifact(for: key(1)) != nil)
    }

    @Test func servesNoEntryUnderAnotherKey() throws {
        let cache = cache()
        cache.store(picture(1), for: key(1))
        try folder.write(try folder.read(place(key(1))), to: place(key(2)))
        #expect(cache.artifact(for: key(2)) == nil)
        #expect(cache.artifact(for: key(1)) != nil)
    }

    @Test func neverReadsAHalfWrittenFileAndSweepsItAtTheStart() throws {
        let cache = cache()
        cache.store(picture(1), for: key(1))
        let half = Array(try folder.read(place(key(1))).prefix(500))
        let inner = place(key(1)).split(separator: "/").prefix(2).joined(separator: "/")
        // No process has number 4194305: Linux counts to 4194304.
        let dead = "\(inner)/.part-4194305-abc-1"
        let earlierRun = "\(inner)/.part-\(ProcessInfo.processInfo.processIdentifier)-0-1"
        let alive = "\(inner)/.part-1-abc-1"
        let old = "\(inner)/.part-1-abc-2"
        for name in [dead, earlierRun, alive, old] { try folder.write(half, to: name) }
        try FileManager.default.setAttributes(
            [.modificationDate: Date(timeIntervalSinceNow: -3700)], ofItemAtPath: folder.file(old))
        #expect(cache.artifact(for: key(1))?.bytes == picture(1).bytes)
        self.cache().trim(stop: stop)
        #expect(folder.files == [place(key(1)), alive].sorted())
        #expect(meters.count("cache_swept") == 3)
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
        #expect(folder.files == [place(key(1))])
        #expect(meters.all == [:])
    }

    @Test func makesItsFolderAgainWhenItVanishes() throws {
        let cache = cache()
        cache.store(picture(1), for: key(1))
        try FileManager.default.removeItem(atPath: folder.path)
        #expect(cache.artifact(for: key(1)) == nil)
        cache.store(picture(2), for: key(2))
        #expect(cache.artifact(for: key(2))?.bytes == picture(2).bytes)
        #expect(meters.all == [:])
    }

    @Test func countsAndOutlivesAFolderThatCannotBe() throws {
        let file = try folder.write([1], to: "file")
        for path in [file, file + "/below", "/proc/nowhere"] {
            let meters = Meters()
            let cache = DiskCache(folder: path, bytes: 1 << 20, meters: meters)
            cache.trim(stop: stop)
            cache.store(picture(1), for: key(1))
            #expect(cache.artifact(for: key(1)) == nil)
            #expect(meters.all == ["cache_write_failed": 1], "\(path)")
            #expect(cache.held == 0)
        }
    }

    @Test func countsAndOutlivesAFullDisk() throws {
        let mount = try Tool.run("mount", ["-t", "tmpfs", "-o", "size=1m", "test", folder.path])
        guard mount.status == 0 else {
            print("*** SKIPPED: countsAndOutlivesAFullDisk may not mount here: \(mount.errorText)")
            return
        }
        // Lazily, so that the folder is free whatever the test left open.
        defer { _ = try? Tool.run("umount", ["-l", folder.path]) }
        let cache = cache()
        for number in 0..<20 { cache.store(picture(number, byteCount: 200_000), for: key(number)) }
        let kept = (0..<20).filter {
            cache.artifact(for: key($0))?.bytes == picture($0, byteCount: 200_000).bytes
        }
        #expect((1..<6).contains(kept.count))
        #expect(meters.all == ["cache_write_failed": 20 - kept.count])
        #expect(folder.files.count == kept.count)
        try FileManager.default.removeItem(atPath: folder.file(String(place(key(kept[0])))))
        cache.store(picture(99, byteCount: 100_000), for: key(99))
        #expect(cache.artifact(for: key(99)) != nil)
    }

    @Test func neverHoldsMoreThanItsLimitAndOneEntry() throws {
        let limit = 2 << 20
        let cache = cache(Int64(limit))
        for number in 0..<100 {
            cache.store(picture(number, byteCount: 200_000), for: key(number))
            let onDisk = try folder.files.reduce(0) { try $0 + folder.read($1).count }
            #expect(onDisk <= limit + 201_000)
            if cache.wantsTrim { cache.trim(stop: stop) }
            #expect(cache.held <= limit / 100 * 95)
        }
        #expect(cache.artifact(for: key(99)) != nil)
        #expect(meters.count("cache_evicted") > 80)
        #expect(meters.count("cache_write_skipped") == 0)
        // Folders go with their entries: 256 * 256 of them would outweigh what they hold.
        let folders = try FileManager.default.contentsOfDirectory(atPath: folder.path)
        #expect(folders.count <= 10)
    }

    @Test func writesNoMoreWhileItIsAboveItsLimit() {
        let cache = cache(1 << 20)
        for number in 0..<20 { cache.store(picture(number, byteCount: 200_000), for: key(number)) }
        #expect(folder.files.count == 6)
        #expect(meters.count("cache_write_skipped") == 14)
        cache.store(picture(1, byteCount: 2 << 20), for: key(50))
        #expect(cache.artifact(for: key(50)) == nil)
    }

    @Test func evictsWhatWasNotUsedForLongest() throws {
        let cache = cache(1 << 20, touchSeconds: 0)
        for number in 0..<5 {
            cache.store(picture(number, byteCount: 200_000), for: key(number))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSinceNow: Double(number) * 10 - 1000)],
                ofItemAtPath: folder.file(place(key(number))))
        }
        // The oldest is asked for, and so it is not the oldest any more.
        #expect(cache.artifact(for: key(0)) != nil)
        cache.trim(stop: stop)
        #expect((0..<5).map { cache.artifact(for: key($0)) != nil } == [true, false, true, true, true])
    }

    @Test func countsWhatWasThereBefore() {
        let before = cache()
        for number in 0..<10 { before.store(picture(number, byteCount: 50_000), for: key(number)) }
        let after = cache()
        #expect(after.held == 0)
        after.trim(stop: stop)
        #expect(after.held == before.held)
        let inner = place(key(3))
        #expect(after.held >= 10 * 50_000, "\(inner)")
    }

    @Test func goesOnPastWhatIsNotItsOwn() throws {
        let cache = cache(1 << 20)
        for number in 0..<5 { cache.store(picture(number, byteCount: 200_000), for: key(number)) }
        try FileManager.default.createSymbolicLink(
            atPath: folder.file("aa"), withDestinationPath: folder.path)
        try folder.write([1, 2, 3], to: "README")
        try folder.write([1, 2, 3], to: "zz/zz/notes.txt")
        let loop = place(key(900))
        try folder.write([], to: loop)
        try FileManager.default.removeItem(atPath: folder.file(loop))
        try FileManager.default.createSymbolicLink(
            atPath: folder.file(loop), withDestinationPath: folder.file(loop))
        cache.trim(stop: stop)
        #expect(cache.held <= 1 << 20)
        #expect(folder.files.contains("README"))
        #expect(folder.files.contains("zz/zz/notes.txt"))
        // A link in place of an entry is no entry.
        #expect(cache.artifact(for: key(900)) == nil)
        #expect(meters.count("cache_bad_entry") == 1)
    }

    @Test func stopsWalkingWhenTold() {
        let cache = cache(1 << 20)
        for number in 0..<6 { cache.store(picture(number, byteCount: 200_000), for: key(number)) }
        let raised = Stop(after: .seconds(600))
        raised.raise()
        cache.trim(stop: raised)
        #expect(folder.files.count == 6)
        cache.trim(stop: stop)
        #expect(folder.files.count < 6)
    }

    /// B53: an error that may pass, such as having no file handle left, is no reason to delete an entry.
    @Test func keepsAnEntryThatCannotBeReadJustNow() throws {
        cache().store(picture(1), for: key(1))
        // What `open` says of a path that is too long stands in for it: not "no such file", not a damaged file.
        let long = folder.path + "/" + String(repeating: "x/", count: 3000)
        let cache = DiskCache(folder: long, bytes: 1 << 20, meters: meters)
        #expect(cache.artifact(for: key(1)) == nil)
        #expect(meters.all == ["cache_read_failed": 1])
        #expect(folder.files == [place(key(1))])
    }
}
