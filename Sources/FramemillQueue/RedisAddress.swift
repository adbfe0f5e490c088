public import FramemillMedia

/// Where a Redis (or Valkey) is: `redis://[[USER]:PASSWORD@]HOST[:PORT][/DB]` or
/// `unix://[[USER]:PASSWORD@]/PATH[?db=N]`.
public struct RedisAddress: Sendable, Equatable {
    public enum Place: Sendable, Equatable {
        case host(String, port: Int)
        case socket(path: String)
    }
    public var place: Place
    public var user: String?
    public var password: String?
    public var database: Int = 0

    /// - Throws: `badOption`, without the password in its words.
    public init(_ text: String) throws(Failure) {
        guard let scheme = ["redis://", "unix://"].first(where: { text.hasPrefix($0) }) else {
            throw Self.refused("it begins with redis:// or unix:// (TLS is not spoken)")
        }
        var rest = Substring(text.dropFirst(scheme.count))
        if let at = rest.lastIndex(of: "@") {
            let words = rest[..<at]
            rest = rest[rest.index(after: at)...]
            guard let colon = words.firstIndex(of: ":") else {
                throw Self.refused("in front of @ stands :PASSWORD or USER:PASSWORD")
            }
            user = words[..<colon].isEmpty ? nil : try Self.decoded(words[..<colon])
            password = try Self.decoded(words[words.index(after: colon)...])
        }
        let number: Substring
        if scheme == "unix://" {
            let parts = rest.split(separator: "?", maxSplits: 1)
            guard let path = parts.first, path.hasPrefix("/") else {
                throw Self.refused("the path begins with /")
            }
            place = .socket(path: String(path))
            guard parts.count < 2 || parts[1].hasPrefix("db=") else {
                throw Self.refused("behind ? stands db=N alone")
            }
            number = parts.count > 1 ? parts[1].dropFirst(3) : ""
            guard parts.count < 2 || !number.isEmpty else { throw Self.refused("db= wants a number") }
        } else {
            let parts = rest.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            place = try Self.endpoint(parts[0])
            number = parts.count > 1 ? parts[1] : ""
        }
        if !number.isEmpty {
            guard let database = Number.whole(String(number)), database < 1 << 20 else {
                throw Self.refused("the database is a number")
            }
            self.database = database
        }
    }

    /// For messages: no user, no password.
    public var displayName: String {
        switch place {
        case .host(let host, let port):
            "redis://\(host.contains(":") ? "[\(host)]" : host):\(port)/\(database)"
        case .socket(let path): "unix://\(path)"
        }
    }

    private static func endpoint(_ text: Substring) throws(Failure) -> Place {
        var (host, port) = (text, Substring(""))
        if text.hasPrefix("["), let end = text.firstIndex(of: "]") {
            host = text[..<end].dropFirst()
            let behind = text[text.index(after: end)...]
            guard behind.isEmpty || behind.hasPrefix(":") else { throw refused("the host is not understood") }
            port = behind.dropFirst()
        } else if let colon = text.lastIndex(of: ":") {
            (host, port) = (text[..<colon], text[text.index(after: colon)...])
        }
        guard !host.isEmpty else { throw refused("the host is missing") }
        guard let number = port.isEmpty ? 6379 : Number.whole(String(port)), (1...65535).contains(number)
        else {
            throw refused("the port is a number from 1 to 65535")
        }
        return .host(String(host), port: number)
    }

    /// `%40` is `@`.
    private static func decoded(_ text: Substring) throws(Failure) -> String {
        var bytes: [UInt8] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard rest.count >= 2,
                let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
            else { throw refused("a % in the password is written %25") }
            bytes.append(value)
            rest = rest.dropFirst(2)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func refused(_ words: String) -> Failure {
        Failure(
            .badOption, .input,
            "the queue's address is not understood: \(words); right is redis://[:PASSWORD@]HOST[:PORT][/DB]")
    }
}
