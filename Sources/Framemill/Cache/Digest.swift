internal import CCrypto

/// SHA-256 by libcrypto, which uses the processor's own instructions for it.
package enum Digest {
    /// The 32 bytes of the digest of `bytes`.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] { sha256(bytes.span) }

    /// The same for a part of an array, without a copy of it.
    package static func sha256(_ bytes: Span<UInt8>) -> [UInt8] {
        // The span holds still until the call is over.
        let words = unsafe bytes.withUnsafeBytes { unsafe Self.words($0) }
        return [words.0, words.1, words.2, words.3].flatMap { word in
            stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: word >> $0) }
        }
    }

    /// The digest of memory that must hold still until the call is over; its first byte is the highest of the first
    /// word. Allocates nothing.
    static func words(_ bytes: UnsafeRawBufferPointer) -> (UInt64, UInt64, UInt64, UInt64) {
        var context = SHA256_CTX()
        var digest: (UInt64, UInt64, UInt64, UInt64) = (0, 0, 0, 0)
        // libcrypto reads what the buffer holds, and writes the 32 bytes that `digest` has. Of the three calls none can
        // fail: "They return 1 on success", and nothing in them allocates.
        unsafe withUnsafeMutableBytes(of: &digest) { target in
            _ = unsafe SHA256_Init(&context)
            _ = unsafe SHA256_Update(&context, bytes.baseAddress, bytes.count)
            _ = unsafe SHA256_Final(target.baseAddress, &context)
        }
        return (
            UInt64(bigEndian: digest.0), UInt64(bigEndian: digest.1), UInt64(bigEndian: digest.2),
            UInt64(bigEndian: digest.3)
        )
    }

    /// HMAC-SHA-256 (RFC 2104): 32 bytes.
    package static func hmac(_ bytes: [UInt8], key: [UInt8]) -> [UInt8] {
        var code = [UInt8](repeating: 0, count: 32)
        // HMAC reads the key and the bytes, and writes the 32 that `code` has room for.
        _ = unsafe HMAC(EVP_sha256(), key, Int32(key.count), bytes, bytes.count, &code, nil)
        return code
    }

    /// Lower-case hexadecimal digits, two a byte.
    package static func hex(_ bytes: some Sequence<UInt8>) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.underestimatedCount * 2)
        for byte in bytes {
            text.append(digit(byte >> 4))
            text.append(digit(byte & 15))
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Of 0 to 15.
    static func digit(_ value: UInt8) -> UInt8 { value < 10 ? value + 48 : value + 87 }
}
