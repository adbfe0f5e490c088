// What a producer puts into the queue. In JSON it is one flat object, so that any language can write it:
//
//     {"url": "https://example.org/clip.mp4", "size": "480x270", "format": "webp", "priority": "prefetch"}
//
// Only `url` must be there. The names of the recipe are the option names of the command line, and their
// values are typed as there (`"size": 320` and `"size": "320"` are the same). An unknown name is refused: a
// slip of the pen would otherwise make another picture than was asked for. README.md lists all names.

public import FramemillMedia

/// One picture to be made by whichever worker comes first.
public struct Job: Sendable, Equatable {
    /// The newest version of the JSON that this worker reads; a job without `schema` is version 1.
    public static let schema = 1

    /// Tells this job from all others, in logs and results too; made up where the producer gives none.
    public var id: String
    public var url: String
    /// Other places of the same bytes, tried in order.
    public var mirrors: [String] = []
    public var recipe: Recipe
    /// `backfill` where the producer gives none.
    public var priority: Priority
    /// Idempotency: while a job with this key waits, runs or lies with the dead ones, no second one is added.
    public var key: String?
    /// Seconds since 1970 before which it is not started.
    public var notBefore: Double?
    /// Its deadline: seconds since 1970 after which nobody wants it any more. A job found later fails with
    /// `timeout`. Not to be mixed up with `Limits.deadline`, which bounds the work on one picture.
    public var notAfter: Double?
    /// Where the outcome is posted to.
    public var callback: String?
    /// The producer's own words, handed back with the outcome and read by nobody.
    public var data: String?

    public init(
        _ url: String, recipe: Recipe = Recipe(), priority: Priority = .backfill, id: String = Job.freshID()
    ) {
        self.id = id
        self.url = url
        self.recipe = recipe
        self.priority = priority
    }

    public var request: Request { Request(url, mirrors: mirrors, recipe: recipe, priority: priority) }

    /// 32 hex digits, by chance alone.
    public static func freshID() -> String {
        func half() -> String {
            let digits = String(UInt64.random(in: .min ... .max), radix: 16)
            return String(repeating: "0", count: 16 - digits.count) + digits
        }
        return half() + half()
    }

    /// Who is asked for the bytes: the host name in lower case, without user and port; empty where there is
    /// none.
    public var host: String { Self.host(of: url) }

    /// As above. What is refused later only needs a name here; `Scripts.swift` has the same in Lua.
    static func host(of url: String) -> String {
        let bytes = Array(url.utf8)
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")),
            bytes.dropFirst(colon + 1).starts(with: "//".utf8)
        else { return "" }
        var authority = bytes[(colon + 3)...].prefix { !"/?#".utf8.contains($0) }
        if let at = authority.lastIndex(of: UInt8(ascii: "@")) { authority = authority[(at + 1)...] }
        if authority.first == UInt8(ascii: "[") {
            authority = authority.prefix { $0 != UInt8(ascii: "]") }
            return String(decoding: authority, as: UTF8.self).lowercased() + "]"
        }
        return String(decoding: authority.prefix { $0 != UInt8(ascii: ":") }, as: UTF8.self).lowercased()
    }
}

extension Priority {
    /// `interactive`, `prefetch`, `backfill`.
    public var name: String {
        switch self {
        case .interactive: "interactive"
        case .prefetch: "prefetch"
        case .backfill: "backfill"
        }
    }

    public init?(name: String) {
        guard let priority = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = priority
    }
}
