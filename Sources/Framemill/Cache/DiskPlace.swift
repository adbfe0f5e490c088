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
        let hex = key.hex.utf8
        var path = [UInt8](folder.utf8)
        path.reserveCapacity(path.count + 72)
        path.append(slash)
        path += hex.prefix(2)
        path.append(slash)
        path += hex.dropFirst(2).prefix(2)
        path.append(slash)
        path += hex
        return String(decoding: path, as: UTF8.self)
    }

    private static let slash = UInt8(ascii: "/")

    /// What a file takes: whole blocks, and two folders that may be its alone.
    static func cost(_ byteCount: Int) -> Int { (byteCount + block - 1) / block * block + 2 * block }
    static let block = 4096
}
