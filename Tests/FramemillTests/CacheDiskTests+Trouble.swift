import Foundation
import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// Folders that vanish, refuse or are full.
extension CacheDiskTests {
    @Test func makesItsFolderAgainWhenItVanishes() throws {
        let cache = cache()
        cache.store(picture(1), for: key(1))
        #expect(cache.artifact(for: key(1)) != nil)
        try FileManager.default.removeItem(atPath: folder.path)
        // Whether its folder is still there is asked once a second.
        clock.advance(1)
        #expect(cache.artifact(for: key(1)) == nil)
        cache.store(picture(2), for: key(2))
        #expect(cache.artifact(for: key(2))?.bytes == picture(2).bytes)
        #expect(meters.all == [:])
    }

    @Test func countsAndOutlivesAFolderThatCannotBe() throws {
        let file = try folder.write([1], to: "file")
        for path in [file, file + "/below", "/proc/nowhere"] {
            let meters = Meters()
            let cache = DiskCache(folder: path, bytes: 1 << 20, meters: meters) { 5 }
            cache.store(picture(1), for: key(1))
            cache.store(picture(2, byteCount: 30_000), for: key(2))
            #expect(cache.artifact(for: key(1)) == nil)
            // Tried once a second, so once.
            #expect(meters.all == ["cache_write_failed": 2, "cache_index_failed": 1], "\(path)")
            #expect(cache.held == 0)
        }
    }

    @Test func readsAFolderThatCannotBeWritten() throws {
        let cache = cache()
        cache.store(picture(1), for: key(1))
        let mount = try Tool.run("mount", ["--bind", folder.path, folder.path])
        guard mount.status == 0 else {
            print("*** SKIPPED: readsAFolderThatCannotBeWritten may not mount here: \(mount.errorText)")
            return
        }
        defer { _ = try? Tool.run("umount", ["-l", folder.path]) }
        _ = try Tool.run("mount", ["-o", "remount,ro,bind", folder.path])
        let other = self.cache()
        other.trim(stop: stop)
        other.store(picture(2), for: key(2))
        other.store(picture(3, byteCount: 30_000), for: key(3))
        #expect(other.artifact(for: key(2)) == nil)
        #expect(meters.count("cache_write_failed") >= 2)
        if let found = other.artifact(for: key(1)) { #expect(found.bytes == picture(1).bytes) }
    }

    /// B53: an error that may pass, such as having no file handle left, is no reason to delete an entry.
    @Test func keepsAnEntryThatCannotBeReadJustNow() throws {
        let cache = cache()
        cache.store(picture(1, byteCount: 30_000), for: key(1))
        // What `open` says of a path that is too long stands in for it: not "no such file", not a damaged
        // file.
        let long = folder.path + "/" + String(repeating: "x/", count: 3000)
        #expect(throws: CacheFiles.Trouble.unreadable) { _ = try CacheEntry.read(long, for: key(1)) }
        #expect(cache.artifact(for: key(1)) != nil)
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
        // The disk is smaller than the limit: it is the free space that decides, and the newest that stays.
        #expect((1..<5).contains(kept.count))
        #expect(kept.contains(19))
        #expect(files.count == kept.count)
        for number in 100..<500 { cache.store(picture(number, byteCount: 9_000), for: key(number)) }
        #expect(cache.artifact(for: key(499))?.bytes == picture(499, byteCount: 9_000).bytes)
        // Somebody else takes the rest: nothing is kept, and nothing goes wrong.
        _ = try Tool.run("dd", ["if=/dev/zero", "of=\(folder.file("other"))", "bs=4k"])
        for number in 500..<600 {
            cache.store(picture(number, byteCount: number % 2 == 0 ? 9_000 : 90_000), for: key(number))
            if let found = cache.artifact(for: key(number)) {
                #expect(found.bytes == picture(number, byteCount: number % 2 == 0 ? 9_000 : 90_000).bytes)
            }
        }
        try FileManager.default.removeItem(atPath: folder.file("other"))
        cache.store(picture(99, byteCount: 9_000), for: key(99))
        #expect(cache.artifact(for: key(99)) != nil)
    }
}
