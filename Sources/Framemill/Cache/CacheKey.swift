package import FramemillMedia

/// What a finished picture is found by: a SHA-256 over the source, every field of the recipe, and the engine.
///
/// The text that is hashed names each part on a line of its own, so that a width of 100 and a height of 100 differ. A
/// line break inside a path can't forge another key: recipe and engine hold none, so the text splits from its end.
package struct CacheKey: Hashable, Sendable {
    /// Raised whenever the same bytes and recipe may give another picture than before. Old entries then age out.
    package static let engineVersion = "1"

    /// The digest as it stands, in four words: no allocation to hash or compare it.
    private let words: SIMD4<UInt64>

    package init(canonicalURL: String, recipe: Recipe) {
        let text = "url=\(canonicalURL)\nrecipe=\(recipe.canonical)\nengine=\(Self.engineVersion)\n"
        self.init(digest: Digest.sha256(Array(text.utf8)))
    }

    private init(digest: [UInt8]) {
        var words = SIMD4<UInt64>()
        for (index, byte) in digest.enumerated() {
            words[index / 8] = words[index / 8] << 8 | UInt64(byte)
        }
        self.words = words
    }

    /// Reads back what `hex` wrote; `nil` for any other text.
    package init?(hex: String) {
        let digits = hex.utf8.map { digit -> UInt8 in
            switch digit {
            case 0x30...0x39: digit - 0x30
            case 0x61...0x66: digit - 0x61 + 10
            default: 0xFF
            }
        }
        guard digits.count == 64, !digits.contains(0xFF) else { return nil }
        self.init(digest: stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] })
    }

    /// Reads back what `bytes` gave, byte by byte.
    init(byte: (Int) -> UInt8) {
        var words = SIMD4<UInt64>()
        for index in 0..<32 { words[index / 8] = words[index / 8] << 8 | UInt64(byte(index)) }
        self.words = words
    }

    /// The first eight bytes as a number: what the entry's row is found by.
    package var rowNumber: Int64 { Int64(bitPattern: words[0]) }

    /// The 32 bytes of the digest.
    package var bytes: [UInt8] {
        (0..<32).map { UInt8(truncatingIfNeeded: words[$0 / 8] >> (56 - $0 % 8 * 8)) }
    }

    /// 64 lower-case hexadecimal digits: the name of the entry on disk.
    package var hex: String { Digest.hex(bytes) }
}
