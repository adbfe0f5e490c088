// A URL is read once, here, and its parts are what everybody else gets: the guard, curl, the cache key and
// messages. A second parser that reads another host out of the same text would make the guard void, so
// whatever two parsers might read differently (backslashes, control characters, two `@`, escapes in the host)
// is refused.
//
// What is already encoded goes on the wire byte for byte; raw spaces and non-ASCII are encoded once. Nothing
// is ever decoded for the wire.

internal import FoundationEssentials
internal import FramemillMedia

/// Where the bytes of a source are.
enum Location: Sendable, Hashable {
    case file(path: String)
    case http(Web)

    /// An `http` or `https` address, in parts.
    struct Web: Sendable, Hashable {
        /// `http` or `https`.
        var scheme: String
        /// ASCII, lower case; an IPv6 address in its brackets.
        var host: String
        var port: Int
        /// Path and query as they go on the wire; starts with `/`.
        var target: String
    }
}

extension Location {
    /// Reads what a caller wrote: `http`, `https`, `file:` or a plain path, whose percent signs mean
    /// themselves.
    init(_ text: String) throws(Failure) {
        let text = Self.trimmed(text)
        guard !text.isEmpty else { throw Failure(.badURL, .input, "the URL is empty") }
        guard let scheme = Self.scheme(of: text) else {
            self = try Self.plainPath(text)
            return
        }
        let rest = text[scheme.endIndex...].droppingBytes(1)
        switch scheme.lowercased() {
        case "http", "https":
            guard rest.begins(with: "//") else {
                throw Failure(.badURL, .input, "\(scheme): must be followed by // and a host")
            }
            self = .http(try Web(scheme: scheme.lowercased(), rest.droppingBytes(2)))
        case "file":
            self = try Self.fileURL(rest)
        default:
            // `take:2.mp4` is a file name; `ftp://…` and `data:…` are not.
            guard
                rest.begins(with: "//")
                    || ["data", "blob", "javascript", "mailto"].contains(scheme.lowercased())
            else {
                self = try Self.plainPath(text)
                return
            }
            throw Failure(
                .badURL, .input, "\(scheme): is not supported; http, https, file and local paths are")
        }
    }

    /// The text that the cache key hashes: one for all spellings that surely mean the same bytes.
    var canonical: String {
        switch self {
        case .file(let path): Self.absolute(path)
        case .http(let web): web.canonical
        }
    }

    /// For messages and logs: no query, no user, no password.
    var displayName: String {
        switch self {
        case .file(let path): path
        case .http(let web): web.origin + web.target.prefix { $0 != "?" }
        }
    }

    /// `.` and empty segments go; `..` stays, since what it leads to depends on links.
    private static func absolute(_ path: String) -> String {
        let full = path[...].begins(with: "/") ? path : FileManager.default.currentDirectoryPath + "/" + path
        return "/"
            + full.utf8.split(separator: UInt8(ascii: "/")).map { Substring($0) }.filter { $0 != "." }.joined(
                separator: "/")
    }

    private static func trimmed(_ text: String) -> String {
        func isPadding(_ scalar: Unicode.Scalar) -> Bool {
            scalar.properties.isWhitespace || scalar == "\u{FEFF}"
        }
        let scalars = text.unicodeScalars
        guard let last = scalars.lastIndex(where: { !isPadding($0) }) else { return "" }
        return String(scalars[...last].drop(while: isPadding))
    }

    /// RFC 3986, 3.1: a letter, then letters, digits, `+`, `-` and `.`, up to a colon.
    private static func scheme(of text: String) -> Substring? {
        guard let colon = text.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
        let name = text[..<colon]
        let fits = name.utf8.allSatisfy { $0.isAlphanumeric || "+-.".utf8.contains($0) }
        guard fits, let first = name.utf8.first, first.isAlphanumeric, !first.isDigit else { return nil }
        return name
    }

    private static func plainPath(_ path: String) throws(Failure) -> Location {
        guard !path.utf8.contains(0) else { throw Failure(.badURL, .input, "the path contains a NUL") }
        return .file(path: path)
    }

    private static func fileURL(_ rest: Substring) throws(Failure) -> Location {
        var path = rest
        if rest.begins(with: "//") {
            path = rest.droppingBytes(2)
            if path.before("/").lowercased() == "localhost" {
                path = path.droppingBytes("localhost".utf8.count)
            }
        }
        guard path.begins(with: "/") else {
            throw Failure(
                .badURL, .input, "file: takes an absolute path on this machine, as in file:///videos/a.mp4")
        }
        var bytes: [UInt8] = []
        var input = Array(path.utf8)[...]
        while let byte = input.popFirst() {
            if byte == UInt8(ascii: "%"), let value = input.leadingHexPair {
                bytes.append(value)
                input = input.dropFirst(2)
            } else {
                bytes.append(byte)
            }
        }
        guard let decoded = String(validating: bytes, as: UTF8.self) else {
            throw Failure(
                .badURL, .input, "the file URL is not UTF-8 once decoded; rename the file")
        }
        return try plainPath(decoded)
    }
}

extension Location.Web {
    /// Reads what follows `scheme://`.
    init(scheme: String, _ text: Substring) throws(Failure) {
        for scalar in text.unicodeScalars where scalar.value < 0x20 || scalar.value == 0x7F || scalar == "\\"
        {
            let what = scalar == "\\" ? "a backslash" : "a control character"
            throw Failure(.badURL, .input, "the URL contains \(what); write it as %5C or %XX if it is meant")
        }
        let authority = text.before("/?#")
        (host, port) = try Self.endpoint(authority, defaultPort: scheme == "https" ? 443 : 80)
        self.scheme = scheme
        let tail = text[authority.endIndex...].before("#")
        target = Self.encoded(tail.begins(with: "/") ? String(tail) : "/" + tail)
    }

    /// Where a `Location` header leads (RFC 3986, 5.2).
    func following(_ reference: String) throws(Failure) -> Location {
        let text = reference[...].before("#")
        let head = text.before("/?")
        if head.utf8.contains(UInt8(ascii: ":")) {
            guard case .http(let web) = try Location(String(text)) else {
                throw Failure(.blockedAddress, .fetch, "redirected to something other than http or https")
            }
            return .http(web)
        }
        if text.begins(with: "//") { return .http(try Self(scheme: scheme, text.droppingBytes(2))) }
        if text.begins(with: "/") { return .http(try Self(scheme: scheme, authority + text)) }
        let path = target.prefix { $0 != "?" }
        if text.begins(with: "?") { return .http(try Self(scheme: scheme, authority + path + text)) }
        if text.isEmpty { return .http(self) }
        let folder = path[...path.lastIndex(of: "/")!]
        let query = text[text.before("?").endIndex...]
        let merged = Self.withoutDots(String(folder + text[..<query.startIndex]))
        return .http(try Self(scheme: scheme, authority + merged + query))
    }

    /// `host` or `host:port`, as the URL given to curl names it.
    private var authority: Substring {
        port == (scheme == "https" ? 443 : 80) ? host[...] : "\(host):\(port)"
    }

    /// Scheme and authority, without a path.
    var origin: String { "\(scheme)://\(authority)" }

    /// Default port, fragment and dot segments gone; hex in capitals. The query stays as it is, in its order.
    var canonical: String {
        let path = target.prefix { $0 != "?" }
        let text = origin + Self.withoutDots(String(path)) + target[path.endIndex...]
        var bytes = Array(text.utf8)
        for index in bytes.indices where bytes[index] == UInt8(ascii: "%") {
            for digit in bytes.indices.clamped(to: index + 1..<index + 3)
            where bytes[digit] >= UInt8(ascii: "a") {
                bytes[digit] -= 32
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func endpoint(_ authority: Substring, defaultPort: Int) throws(Failure) -> (String, Int) {
        guard !authority.utf8.contains(UInt8(ascii: "@")) else {
            throw Failure(
                .badURL, .input, "a user, a password or a second @ in front of the host is not supported")
        }
        var name = authority
        var port = defaultPort
        let afterBracket = authority.utf8.lastIndex(of: UInt8(ascii: "]")) ?? authority.startIndex
        if let colon = authority[afterBracket...].utf8.firstIndex(of: UInt8(ascii: ":")) {
            name = authority[..<colon]
            let digits = authority[colon...].droppingBytes(1)
            guard digits.utf8.allSatisfy(\.isDigit), let number = digits.isEmpty ? defaultPort : Int(digits),
                (1...65535).contains(number)
            else { throw Failure(.badURL, .input, "the port is not a number from 1 to 65535") }
            port = number
        }
        if name.begins(with: "[") {
            guard name.utf8.last == UInt8(ascii: "]"), name.utf8.allSatisfy({ $0 < 0x80 }),
                AddressGuard.isIPv6(name.dropFirst().dropLast())
            else {
                throw Failure(.badURL, .input, "the brackets hold no IPv6 address")
            }
            return (name.lowercased(), port)
        }
        guard let host = Punycode.ascii(host: String(name)), !host.isEmpty, host.utf8.count <= 253,
            host.utf8.allSatisfy({ $0.isAlphanumeric || "-._".utf8.contains($0) })
        else {
            throw Failure(
                .badURL, .input, name.isEmpty ? "the URL has no host" : "the host is not a host name")
        }
        // RFC 6761, 6.3: the same name as without the dot; resolvers that ask DNS for it don't know that.
        return (host == "localhost." ? "localhost" : host, port)
    }

    /// Encodes what may not stand raw in a request line, once. A `%` that starts no escape becomes `%25`.
    private static func encoded(_ text: String) -> String {
        var output: [UInt8] = []
        var input = Array(text.utf8)[...]
        var isQuery = false
        while let byte = input.popFirst() {
            if byte == UInt8(ascii: "?") { isQuery = true }
            let isEscape = byte == UInt8(ascii: "%") && input.leadingHexPair != nil
            let mustEncode =
                byte <= 0x20 || byte >= 0x7F || "\"<>".utf8.contains(byte)
                || !isQuery && "`{}".utf8.contains(byte)
            if isEscape || byte != UInt8(ascii: "%") && !mustEncode {
                output.append(byte)
            } else {
                let digits = Array("0123456789ABCDEF".utf8)
                output += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: output, as: UTF8.self)
    }
}

extension Location.Web {
    /// RFC 3986, 5.2.4, for a path that starts with `/`.
    static func withoutDots(_ path: String) -> String {
        var kept: [Substring] = []
        let segments = path.utf8.dropFirst().split(
            separator: UInt8(ascii: "/"), omittingEmptySubsequences: false
        ).map { Substring($0) }
        for (index, segment) in segments.enumerated() {
            let isLast = index == segments.count - 1
            switch segment {
            case ".": if isLast { kept.append("") }
            case "..":
                _ = kept.popLast()
                if isLast { kept.append("") }
            default: kept.append(segment)
            }
        }
        return "/" + kept.joined(separator: "/")
    }
}

extension UInt8 {
    fileprivate var isDigit: Bool { self >= 48 && self <= 57 }
    fileprivate var isAlphanumeric: Bool { isDigit || self | 32 >= 97 && self | 32 <= 122 }
    fileprivate var hexValue: UInt8? {
        if isDigit { return self - 48 }
        return self | 32 >= 97 && self | 32 <= 102 ? (self | 32) - 87 : nil
    }
}

extension ArraySlice<UInt8> {
    /// The value of the two hex digits in front, if there are two.
    fileprivate var leadingHexPair: UInt8? {
        guard count >= 2, let high = self[startIndex].hexValue, let low = self[startIndex + 1].hexValue else {
            return nil
        }
        return high << 4 | low
    }
}
