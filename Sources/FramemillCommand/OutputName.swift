import FramemillMedia

/// File names that tell a person what they are, never collide and never leave the directory.
///
/// The last part of the path in plain ASCII, then 16 hex digits of the key of URL and recipe: equal jobs
/// share a file, others do not, whatever their names are.
enum OutputName {
    static let longestStem = 80

    static func make(url: String, key: String, format: Recipe.OutputFormat) -> String {
        "\(stem(of: url))-\(key).\(format.fileExtension)"
    }

    /// ASCII letters, digits, `.`, `_` and `-`; begins with none of the last three.
    static func stem(of url: String) -> String {
        var path = Substring(url)
        if let scheme = path.range(ofText: "://") {
            path = path[scheme...]
            path = path.prefix { $0 != "?" && $0 != "#" }
            path = path.firstIndex(of: "/").map { path[$0...] } ?? ""
        }
        var last = path.split(separator: "/").last ?? ""
        if let dot = last.lastIndex(of: "."), last.distance(from: dot, to: last.endIndex) <= 6 {
            last = last[..<dot]
        }
        var stem = ""
        var bytes = Array(last.utf8)[...]
        while let byte = bytes.popFirst(), stem.utf8.count < longestStem {
            let isPercent = byte == UInt8(ascii: "%") && bytes.prefix(2).count(where: \.isHexDigit) == 2
            if isPercent { bytes = bytes.dropFirst(2) }
            let kept = byte.isNameByte ? Character(Unicode.Scalar(byte)) : "-"
            if kept == "-" || kept == ".", stem.isEmpty || stem.last == "-" || stem.last == "." { continue }
            if kept == "_", stem.isEmpty { continue }
            stem.append(kept)
        }
        while stem.last == "-" || stem.last == "." { stem.removeLast() }
        return stem.isEmpty ? "cover" : stem
    }
}

extension UInt8 {
    fileprivate var isHexDigit: Bool { Character(Unicode.Scalar(self)).isHexDigit }
    fileprivate var isNameByte: Bool {
        switch Character(Unicode.Scalar(self)) {
        case "a"..."z", "A"..."Z", "0"..."9", ".", "_", "-": self < 0x80
        default: false
        }
    }
}

extension Substring {
    /// Where the text behind the first `text` begins.
    fileprivate func range(ofText text: String) -> Index? {
        var rest = self
        while let start = rest.firstIndex(of: text.first!) {
            rest = rest[start...]
            if rest.hasPrefix(text) { return rest.index(start, offsetBy: text.count) }
            rest = rest.dropFirst()
        }
        return nil
    }
}
