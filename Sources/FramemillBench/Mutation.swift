/// Random edits of a file, the same ones for the same seed.
struct Mutation {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// One to 16 edits: bits, bytes, extreme numbers, and pieces cut out, doubled or moved; some files end early.
    mutating func edit(_ original: [UInt8]) -> [UInt8] {
        var bytes = original
        for _ in 0..<(1 << below(5)) where !bytes.isEmpty {
            let at = below(bytes.count)
            switch below(8) {
            case 0, 1: bytes[at] ^= 1 << UInt8(below(8))
            case 2: bytes[at] = UInt8(below(256))
            case 3: fill(&bytes, at, with: 0)
            case 4: fill(&bytes, at, with: 255)
            case 5: bytes.removeSubrange(at..<min(bytes.count, at + 1 + below(64)))
            case 6:
                bytes.insert(contentsOf: bytes[at..<min(bytes.count, at + 1 + below(64))], at: below(at + 1))
            default: bytes.swapAt(at, below(bytes.count))
            }
        }
        if below(8) == 0 { bytes.removeLast(below(bytes.count + 1)) }
        return bytes
    }

    /// The numbers of headers are one, two or four bytes long.
    private mutating func fill(_ bytes: inout [UInt8], _ at: Int, with value: UInt8) {
        for index in at..<min(bytes.count, at + (1 << below(3))) { bytes[index] = value }
    }

    /// SplitMix64 (Steele, Lea, Flood 2014).
    private mutating func below(_ bound: Int) -> Int {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return Int((mixed ^ mixed >> 31) % UInt64(max(1, bound)))
    }
}
