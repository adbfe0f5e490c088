// Why our own: curl hands a host of other scripts to libidn2 in the process's locale, and in a container that
// is "C", where every such name fails.

/// Host names of any script in the ASCII form that DNS knows (RFC 3492, with IDNA's dots).
enum Punycode {
    /// `bücher.example` becomes `xn--bcher-kva.example`; ASCII stays as it is, in lower case. `nil` on
    /// overflow.
    static func ascii(host: String) -> String? {
        // IDNA2003, 3.1: these three are label separators like the full stop.
        let dots: Set<Unicode.Scalar> = [".", "\u{3002}", "\u{FF0E}", "\u{FF61}"]
        var labels: [String] = []
        for label in host.lowercased().unicodeScalars.split(
            omittingEmptySubsequences: false, whereSeparator: dots.contains)
        {
            if label.allSatisfy(\.isASCII) {
                labels.append(String(label))
            } else if let encoded = encode(label.map(\.value)) {
                labels.append("xn--" + encoded)
            } else {
                return nil
            }
        }
        return labels.joined(separator: ".")
    }

    /// RFC 3492, 6.3, with the parameters of section 5.
    private static func encode(_ label: [UInt32]) -> String? {
        var output = label.filter { $0 < 0x80 }.map { UInt8($0) }
        let basic = UInt32(output.count)
        if basic > 0 { output.append(UInt8(ascii: "-")) }
        // A DNS label has at most 63 bytes, so the sums below can't overflow 32 bits.
        guard label.count <= 63 else { return nil }
        var (code, delta, bias, handled) = (UInt32(128), UInt32(0), UInt32(72), basic)
        while handled < label.count {
            guard let next = label.filter({ $0 >= code }).min() else { return nil }
            delta += (next - code) * (handled + 1)
            code = next
            for scalar in label {
                if scalar < code { delta += 1 }
                guard scalar == code else { continue }
                appendVariableLength(delta, bias: bias, to: &output)
                bias = adapted(delta, handled + 1, isFirst: handled == basic)
                delta = 0
                handled += 1
            }
            delta += 1
            code += 1
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func appendVariableLength(_ delta: UInt32, bias: UInt32, to output: inout [UInt8]) {
        var rest = delta
        var position: UInt32 = 36
        while true {
            let threshold = position <= bias ? 1 : min(26, position - bias)
            guard rest >= threshold else { break }
            output.append(digit(threshold + (rest - threshold) % (36 - threshold)))
            rest = (rest - threshold) / (36 - threshold)
            position += 36
        }
        output.append(digit(rest))
    }

    private static func digit(_ value: UInt32) -> UInt8 {
        UInt8(value < 26 ? value + 97 : value - 26 + 48)
    }

    private static func adapted(_ delta: UInt32, _ points: UInt32, isFirst: Bool) -> UInt32 {
        var delta = isFirst ? delta / 700 : delta / 2
        delta += delta / points
        var steps: UInt32 = 0
        while delta > 455 {
            delta /= 35
            steps += 36
        }
        return steps + 36 * delta / (delta + 38)
    }
}
