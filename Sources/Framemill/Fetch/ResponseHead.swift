internal import FramemillMedia
internal import Glibc

/// The status line and the headers of one response, as they come in.
struct ResponseHead: Sendable {
    private(set) var status = 0
    private(set) var isComplete = false
    private var fields: [String: String] = [:]

    subscript(name: String) -> String? { fields[name] }

    /// Takes one line as curl hands it out, ended by CRLF or LF. A new status line starts afresh (1xx before
    /// 2xx).
    mutating func take(_ line: String) {
        if isComplete { return }  // Trailers after the body.
        let line = line.prefix { !$0.isNewline }
        if line.isEmpty {
            isComplete = status >= 200
        } else if line.hasPrefix("HTTP/") {
            self = ResponseHead()
            status = line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        } else if let colon = line.firstIndex(of: ":") {
            let value = line[colon...].dropFirst().drop { $0 == " " || $0 == "\t" }
            let name = line[..<colon].lowercased()
            // Lists may come in several lines (RFC 9110, 5.3).
            if ["cache-control", "vary"].contains(name), let before = fields[name] {
                fields[name] = "\(before), \(value)"
            } else {
                fields[name] = String(value)
            }
        }
    }

    var isRedirect: Bool { [301, 302, 303, 307, 308].contains(status) && self["location"] != nil }

    /// `nil` for what no source can have.
    var length: Int64? {
        self["content-length"].flatMap { Int64($0) }.flatMap {
            (0..<BlockStore.farthest).contains($0) ? $0 : nil
        }
    }

    /// A year; more is a slip, and would overflow as milliseconds.
    private static let longestWaitSeconds = 31_536_000

    /// Seconds of `Retry-After`, which names them or a date (RFC 9110, 10.2.3); a date that has passed is 0.
    /// - Parameter now: seconds since 1970.
    func retryAfterSeconds(now: Int = time(nil)) -> Int? {
        guard let text = self["retry-after"]?.filter({ $0 != "\t" }) else { return nil }
        if let seconds = Int(text.filter { $0 != " " }) {
            return seconds >= 0 ? min(seconds, Self.longestWaitSeconds) : nil
        }
        return HTTPDate.seconds(text).map { min(max(0, $0 - now), Self.longestWaitSeconds) }
    }

    /// `bytes 0-99/1000`, with `nil` for a total of `*`; `nil` when the header is absent or makes no sense.
    var contentRange: (range: Range<Int64>, total: Int64?)? {
        guard let value = self["content-range"], value.lowercased().hasPrefix("bytes") else { return nil }
        let parts = value.dropFirst(5).drop { $0 == " " || $0 == "=" }.split(separator: "/")
        guard parts.count == 2 else { return nil }
        let ends = parts[0].split(separator: "-").map { Int64($0) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first >= 0, last >= first,
            last < BlockStore.farthest
        else { return nil }
        let total = Int64(parts[1].filter { $0 != " " })
        guard total != nil || parts[1].hasPrefix("*"), last < total ?? .max,
            total ?? 0 <= BlockStore.farthest
        else { return nil }
        return (first..<last + 1, total)
    }

    /// The total of `bytes */1000`, which comes with 416.
    var unsatisfiedTotal: Int64? {
        self["content-range"].flatMap { value in value.split(separator: "/").last.flatMap { Int64($0) } }
    }

    /// What tells this version of the source from another, for comparing.
    var version: String? { self["etag"] ?? self["last-modified"] }

    /// RFC 9110, 13.1.5: "A client MUST NOT generate an If-Range header field containing an entity tag that
    /// is marked as weak."
    var strongValidator: String? {
        guard let tag = self["etag"] else { return self["last-modified"] }
        return tag.hasPrefix("W/") ? nil : tag
    }

    /// The failure that a status stands for; `nil` for those that bring bytes or say that there are none, or no others.
    func failure(at name: String, isConditional: Bool = false) -> Failure? {
        switch status {
        case 304 where isConditional: return nil
        case 200..<300, 416: return encodingFailure(at: name)
        case 400...599:
            let wait = status == 429 || status == 503 ? retryAfterSeconds() : nil
            return Failure(.http(status), .fetch, "\(name) answered \(status)", retryAfterSeconds: wait)
        default:
            return Failure(.badResponse, .fetch, "\(name) answered \(status), which leads nowhere")
        }
    }

    private func encodingFailure(at name: String) -> Failure? {
        guard let encoding = self["content-encoding"]?.lowercased(), encoding != "identity", !encoding.isEmpty
        else { return nil }
        return Failure(
            .badResponse, .fetch, "\(name) sent its bytes packed (\(encoding)), which was not asked for")
    }
}
