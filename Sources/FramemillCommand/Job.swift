import Framemill

/// One cover to make: equal URLs with equal recipes are one job, whatever line of the list they stand on.
struct Job: Sendable {
    let entry: Entry
    let request: Request
    /// 16 hex digits, in the manifest and in the file's name.
    let key: String

    init(_ entry: Entry, recipe: Recipe) {
        var recipe = recipe
        if let at = entry.at { recipe.at = at }
        self.entry = entry
        request = Request(entry.url, mirrors: entry.mirrors, recipe: recipe, priority: .backfill)
        key = Self.hash("\(request.canonicalURL)\n\(recipe.canonical)")
    }

    var number: UInt64 { Self.number(key) }
    var lineKey: UInt64 { Self.lineKey(key, entry.id) }
    var file: String { OutputName.make(url: request.url, key: key, format: request.recipe.format) }

    static func number(_ key: String) -> UInt64 { UInt64(key, radix: 16) ?? 0 }

    /// Tells one line's question from another's: the job, and the name that the caller gave it.
    static func lineKey(_ key: String, _ id: String?) -> UInt64 {
        id.map { number(hash("\(key)\n\($0)")) } ?? number(key)
    }

    private static func hash(_ text: String) -> String {
        Digest.hex(Digest.sha256(Array(text.utf8)).prefix(8))
    }
}
