/// The directives of one `Cache-Control` field (RFC 9111, 5.2) that matter to a cache of one principal.
///
/// We are a private cache: no credentials of a caller go out, so an answer marked `private` belongs to whoever runs
/// us, and `s-maxage` speaks to others.
struct CacheControl: Equatable {
    /// "Cache recipients are encouraged to consider responses that have invalid freshness information … to be
    /// stale" (4.2.1): 0 then.
    private(set) var maxAge: Int?
    private(set) var staleWhileRevalidate: Int?
    private(set) var staleIfError: Int?
    private(set) var noStore = false
    /// The form that names fields is taken for the whole, as 5.2.2.4 allows.
    private(set) var noCache = false
    private(set) var mustRevalidate = false

    init(_ text: String = "") {
        for part in Self.parts(of: text) {
            let pair = part.split(separator: "=", maxSplits: 1)
            let value = pair.count > 1 ? pair[1].filter { $0 != "\"" && $0 != " " } : ""
            switch pair.first.map({ $0.filter { $0 != " " && $0 != "\t" }.lowercased() }) ?? "" {
            // "Either the first occurrence should be used or the response should be considered stale" (4.2.1).
            case "max-age": maxAge = maxAge ?? Self.seconds(value) ?? 0
            case "stale-while-revalidate": staleWhileRevalidate = Self.seconds(value)
            case "stale-if-error": staleIfError = Self.seconds(value)
            case "no-store": noStore = true
            case "no-cache": noCache = true
            case "must-revalidate": mustRevalidate = true
            default: break
            }
        }
    }

    /// Delta-seconds; what is too large for anyone to wait for is a lifetime of 68 years (1.2.2).
    static func seconds(_ text: String) -> Int? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return min(Int(text) ?? .max, 1 << 31)
    }

    /// Split at commas, but not at those inside quotes.
    private static func parts(of text: String) -> [Substring] {
        var isQuoted = false
        return text.split { character in
            if character == "\"" { isQuoted.toggle() }
            return character == "," && !isQuoted
        }
    }
}
