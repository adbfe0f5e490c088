// XXH64, the checksum of what lies on disk: <https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md>.
//
// It guards against accidents (a torn write, a flipped bit, a file of another entry), not against a forger:
// whoever can write in the cache's folder can write a right checksum of any kind. SHA-256 takes 13 µs for 20
// KB with the processor's own instructions, more than a whole hit may; this takes 2.

enum Checksum {
    private static let p1: UInt64 = 0x9E37_79B1_85EB_CA87
    private static let p2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
    private static let p3: UInt64 = 0x1656_67B1_9E37_79F9
    private static let p4: UInt64 = 0x85EB_CA77_C2B2_AE63
    private static let p5: UInt64 = 0x27D4_EB2F_1656_67C5

    static func of(_ bytes: [UInt8], seed: UInt64 = 0) -> UInt64 {
        // The array holds still until the call is over.
        unsafe bytes.withUnsafeBytes { unsafe of($0, seed: seed) }
    }

    /// Of memory that must hold still until the call is over.
    static func of(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
        var at = 0
        // Each load below is guarded by the condition of its loop: it ends within the buffer.
        func word(_ offset: Int) -> UInt64 {
            unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        let count = bytes.count
        var hash: UInt64
        if count >= 32 {
            var (v1, v2, v3, v4) = (seed &+ p1 &+ p2, seed &+ p2, seed, seed &- p1)
            while at <= count - 32 {
                v1 = round(v1, word(at))
                v2 = round(v2, word(at + 8))
                v3 = round(v3, word(at + 16))
                v4 = round(v4, word(at + 24))
                at += 32
            }
            hash = turn(v1, 1) &+ turn(v2, 7) &+ turn(v3, 12) &+ turn(v4, 18)
            hash = merge(merge(merge(merge(hash, v1), v2), v3), v4)
        } else {
            hash = seed &+ p5
        }
        hash &+= UInt64(count)
        while at <= count - 8 {
            hash = turn(hash ^ round(0, word(at)), 27) &* p1 &+ p4
            at += 8
        }
        if at <= count - 4 {
            let four = unsafe UInt32(
                littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: UInt32.self))
            hash = turn(hash ^ UInt64(four) &* p1, 23) &* p2 &+ p3
            at += 4
        }
        while at < count {
            hash = turn(hash ^ UInt64(unsafe bytes[at]) &* p5, 11) &* p1
            at += 1
        }
        hash = (hash ^ hash >> 33) &* p2
        hash = (hash ^ hash >> 29) &* p3
        return hash ^ hash >> 32
    }

    private static func turn(_ value: UInt64, _ bits: UInt64) -> UInt64 {
        value << bits | value >> (64 - bits)
    }
    private static func round(_ lane: UInt64, _ word: UInt64) -> UInt64 {
        turn(lane &+ word &* p2, 31) &* p1
    }
    private static func merge(_ hash: UInt64, _ lane: UInt64) -> UInt64 {
        (hash ^ round(0, lane)) &* p1 &+ p4
    }
}
