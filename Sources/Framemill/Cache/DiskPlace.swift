/// Where an entry's file lies. Two levels of 256 folders keep each small up to tens of millions of entries.
struct DiskPlace {
    let outer: String
    let inner: String
    let file: String

    init(_ key: CacheKey, in folder: String) {
        let hex = key.hex
        outer = "\(folder)/\(hex.prefix(2))"
        inner = "\(outer)/\(hex.dropFirst(2).prefix(2))"
        file = "\(inner)/\(hex)"
    }

    /// What a file takes: whole blocks, and two folders that may be its alone.
    static func cost(_ byteCount: Int) -> Int { (byteCount + block - 1) / block * block + 2 * block }
    static let block = 4096
}
