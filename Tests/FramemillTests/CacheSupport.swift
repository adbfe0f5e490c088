import FramemillMedia

@testable import Framemill

/// A picture whose bytes tell which one it is.
func picture(_ number: Int, byteCount: Int = 1000) -> Artifact {
    var facts = Facts()
    facts.container = "test-\(number)"
    facts.byteCount = byteCount
    facts.milliseconds = ["total": 1.5]
    var bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: byteCount)
    for index in stride(from: 0, to: byteCount, by: 97) {
        bytes[index] = UInt8(truncatingIfNeeded: index / 97)
    }
    return Artifact(bytes: bytes, facts: facts, origin: .made)
}

func key(_ number: Int) -> CacheKey { CacheKey(canonicalURL: "http://h/\(number)", recipe: Recipe()) }

/// Where an entry lies below the cache's folder.
func place(_ key: CacheKey) -> String { "\(key.hex.prefix(2))/\(key.hex.dropFirst(2).prefix(2))/\(key.hex)" }
