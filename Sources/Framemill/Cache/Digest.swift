internal import CCrypto

/// SHA-256 by libcrypto, which uses the processor's own instructions for it.
package enum Digest {
    /// The 32 bytes of the digest of `bytes`.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] { sha256(bytes.span) }

    /// The same for a part of an array, without a copy of it.
    package static func sha256(_ bytes: Span<UInt8>) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: 32)
        // SHA256 reads `count` bytes, which the span holds, and writes the 32 that the digest has room for.
        unsafe bytes.withUnsafeBufferPointer { source in
            unsafe digest.withUnsafeMutableBufferPointer { target in
                _ = unsafe SHA256(source.baseAddress, source.count, target.baseAddress)
            }
        }
        return digest
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
        let digits = Array("0123456789abcdef".utf8)
        var text: [UInt8] = []
        text.reserveCapacity(bytes.underestimatedCount * 2)
        for byte in bytes {
            text.append(digits[Int(byte >> 4)])
            text.append(digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}
