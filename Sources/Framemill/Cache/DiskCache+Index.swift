// Opening the index, replacing one that is damaged, and filling a new one from the files that are there.

internal import FramemillEngine
internal import FramemillMedia
internal import Synchronization

extension SQLite.Problem {
    /// There is no index for now.
    static let noIndex: CInt = -1
}

extension DiskCache {
    private var path: String { folder + "/index.sqlite" }

    /// Whether a folder has been one of a cache: looking into any other would make files there.
    package static func isThere(in folder: String) -> Bool {
        ["index.sqlite", "lock"].contains { CacheFiles.status(folder + "/" + $0) != nil }
    }

    private var log: String { path + "-wal" }
    private var sharedMemory: String { path + "-shm" }

    /// What the write-ahead log may take: a sixteenth of the limit or of a smaller disk, at most SQLite's
    /// usual 4 MiB.
    var logByteCount: Int {
        max(8 * DiskIndex.pageByteCount, min(4 << 20, limit / 16, state.withLock { $0.diskBytes } / 16))
    }
    var logBytes: Int { CacheFiles.status(log)?.byteCount ?? 0 }

    /// Opens the index, under a lock that keeps others from replacing it between the opening of its three
    /// files.
    func open() throws(SQLite.Problem) -> DiskIndex {
        let now = clock()
        let generation = try state.withLock { state throws(SQLite.Problem) in
            if state.failedAt == now {
                throw SQLite.Problem(code: SQLite.Problem.noIndex, words: "not now")
            }
            return state.generation
        }
        do throws(SQLite.Problem) {
            // Where it can't be made, opening says so.
            try? CacheFiles.makeFolders(folder)
            if let space = CacheFiles.space(at: folder) {
                state.withLock { $0.diskBytes = space.allBytes }
            }
            // A folder that can't be written has no lock: nobody replaces anything in it.
            let lock = CacheFiles.Lock(folder + "/lock", isShared: true)
            defer { _ = lock }
            return try opened(generation, now)
        } catch {
            meters.add("cache_index_failed")
            if error.isDamage {
                meters.add("cache_index_damaged")
                replaceIndex(seenBy: generation)
                do throws(SQLite.Problem) { return try opened(generation + 1, now) } catch {
                    // Said above already.
                }
            }
            state.withLock { $0.failedAt = now }
            throw SQLite.Problem(code: SQLite.Problem.noIndex, words: error.words)
        }
    }

    private func opened(_ generation: Int, _ now: Int64) throws(SQLite.Problem) -> DiskIndex {
        let index = try DiskIndex.open(
            path, generation: generation, logPages: logByteCount / 2 / DiskIndex.pageByteCount, now: now)
        // The first read opens the log.
        _ = try index.totals()
        state.withLock { $0.failedAt = nil }
        return index
    }

    /// Whether the index says that nobody may write to it, which no index of ours does. "If the write version is greater
    /// than 2, then that database file is read-only": a bit that flips there would leave a cache that keeps nothing new
    /// for ever.
    var forbidsWriting: Bool {
        do throws(CacheFiles.Trouble) {
            return try CacheFiles.Reading.open(path).read(20, from: 0)[18] > 2
        } catch {
            // What can't be read now says nothing.
            return false
        }
    }

    /// Puts a new index in the place of a damaged one, unless somebody has done so already. Rows are lost
    /// with it, and so are the entries in them; those in files are found again by the next trim.
    func replaceIndex(seenBy generation: Int) {
        // Nobody may be opening it: whoever held the old database with the new log would damage both.
        guard let lock = CacheFiles.Lock(folder + "/lock", isShared: false) else { return }
        defer { _ = lock }
        state.withLock { state in
            guard state.generation == generation else { return }
            state.generation += 1
            for file in [path, log, sharedMemory] { _ = CacheFiles.remove(file) }
        }
    }

    // MARK: - After opening

    /// Whether nobody has looked yet at what earlier processes left.
    var needsSweep: Bool { state.withLock { $0.sweptGeneration != $0.generation } }

    /// Removes what dead writers left, and gives a new index the entries whose files are there.
    func sweep(_ stop: Stop) {
        let generation = state.withLock { $0.generation }
        let isDone: Bool? = write { index throws(SQLite.Problem) in
            for left in try index.pending()
            where TemporaryName.isAbandoned(
                Self.name(of: left.name), modifiedSecond: Int(left.since), now: clock())
            {
                try index.database.transaction { () throws(SQLite.Problem) in
                    if CacheFiles.remove("\(folder)/\(left.name)") { meters.add("cache_swept") }
                    // Named, but the writer died before its row was there.
                    if try !index.hasFile(left.id), CacheFiles.remove("\(folder)/\(left.file)") {
                        meters.add("cache_swept")
                    }
                    try index.withdraw(left.name)
                }
            }
            return try index.totals().isWalked
        }
        guard let isDone else { return }
        if !isDone {
            guard walk(stop) else { return }
            write { index throws(SQLite.Problem) in try index.markWalked() }
        }
        state.withLock { $0.sweptGeneration = generation }
    }

    private static func name(of path: String) -> String {
        String(path.split(separator: "/").last ?? "")
    }

    /// `false` when stopped before the end.
    private func walk(_ stop: Stop) -> Bool {
        for outer in subfolders(of: folder) {
            for inner in subfolders(of: outer) {
                for name in CacheFiles.names(in: inner) {
                    if stop.isOver { return false }
                    adopt("\(inner)/\(name)", name)
                }
                _ = CacheFiles.removeFolder(inner)
            }
            _ = CacheFiles.removeFolder(outer)
        }
        return true
    }

    private func adopt(_ path: String, _ name: String) {
        // Gone since it was listed, or no plain file: not ours to judge.
        guard let status = CacheFiles.status(path), status.isFile else { return }
        let second = status.modified / 1_000_000_000
        if TemporaryName.matches(name),
            TemporaryName.isAbandoned(name, modifiedSecond: second, now: clock())
        {
            if CacheFiles.remove(path) { meters.add("cache_swept") }
            return
        }
        guard let key = CacheKey(hex: name) else { return }
        let found: CacheFound?
        do throws(CacheFiles.Trouble) { found = try CacheEntry.read(path, for: key) } catch {
            // Of no use now; the next walk may have more luck.
            if error != .bad { return }
            found = nil
        }
        guard let found else {
            meters.add("cache_bad_entry")
            return removeFile(DiskPlace(key, in: folder))
        }
        let row = DiskIndex.Row(
            place: .file, used: Int64(second), cost: DiskPlace.cost(status.byteCount), found: found,
            entry: CacheEntry.head(found, for: key))
        write { index throws(SQLite.Problem) in
            try index.database.transaction { () throws(SQLite.Problem) in
                // Stored anew since the walk began.
                if try index.stamp(key.rowNumber) == nil { try index.put(row) }
            }
        }
    }

    /// Only real folders with two hexadecimal digits for a name: a link that leads in a circle is passed by.
    private func subfolders(of path: String) -> [String] {
        CacheFiles.names(in: path).filter { $0.utf8.count == 2 && $0.allSatisfy(\.isHexDigit) }
            .map { "\(path)/\($0)" }.filter { CacheFiles.status($0)?.isFolder ?? false }
    }
}
