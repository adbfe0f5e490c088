// Links that are signed differ from one day to the next and lead to the same bytes. What is listed here is left out of
// the cache key and of the URL that the cache lists; the link that is fetched is always whole.
//
// Off unless asked for: only who knows a host knows that a parameter called `Expires` or `sig` changes no byte there.
// Names are compared as they stand in the link, in their case and undecoded: one that is missed costs a second fetch,
// one too many would show the wrong picture.

package import FramemillMedia

/// Query parameters that a kind of link carries beside what names the bytes.
public enum QueryPreset: String, Sendable, Hashable, CaseIterable {
    /// Presigned links of Amazon S3 (both signature versions) and of what speaks its protocol.
    case aws
    /// Signed links of Google Cloud Storage (both signature versions).
    case google
    /// Shared access signatures of Azure Storage.
    case azure
    /// Signed links of Amazon CloudFront.
    case cloudfront
    /// Marks of campaigns and clicks: `utm_*`, `gclid`, `fbclid`, `msclkid`.
    case campaign

    /// As `Configuration.ignoredQuery` has them. Nothing that selects or changes bytes is among them: S3's `versionId`
    /// and `partNumber`, Google's `generation`, Azure's `snapshot` and `versionid`, the `response-…` overrides of all.
    public var names: [String] {
        switch self {
        case .aws: ["X-Amz-*", "AWSAccessKeyId", "Signature", "Expires"]
        case .google: ["X-Goog-*", "GoogleAccessId", "Signature", "Expires"]
        case .azure:
            [
                "sig", "sv", "ss", "srt", "sp", "st", "se", "sip", "spr", "sr", "si", "sdd", "ses", "skoid",
                "sktid",
                "skt", "ske", "sks", "skv", "saoid", "suoid", "scid",
            ]
        case .cloudfront: ["Expires", "Signature", "Key-Pair-Id", "Policy", "Hash-Algorithm"]
        case .campaign: ["utm_*", "gclid", "fbclid", "msclkid"]
        }
    }
}

/// The list of a `Configuration`, read.
package struct IgnoredQuery: Sendable {
    private var names: Set<String> = []
    private var prefixes: [String] = []

    package static let nothing = IgnoredQuery()

    private init() {}

    /// - Parameter list: names, or beginnings of names with a `*` behind them.
    /// - Throws: `badOption` for what is no name.
    package init(_ list: [String], _ presets: some Sequence<QueryPreset> = []) throws(Failure) {
        for name in list + presets.flatMap(\.names) {
            let isPrefix = name.hasSuffix("*")
            let bare = isPrefix ? String(name.dropLast()) : name
            guard !bare.isEmpty, !bare.contains(where: { "*&=#? \t".contains($0) }) else {
                throw Failure(
                    .badOption, .input,
                    "\(name) is no name of a query parameter; it takes a name such as sig, or the start of one and "
                        + "a star, such as X-Amz-*")
            }
            if isPrefix { prefixes.append(bare) } else { names.insert(bare) }
        }
    }

    package var isNothing: Bool { names.isEmpty && prefixes.isEmpty }

    /// `url`, in its canonical form, without what is listed; the order of the rest stays.
    package func reduced(_ url: String) -> String {
        guard !isNothing, let mark = url.firstIndex(of: "?") else { return url }
        let parts = url[url.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
        let kept = parts.filter { !lists($0.prefix { $0 != "=" }) }
        guard kept.count < parts.count else { return url }
        return url[..<mark] + (kept.isEmpty ? "" : "?" + kept.joined(separator: "&"))
    }

    private func lists(_ name: Substring) -> Bool {
        names.contains(String(name)) || prefixes.contains { name.hasPrefix($0) }
    }
}

extension Location {
    /// What the cache knows the source by. A file's name is all of its path.
    func identity(_ ignored: IgnoredQuery) -> String {
        if case .file = self { return canonical }
        return ignored.reduced(canonical)
    }
}

extension Request {
    /// As `canonicalURL`, without what the cache does not look at.
    package func identity(_ ignored: IgnoredQuery) -> String {
        // As there.
        (try? Location(url).identity(ignored)) ?? url
    }

    /// What the key hashes: of a local file also how it is now, for which the disk is asked.
    package func identityNow(_ ignored: IgnoredQuery) -> String {
        // As there.
        guard let location = try? Location(url), case .file(let path) = location else {
            return identity(ignored)
        }
        return Fetcher.identity(ofFile: path, location)
    }
}
