// Level 2: one file an entry, `ab/cd/<key>`, below a folder that several processes may share.
//
// There is no index to get out of step with the files. What the folder holds is counted by one walk at the start, then
// kept up write by write, and counted anew by a walk after each eighth of the limit, because other processes write and
// delete as well. The walk also sweeps what dead writers left behind and evicts what was not used for longest.
//
// What it guarantees: an entry is whole or a miss; no failure leaves this file; the folder never holds more than the
// limit and one entry per process that writes. Only a lane's threads may call in here.

package import FramemillEngine
package import FramemillMedia
internal import Synchronization

package final class DiskCache: Sendable {
    private struct Ledger {
        /// What the folder takes up, as far as this process knows.
        var held = 0
        var writtenSinceWalk = 0
        var isWalking = false
    }

    private let folder: String
    private let limit: Int
    private let meters: Meters
    /// A hit rewrites the time of an entry at most this often.
    private let touchSeconds: Int
    private let ledger = Mutex(Ledger())

    package init(folder: String, bytes: Int64, meters: Meters, touchSeconds: Int = 600) {
        self.folder = folder.hasSuffix("/") && folder != "/" ? String(folder.dropLast()) : folder
        limit = Int(clamping: bytes)
        self.meters = meters
        self.touchSeconds = touchSeconds
    }

    /// Bytes that the folder takes up, as far as this process knows.
    package var held: Int { ledger.withLock { $0.held } }

    /// Whether `trim` has something to do.
    package var wantsTrim: Bool {
        ledger.withLock { !$0.isWalking && ($0.held > limit / 100 * 95 || $0.writtenSinceWalk > limit / 8) }
    }

    package func entry(for key: CacheKey) -> CacheFound? {
        let place = Place(key, in: folder)
        switch CacheFiles.read(place.file, most: limit) {
        case .bytes(let file, let modified):
            // The array holds still until the call is over.
            guard let found = unsafe file.withUnsafeBytes({ unsafe CacheEntry.decode($0, for: key) }) else {
                return discard(place)
            }
            if CacheFiles.now - modified >= touchSeconds { CacheFiles.touch(place.file) }
            return found
        case .missing:
            return nil
        case .bad:
            return discard(place)
        case .unreadable:
            meters.add("cache_read_failed")
            return nil
        }
    }

    /// Removes an entry that can't be believed. Another process may have put a good one there since: that costs a miss.
    private func discard(_ place: Place) -> CacheFound? {
        meters.add("cache_bad_entry")
        let cost = CacheFiles.status(place.file).map { Self.cost($0.byteCount) } ?? 0
        if CacheFiles.remove(place.file) { book(-cost) }
        return nil
    }

    /// Writes an entry. When the folder is above its limit, which only a trim that is still running lets happen, the
    /// entry is left out instead.
    package func store(_ found: CacheFound, for key: CacheKey) {
        var file = CacheEntry.head(found, for: key)
        if case .success(let artifact) = found.outcome { file += artifact.bytes }
        let place = Place(key, in: folder)
        let cost = Self.cost(file.count)
        let hasRoom = ledger.withLock { ledger in
            guard cost <= limit, ledger.held <= limit else { return false }
            // Booked before it is written, so that the temporary file is counted as well.
            ledger.held += cost
            ledger.writtenSinceWalk += cost
            return true
        }
        guard hasRoom else { return meters.add("cache_write_skipped") }
        let replaced = CacheFiles.status(place.file).map { Self.cost($0.byteCount) } ?? 0
        do throws(CacheFiles.Problem) {
            try write(file, to: place)
            book(-replaced)
        } catch {
            meters.add("cache_write_failed")
            book(-cost)
        }
    }

    private func write(_ file: [UInt8], to place: Place) throws(CacheFiles.Problem) {
        let temporary = "\(place.inner)/\(TemporaryName.make())"
        for attempt in 1... {
            do throws(CacheFiles.Problem) {
                if attempt > 1 { try makeFolders(place) }
                return try CacheFiles.write(file, to: place.file, temporary: temporary)
            } catch {
                // The first entry of its folder, or a trim (of another process, perhaps) took a folder away between
                // two of these steps: once more from the top. What is gone so often isn't to be had.
                guard error.isMissingFolder, attempt < 8 else { throw error }
            }
        }
    }

    private func makeFolders(_ place: Place) throws(CacheFiles.Problem) {
        var path = ""
        for part in folder.split(separator: "/") {
            path += (path.isEmpty && !folder.hasPrefix("/") ? "" : "/") + part
            _ = try CacheFiles.makeFolder(path)
        }
        for path in [place.outer, place.inner] where try CacheFiles.makeFolder(path) { book(Self.block) }
    }

    private func book(_ bytes: Int) { ledger.withLock { $0.held += bytes } }

    /// Takes a new record for an entry that is there.
    package func renew(_ record: CacheRecord) {
        guard var found = entry(for: record.key) else { return }
        found.record = record
        store(found, for: record.key)
    }

    package func remove(_ key: CacheKey) {
        let place = Place(key, in: folder)
        let cost = CacheFiles.status(place.file).map { Self.cost($0.byteCount) } ?? 0
        if CacheFiles.remove(place.file) { book(-cost) }
    }

    /// Walks the folder: counts it, sweeps what dead writers left, and evicts the entries that were not used for
    /// longest until nine tenths of the limit are left. One walk at a time; a second caller returns at once.
    package func trim(stop: Stop) {
        let before = ledger.withLock { ledger -> Int? in
            if ledger.isWalking { return nil }
            ledger.isWalking = true
            ledger.writtenSinceWalk = 0
            return ledger.held
        }
        guard let before else { return }
        defer { ledger.withLock { $0.isWalking = false } }
        guard var found = walk(stop) else { return }
        // What was written meanwhile may be counted twice; the next walk puts that right.
        ledger.withLock { $0.held = found.held + max(0, $0.held - before) }
        guard held > limit / 100 * 95 else { return }
        found.entries.sort { $0.modified < $1.modified }
        for entry in found.entries {
            if held <= limit / 10 * 9 || stop.isOver { break }
            evict(entry)
        }
    }

    private struct Found {
        var key: CacheKey
        var cost: Int
        var modified: Int
    }

    /// `nil` when stopped before the end.
    private func walk(_ stop: Stop) -> (held: Int, entries: [Found])? {
        var held = 0
        var entries: [Found] = []
        for outer in subfolders(of: folder) {
            held += Self.block
            for inner in subfolders(of: outer) {
                if stop.isOver { return nil }
                held += Self.block
                for name in CacheFiles.names(in: inner) {
                    // Gone since it was listed, or no plain file: not ours to count.
                    guard let status = CacheFiles.status("\(inner)/\(name)"), status.isFile else { continue }
                    let second = status.modified / 1_000_000_000
                    if TemporaryName.matches(name), TemporaryName.isAbandoned(name, modifiedSecond: second) {
                        if CacheFiles.remove("\(inner)/\(name)") { meters.add("cache_swept") }
                        continue
                    }
                    held += Self.cost(status.byteCount)
                    guard let key = CacheKey(hex: name) else { continue }
                    entries.append(
                        Found(key: key, cost: Self.cost(status.byteCount), modified: status.modified))
                }
            }
        }
        return (held, entries)
    }

    /// Only real folders with two hexadecimal digits for a name: a link that leads in a circle is passed by.
    private func subfolders(of path: String) -> [String] {
        CacheFiles.names(in: path).filter { $0.utf8.count == 2 }.map { "\(path)/\($0)" }
            .filter { CacheFiles.status($0)?.isFolder ?? false }
    }

    private func evict(_ entry: Found) {
        let place = Place(entry.key, in: folder)
        guard CacheFiles.remove(place.file) else { return }
        meters.add("cache_evicted")
        book(-entry.cost)
        // Folders go with their last entry. A writer that loses its folder to this makes it again.
        if CacheFiles.removeFolder(place.inner) {
            book(-Self.block)
            if CacheFiles.removeFolder(place.outer) { book(-Self.block) }
        }
    }

    /// File systems allot whole blocks, to a folder too. Counting them bounds the number of entries as well.
    private static let block = 4096
    private static func cost(_ byteCount: Int) -> Int { (byteCount + block - 1) / block * block }
}

/// Where an entry lies. Two levels of 256 folders keep each small up to tens of millions of entries.
private struct Place {
    let outer: String
    let inner: String
    let file: String

    init(_ key: CacheKey, in folder: String) {
        let hex = key.hex
        outer = "\(folder)/\(hex.prefix(2))"
        inner = "\(outer)/\(hex.dropFirst(2).prefix(2))"
        file = "\(inner)/\(hex)"
    }
}

extension DiskCache {
    /// The picture alone.
    package func artifact(for key: CacheKey) -> Artifact? { try? entry(for: key)?.outcome.get() }

    package func store(_ artifact: Artifact, for key: CacheKey) {
        store(CacheFound(.success(artifact), CacheRecord(key: key)), for: key)
    }
}
