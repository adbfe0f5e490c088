// XXH3 with 64 bits, the checksum of what lies on disk: <https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>.
//
// It guards against accidents (a torn write, a flipped bit, a file of another entry), not against a forger: whoever can
// write in the cache's folder can write a right checksum of any kind. SHA-256 takes 13 µs for 20 KB with the processor's
// own instructions, more than a whole hit may; this takes 0.5.

internal import CXXHash

enum Checksum {
    static func of(_ bytes: [UInt8], seed: UInt64 = 0) -> UInt64 {
        // The array holds still until the call is over.
        unsafe bytes.withUnsafeBytes { unsafe of($0, seed: seed) }
    }

    /// Of memory that must hold still until the call is over.
    static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
        // The library reads these bytes, and none where there are none.
        unsafe framemill_xxh3(bytes.baseAddress, bytes.count, seed)
    }
}
