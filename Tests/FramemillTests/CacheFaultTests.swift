import Foundation
import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// B52: what a folder costs beside bytes.
@Suite struct CacheFaultTests {
    private let folder: TemporaryFolder
    private let meters = Meters()

    init() throws { folder = try TemporaryFolder() }

    private var all: [String] {
        let names = FileManager.default.enumerator(atPath: folder.path)?.allObjects ?? []
        return names.compactMap { $0 as? String }
            .filter { !$0.hasPrefix("index.sqlite") && !$0.hasPrefix(".") && $0 != "lock" }
    }

    @Test func takesADiskWithoutInodesForAFullOne() throws {
        let mount = try Tool.run(
            "mount", ["-t", "tmpfs", "-o", "size=64m,nr_inodes=300", "test", folder.path])
        guard mount.status == 0 else {
            print("*** SKIPPED: takesADiskWithoutInodesForAFullOne may not mount here: \(mount.errorText)")
            return
        }
        // Lazily, so that the folder is free whatever the test left open.
        defer { _ = try? Tool.run("umount", ["-l", folder.path]) }
        let cache = DiskCache(folder: folder.path, bytes: 48 << 20, meters: meters)
        for number in 0..<400 { cache.store(picture(number, byteCount: 30_000), for: key(number)) }
        // A file and two folders each, some of them shared: about a hundred fit, and the newest is among them.
        let kept = (0..<400).filter { cache.artifact(for: key($0)) != nil }
        #expect((80...150).contains(kept.count) && kept.contains(399))
        #expect(
            kept.allSatisfy { cache.artifact(for: key($0))?.bytes == picture($0, byteCount: 30_000).bytes })
        #expect(meters.count("cache_evicted") >= 250 && meters.count("cache_bad_entry") == 0)
        #expect(!all.contains { $0.contains(".part-") })
    }

    /// Byte 18 of the index is SQLite's write version: whatever is above 2 may be read and not written.
    @Test(arguments: [2, 3, 7])
    func replacesAnIndexThatForbidsWriting(bit: Int) throws {
        let path = folder.file("index.sqlite")
        func cache() -> DiskCache { DiskCache(folder: folder.path, bytes: 64 << 20, meters: meters) }
        cache().store(picture(1), for: key(1))
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(bytes[18] == 2)
        bytes[18] ^= 1 << UInt8(bit)
        try bytes.write(to: URL(fileURLWithPath: path))
        let after = cache()
        #expect(after.artifact(for: key(1))?.bytes == picture(1).bytes)
        after.store(picture(2), for: key(2))
        #expect(meters.count("cache_index_damaged") == 1)
        after.store(picture(3), for: key(3))
        #expect(after.artifact(for: key(3))?.bytes == picture(3).bytes)
        #expect(meters.count("cache_index_damaged") == 1)
    }

    @Test func leavesNoFolderBehindItsEntries() {
        let cache = DiskCache(folder: folder.path, bytes: 64 << 20, meters: meters)
        for number in 0..<200 { cache.store(picture(number, byteCount: 30_000), for: key(number)) }
        // A file, its folder, and the folder of that.
        #expect(all.count > 400)
        #expect(cache.purge(CacheFilter(), stop: Stop(after: .seconds(600))) == 200)
        #expect(all == [])
    }

    @Test func spreadsFilesOverFolders() throws {
        var counts: [String: Int] = [:]
        for number in 0..<20_000 {
            let spot = DiskPlace(key(number), in: "/c")
            #expect(spot.file.hasPrefix(spot.inner + "/") && spot.inner.hasPrefix(spot.outer + "/"))
            #expect(spot.file == "/c/" + place(key(number)))
            counts[spot.outer, default: 0] += 1
        }
        // 256 folders of 256: a few thousand names in each take hundreds of millions of entries.
        #expect(counts.count == 256 && counts.values.allSatisfy { $0 < 160 })
    }

    /// B29: processes that fill one key, with large entries of their own; every reader gets whole bytes.
    @Test func leavesWholeBytesWhenCachesOfManyWriteOneKey() async throws {
        let caches = (0..<8).map { _ in DiskCache(folder: folder.path, bytes: 64 << 20, meters: meters) }
        let lane = Lane<Void>("test", width: 8) { () }
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<64 {
                group.addTask {
                    try? await lane.run(stop: Stop(after: .seconds(600))) { _, _ in
                        caches[number % 8].store(picture(number, byteCount: 2_000_000), for: key(1))
                        let found = caches[(number + 1) % 8].artifact(for: key(1))
                        let name = found?.facts.container.dropFirst(5) ?? ""
                        #expect(found?.bytes == picture(Int(name) ?? -1, byteCount: 2_000_000).bytes)
                    }
                }
            }
        }
        #expect(all.filter { $0.utf8.count > 5 } == [place(key(1))])
        #expect(meters.count("cache_bad_entry") == 0)
    }
}
