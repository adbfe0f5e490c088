package import FramemillMedia

/// What a finished picture is found by: a SHA-256 over the source, every field of the recipe, and the engine.
///
/// The text that is hashed names each part on a line of its own, so that a width of 100 and a height of 100 differ. A
/// line break inside a path can't forge another key: recipe and engine hold none, so the text splits from its end.
package struct CacheKey: Hashable, Sendable {
    /// Raised when the key is to mean something else; old entries then age out. For a change of the pictures of one part
    /// of the engine there is `EngineVersions`.
    package static let engineVersion = "1"

    /// The digest as it stands, in four words: no allocation to hash or compare it. Not a SIMD4: with a vector of 32
    /// bytes in its frame, an async function of Swift 6.3.1 writes past the frame's end (swiftlang/swift#91639).
    private let words: (UInt64, UInt64, UInt64, UInt64)

    package init(canonicalURL: String, recipe: Recipe) {
        let byteCount = canonicalURL.utf8.count + Recipe.canonicalByteCount + 64
        // Up to 1 KiB lies on the stack: no allocation. The room lives as long as the text in it.
        words = unsafe withUnsafeTemporaryAllocation(byteCount: byteCount, alignment: 1) { room in
            var text = unsafe ShortText(room)
            text.append("url=")
            text.append(text: canonicalURL)
            text.append("\nrecipe=")
            recipe.write(to: &text)
            text.append("\nengine=")
            text.append(text: Self.engineVersion)
            text.append("\n")
            return unsafe Digest.words(text.bytes)
        }
    }

    private init(digest: [UInt8]) { self.init { digest[$0] } }

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
        func word(_ place: Int) -> UInt64 {
            (place * 8..<place * 8 + 8).reduce(0) { $0 << 8 | UInt64(byte($1)) }
        }
        words = (word(0), word(1), word(2), word(3))
    }

    package static func == (one: Self, other: Self) -> Bool { one.words == other.words }

    /// A digest is as good as any hash of it, so a quarter of it will do.
    package func hash(into hasher: inout Hasher) { hasher.combine(words.0) }

    /// The first eight bytes as a number: what the entry's row is found by.
    package var rowNumber: Int64 { Int64(bitPattern: words.0) }

    /// The second eight bytes: as good as chance, and apart from those above.
    var spread: UInt64 { words.1 }

    /// The digest's hexadecimal digits, 0 to 15 each, of which there are 64.
    func halfByte(_ place: Int) -> UInt8 {
        let word = place < 32 ? place < 16 ? words.0 : words.1 : place < 48 ? words.2 : words.3
        return UInt8(truncatingIfNeeded: word >> UInt64(60 - place % 16 * 4)) & 15
    }

    /// The 32 bytes of the digest.
    package var bytes: [UInt8] {
        [words.0, words.1, words.2, words.3].flatMap { word in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
        }
    }

    /// 64 lower-case hexadecimal digits: the name of the entry on disk.
    package var hex: String { Digest.hex(bytes) }
}
