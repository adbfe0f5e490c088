/// Where an entry's file lies. Two levels of 256 folders keep each small up to tens of millions of entries.
struct DiskPlace {
    let outer: String
    let inner: String
    let file: String

    init(_ key: CacheKey, in folder: String) {
        file = Self.file(key, in: folder)
        outer = String(file.dropLast(68))
        inner = String(file.dropLast(65))
    }

    /// Its path alone, in one piece: a hit asks for nothing else.
    static func file(_ key: CacheKey, in folder: String) -> String {
        let names = 71
        var folder = folder
        let count = folder.utf8.count
        // Each index below is below `count + names`.
        return unsafe String(unsafeUninitializedCapacity: count + names) { path in
            folder.withUTF8 { unsafe _ = path.update(fromContentsOf: $0) }
            for place in 0..<64 {
                let digit = Digest.digit(key.halfByte(place))
                unsafe path[count + 7 + place] = digit
                if place < 4 { unsafe path[count + 1 + place + place / 2] = digit }
            }
            for place in [0, 3, 6] { unsafe path[count + place] = slash }
            return count + names
        }
    }

    private static let slash = UInt8(ascii: "/")

    /// What a file takes: whole blocks, and two folders that may be its alone.
    static func cost(_ byteCount: Int) -> Int { (byteCount + block - 1) / block * block + 2 * block }
    static let block = 4096
}
