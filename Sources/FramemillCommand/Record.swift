internal import FoundationEssentials
import Framemill

/// One line of the manifest: what became of one line of the list.
struct Record: Codable, Sendable {
    var line: Int
    var id: String?
    var url: String
    /// 16 hex digits of the key of URL and recipe.
    var key: String
    /// `ok`, or the code of the failure.
    var code: String
    var `class`: String?
    var stage: String?
    var message: String?
    /// The words of the library or the system that refused, where there are any.
    var cause: String?
    /// The name inside the output directory.
    /// Seconds until another try can help, where that is known.
    var retryAfter: Int?
    /// Seconds since the source was asked, where an earlier failure answers for it.
    var remembered: Int?
    /// How often in a row it failed, with that.
    var tries: Int?
    var file: String?
    /// `made`, `memory`, `disk` (the cache), or `duplicate` (of another line of the list).
    var origin: String?
    /// `true` for an old cover that stands in, since the source fails or must not be asked.
    var stale: Bool?
    var facts: Facts?

    init(_ entry: Entry, key: String) {
        line = entry.line
        id = entry.id
        url = entry.url
        self.key = key
        code = "ok"
    }

    init(_ entry: Entry, key: String, _ failure: Failure) {
        self.init(entry, key: key)
        code = failure.reason.code
        self.class = failure.reason.class.rawValue
        stage = failure.stage.rawValue
        message = failure.message
        cause = failure.cause
        retryAfter = failure.retryAfterSeconds
        (remembered, tries) = (failure.memory?.ageSeconds, failure.memory?.tries)
    }

    var isMade: Bool { code == "ok" }

    /// The same result for another line.
    func repeated(for entry: Entry) -> Record {
        var copy = self
        (copy.line, copy.id, copy.url, copy.origin) = (
            entry.line, entry.id, entry.url, isMade ? "duplicate" : nil
        )
        return copy
    }
}

enum JSON {
    /// One line, keys in order. Numbers that JSON can't say become words: a report is never lost over one.
    static func line(_ value: some Encodable) throws(Failure) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "infinity", negativeInfinity: "-infinity", nan: "nan")
        do { return Array(try encoder.encode(value)) } catch {
            throw Failure(.internalError, .store, "cannot write JSON", cause: "\(error)")
        }
    }

    static func text(_ value: some Encodable) throws(Failure) -> String {
        String(decoding: try line(value), as: UTF8.self)
    }

    static func record(_ bytes: some Collection<UInt8>) -> Record? {
        try? JSONDecoder().decode(Record.self, from: Data(bytes))  // not a record: the caller decides
    }
}
