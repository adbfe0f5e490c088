internal import Foundation
internal import Framemill
internal import FramemillEngine
internal import FramemillMedia

/// A cache on disk under bad treatment: writers that are killed, bits that flip, a million entries.
enum CacheStorm {
    private static func disk(_ folder: String, _ bytes: Int64, _ meters: Meters) -> DiskCache {
        DiskCache(folder: folder, bytes: bytes, entries: 10_000_000, meters: meters)
    }

    /// Stores and reads until it is killed; ends with a failure when it is served a wrong byte.
    static func fill(_ words: [String]) throws(Failure) {
        guard words.count == 1 else { throw Failure(.badOption, .input, Main.usage) }
        let meters = Meters()
        let cache = disk(words[0], 32 << 20, meters)
        cache.trim(stop: Stop())
        while true {
            let number = Int.random(in: 0..<3000)
            cache.store(Stuff.artifact(number), for: Stuff.key(number))
            try check(cache, Int.random(in: 0..<3000))
            if cache.wantsTrim { cache.trim(stop: Stop()) }
        }
    }

    /// Reads everything that `fill` may have stored.
    static func check(_ words: [String]) throws(Failure) {
        guard words.count == 1 else { throw Failure(.badOption, .input, Main.usage) }
        let meters = Meters()
        let cache = disk(words[0], 32 << 20, meters)
        cache.trim(stop: Stop())
        var found = 0
        for number in 0..<3000 where try check(cache, number) { found += 1 }
        print("found=\(found) wrong=0 bad=\(meters.count("cache_bad_entry"))")
    }

    @discardableResult
    static func check(_ cache: DiskCache, _ number: Int) throws(Failure) -> Bool {
        guard let found = cache.artifact(for: Stuff.key(number)) else { return false }
        let right = Stuff.artifact(number)
        guard found.bytes == right.bytes, found.facts == right.facts else {
            throw Failure(.internalError, .cache, "wrong bytes for entry \(number)")
        }
        return true
    }

    /// Flips one bit after the other, in the index and in files, and reads everything after each.
    static func flip(_ words: [String]) throws(Failure) {
        guard words.count == 1 else { throw Failure(.badOption, .input, Main.usage) }
        let flips = try Main.number(words[0])
        let folder = FileManager.default.temporaryDirectory.path + "/framemill-flip-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let meters = Meters()
        let numbers = Array(0..<60)
        var (misses, replaced) = (0, 0)
        for round in 0..<flips {
            // What the flip before took. One cache, one connection: when it closes, the log is in the index.
            let filling = disk(folder, 1 << 30, Meters())
            for number in numbers where filling.entry(for: Stuff.key(number)) == nil {
                filling.store(Stuff.artifact(number), for: Stuff.key(number))
            }
            try flip(in: folder, isFile: round % 2 == 0, numbers, meters, &misses, &replaced)
        }
        print("flips=\(flips) wrong=0 misses=\(misses) indexes_replaced=\(replaced)")
    }

    private static func flip(
        in folder: String, isFile: Bool, _ numbers: [Int], _ meters: Meters, _ misses: inout Int,
        _ replaced: inout Int
    ) throws(Failure) {
        let path = isFile ? try entryFile(folder) : folder + "/index.sqlite"
        try flipBit(of: path)
        let damaged = meters.count("cache_index_damaged")
        let cache = disk(folder, 1 << 30, meters)
        for number in numbers {
            let isFound = try check(cache, number)
            if !isFound { misses += 1 }
            // In the index a bit may lie where nothing is; in a file each bit counts. What else is a miss then is
            // for a bit of the index, of an earlier round.
            guard !isFound || !path.hasSuffix(Stuff.key(number).hex) else {
                throw Failure(.internalError, .cache, "entry \(number) was served with a bit flipped")
            }
        }
        if meters.count("cache_index_damaged") > damaged { replaced += 1 }
    }

    private static func entryFile(_ folder: String) throws(Failure) -> String {
        let names = (FileManager.default.enumerator(atPath: folder)?.allObjects ?? []).compactMap {
            $0 as? String
        }
        guard let name = names.filter({ $0.utf8.count == 70 }).randomElement() else {
            throw Failure(.internalError, .cache, "no entry has a file")
        }
        return "\(folder)/\(name)"
    }

    private static func flipBit(of path: String) throws(Failure) {
        do {
            var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            bytes[Int.random(in: 0..<bytes.count)] ^= 1 << UInt8.random(in: 0..<8)
            try bytes.write(to: URL(fileURLWithPath: path))
        } catch {
            throw Failure(.internalError, .cache, "cannot flip a bit of \(path)", cause: "\(error)")
        }
    }

    /// How long it takes to be ready over many entries.
    static func start(_ words: [String]) throws(Failure) {
        guard words.count == 2 else { throw Failure(.badOption, .input, Main.usage) }
        let (folder, entries) = (words[0], try Main.number(words[1]))
        let meters = Meters()
        let filling = disk(folder, 64 << 30, meters)
        let there = filling.status()?.entries ?? 0
        for number in there..<max(there, entries) {
            filling.store(Stuff.artifact(number, byteCount: 500), for: Stuff.key(number))
        }
        let opening = Rounds.time {
            let cache = disk(folder, 64 << 30, meters)
            _ = cache.artifact(for: Stuff.key(entries / 2))
            cache.trim(stop: Stop())
        }
        var count = 0
        let counting = Rounds.time { count = filling.status()?.entries ?? 0 }
        print(
            "entries=\(count) start_ms=\(Rounds.text(opening)) count_ms=\(Rounds.text(counting)) \(meters.all)"
        )
    }
}
