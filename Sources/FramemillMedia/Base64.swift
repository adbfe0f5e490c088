/// RFC 4648, section 4, with padding. Foundation's lives behind Data, and would be all that pulls it in.
package enum Base64 {
    private static let letters = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    package static func text(_ bytes: [UInt8]) -> String {
        var out: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let word = group.reduce(0) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for place in 0..<4 {
                out.append(
                    place <= group.count
                        ? letters[Int(word >> UInt32(18 - 6 * place) & 63)] : UInt8(ascii: "="))
            }
        }
        return String(decoding: out, as: UTF8.self)
    }

    /// The bytes that a text stands for; `nil` for what `text` does not write, but for padding that is left out.
    package static func bytes(_ text: String) -> [UInt8]? {
        var digits = Array(text.utf8)
        if digits.count % 4 == 0 {
            while digits.last == UInt8(ascii: "="), digits.count % 4 != 2 { digits.removeLast() }
        }
        guard digits.count % 4 != 1 else { return nil }
        var bytes: [UInt8] = []
        var (word, bits) = (UInt32(0), UInt32(0))
        for digit in digits {
            guard let value = letters.firstIndex(of: digit) else { return nil }
            word = word << 6 | UInt32(value)
            bits += 6
            guard bits >= 8 else { continue }
            bits -= 8
            bytes.append(UInt8(truncatingIfNeeded: word >> bits))
            word &= 1 << bits - 1
        }
        return word == 0 ? bytes : nil
    }
}
