// A recipe as people and producers type it: the words of the command line and of a job in a queue are the
// same.

extension Recipe.Moment {
    package static let words = "auto, first, seconds such as 1.5, or a share such as 50%"

    package init?(typed text: String) {
        switch text {
        case "auto": self = .auto
        case "first": self = .first
        case _ where text.hasSuffix("%"):
            guard let percent = Number.decimal(String(text.dropLast())), percent <= 100 else { return nil }
            self = .percent(percent)
        default:
            guard let seconds = Number.decimal(text), seconds <= 1e9 else { return nil }
            self = .seconds(seconds)
        }
    }
}

extension Recipe.Box {
    package static let words =
        "a longest side such as 320, a box such as 320x180, or 0 for the source's own size (most: 16384)"

    package init?(typed text: String) {
        let numbers = text.split(separator: "x", omittingEmptySubsequences: false).map {
            Number.whole(String($0))
        }
        switch (numbers.count, numbers.first ?? nil, numbers.last ?? nil) {
        case (1, 0?, _): self = .native
        case (1, let side?, _) where (1...16384).contains(side): self = .longestSide(side)
        case (2, let width?, let height?) where (1...16384).contains(width) && (1...16384).contains(height):
            self = .size(width: width, height: height)
        default: return nil
        }
    }
}

extension Recipe.RGB {
    package init?(typed text: String) {
        let digits = text.hasPrefix("#") ? text.dropFirst() : text[...]
        guard digits.count == 6, digits.allSatisfy(\.isHexDigit), let value = UInt32(digits, radix: 16) else {
            return nil
        }
        self.init(
            red: UInt8(value >> 16), green: UInt8(value >> 8 & 0xFF), blue: UInt8(value & 0xFF))
    }
}

/// Numbers as people type them: digits and one point. No `nan`, no hexadecimal, no sign.
package enum Number {
    package static func whole(_ text: String) -> Int? {
        text.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) } ? Int(text) : nil
    }

    package static func decimal(_ text: String) -> Double? {
        let digits = text.utf8.filter { $0 != UInt8(ascii: ".") }
        guard !digits.isEmpty, text.utf8.count - digits.count <= 1 else { return nil }
        guard digits.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) else { return nil }
        guard let value = Double(text.hasPrefix(".") ? "0" + text : text), value.isFinite else { return nil }
        return value
    }

    /// The text that `decimal` reads, of a number that it gave; to a billionth where that is shorter than an exponent.
    package static func text(_ value: Double) -> String {
        let plain = "\(value)"
        guard value < 1, plain.utf8.contains(UInt8(ascii: "e")) else { return plain }
        let billionths = Int((value * 1e9).rounded())
        guard billionths > 0 else { return "0.0" }
        let digits = String(billionths)
        return "0." + String(repeating: "0", count: max(0, 9 - digits.utf8.count)) + digits
    }
}
