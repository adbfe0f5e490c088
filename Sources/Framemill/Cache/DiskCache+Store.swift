// Keeping an entry: in its row, in one transaction; or in a file, in the order that leaves no half entry
// whenever the process is killed, and no file that nobody knows of.

internal import FramemillEngine
package import FramemillMedia
internal import Synchronization

extension DiskCache {
    /// Keeps an entry in place of what was there.
    package func store(_ found: CacheFound, for key: CacheKey) {
        var found = found
        found.record.key = key
        let head = CacheEntry.head(found, for: key)
        var payload: [UInt8] = []
        if case .success(let artifact) = found.outcome { payload = artifact.bytes }
        found.record.byteCount = payload.count
        let row = DiskIndex.Row(place: .row, used: clock(), cost: 0, found: found, entry: head)
        if head.count + payload.count <= storesInRowUpTo {
            storeInRow(row, payload)
        } else {
            storeInFile(row, payload, DiskPlace(key, in: folder))
        }
    }

    private func storeInRow(_ row: DiskIndex.Row, _ payload: [UInt8]) {
        var row = row
        row.entry += payload
        let isKept = write(isStore: true) { index throws(SQLite.Problem) in
            try emptyLog(index)
            return try index.database.transaction { () throws(SQLite.Problem) in
                guard try makeRoom(index, forRow: row.entry.count) else { return false }
                // A file that the entry had before has no row any more.
                if try index.hasFile(row.found.record.key.rowNumber) {
                    removeFile(DiskPlace(row.found.record.key, in: folder))
                }
                try index.put(row)
                return true
            }
        }
        if isKept == false { meters.add("cache_write_skipped") }
    }

    /// Counted, written, synced, and only then named and given its row, both in one transaction: an eviction
    /// by another process comes before that or after it.
    private func storeInFile(_ row: DiskIndex.Row, _ payload: [UInt8], _ place: DiskPlace) {
        let name = "\(place.inner)/\(TemporaryName.make())"
        let pending = String(name.dropFirst(folder.count + 1))
        let id = row.found.record.key.rowNumber
        var row = row
        row.place = .file
        row.cost = DiskPlace.cost(row.entry.count + payload.count)
        let bytes = row.entry + payload
        let isCounted = write(isStore: true) { [row] index throws(SQLite.Problem) in
            try emptyLog(index)
            return try index.database.transaction { () throws(SQLite.Problem) in
                guard try makeRoom(index, forFile: row.cost) else { return false }
                try index.announce(
                    pending, String(place.file.dropFirst(folder.count + 1)), id: id, cost: row.cost,
                    since: row.used)
                return true
            }
        }
        guard let isCounted else { return }
        guard isCounted else { return meters.add("cache_write_skipped") }
        do throws(CacheFiles.Problem) {
            try writeFile(bytes, name, place)
        } catch {
            meters.add("cache_write_failed")
            write { index throws(SQLite.Problem) in try index.withdraw(pending) }
            return
        }
        // Only the record of an entry in a file stands in its row.
        let isNamed = write(isStore: true) { [row] index throws(SQLite.Problem) in
            try index.database.transaction { () throws(SQLite.Problem) in
                try index.withdraw(pending)
                guard CacheFiles.rename(name, place.file) else { return false }
                try index.put(row)
                return true
            }
        }
        if isNamed == false { meters.add("cache_write_failed") }
        if isNamed != true { _ = CacheFiles.remove(name) }
    }

    private func writeFile(
        _ bytes: [UInt8], _ name: String, _ place: DiskPlace
    ) throws(CacheFiles.Problem) {
        for attempt in 1... {
            do throws(CacheFiles.Problem) {
                if attempt > 1 {
                    for path in [place.outer, place.inner] { try CacheFiles.makeFolder(path) }
                }
                return try CacheFiles.write(bytes, to: name)
            } catch {
                // The first entry of its folder, or a trim took a folder away between two of these steps.
                guard error.isMissingFolder, attempt < 8 else { throw error }
            }
        }
    }

    /// Takes a new record for an entry that is there; its payload is not touched.
    package func renew(_ record: CacheRecord) {
        guard let lookup = read({ index throws(SQLite.Problem) in try index.find(record.key) }) else {
            return
        }
        switch lookup {
        case .missing, .bad: return
        case .whole(var found, _):
            found.record = record
            store(found, for: record.key)
        case .file(_, _, _, let stamp):
            // The head is made from the whole entry, so that its checksum of the payload is the payload's.
            guard var found = entry(for: record.key) else { return }
            found.record = record
            if case .success(let artifact) = found.outcome {
                found.record.byteCount = artifact.bytes.count
            }
            let head = CacheEntry.head(found, for: record.key)
            let cost = DiskPlace.cost(head.count + found.record.byteCount)
            let row = DiskIndex.Row(place: .file, used: clock(), cost: cost, found: found, entry: head)
            write { index throws(SQLite.Problem) in
                try index.database.transaction { () throws(SQLite.Problem) in
                    // Stored anew meanwhile: that record is newer than this one.
                    if try index.stamp(record.key.rowNumber) == stamp { try index.put(row) }
                }
            }
        }
    }

    package func remove(_ key: CacheKey) {
        write { index throws(SQLite.Problem) in
            try index.database.transaction { () throws(SQLite.Problem) in
                guard let stamp = try index.stamp(key.rowNumber) else { return }
                try index.remove(key.rowNumber, stamp: stamp)
                removeFile(DiskPlace(key, in: folder))
            }
        }
        _ = state.withLock { $0.used.removeValue(forKey: key.rowNumber) }
    }

    /// Folders go with their last entry. A writer that loses its folder to this makes it again.
    func removeFile(_ place: DiskPlace) {
        guard CacheFiles.remove(place.file) else { return }
        if CacheFiles.removeFolder(place.inner) { _ = CacheFiles.removeFolder(place.outer) }
    }

    package func store(_ artifact: Artifact, for key: CacheKey) {
        store(CacheFound(.success(artifact), CacheRecord(key: key, storedAt: clock())), for: key)
    }
}
