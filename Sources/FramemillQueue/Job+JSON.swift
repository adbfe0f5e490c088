internal import FoundationEssentials
internal import Framemill
public import FramemillMedia

extension Job {
    /// Reads what a producer wrote.
    /// - Parameters:
    ///   - id: what the queue calls the job; it stands above an `id` in the text.
    ///   - recipe: what stands where the text says nothing, and `priority` likewise.
    /// - Throws: `badOption` or `badURL`, with what would be right.
    public init(
        json: String, id: String? = nil, over recipe: Recipe = Recipe(), priority: Priority = .backfill
    ) throws(Failure) {
        let wire: Wire
        do { wire = try JSONDecoder().decode(Wire.self, from: Data(json.utf8)) } catch {
            throw Self.refused(Self.words(of: error))
        }
        try self.init(wire, recipe, priority)
        if let id { self.id = id }
    }

    /// Whether it could be made at all; a queue takes what could not, and it ends among the failed ones.
    /// - Throws: `badURL` or `badOption`, with what would be right.
    public func check() throws(Failure) {
        try checkAddresses()
        // Whoever reads it must be able to.
        _ = try Job(json: json)
    }

    /// As `check`, where all else came out of a text.
    package func checkAddresses() throws(Failure) {
        for url in [url] + mirrors { try Request.check(url) }
        if let callback { try Request.check(callback, isWeb: true) }
    }

    /// The same as one line of JSON, without what is as it would be anyway.
    public var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Text and finite numbers alone: every field was checked when it came in, and what is no number is
        // left out.
        return (try? encoder.encode(Wire(self))).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }

    private init(_ wire: Wire, _ recipe: Recipe, _ priority: Priority) throws(Failure) {
        if let schema = wire.schema, !(1...Job.schema).contains(schema) {
            throw Self.refused("its schema is \(schema), and this worker reads up to \(Job.schema)")
        }
        let url = wire.url.drop { $0.isWhitespace }
        guard !url.isEmpty else { throw Failure(.badURL, .input, "the job has an empty url") }
        self.init(String(url), recipe: try Recipe(wire, over: recipe), priority: priority)
        if let id = wire.id?.text, !id.isEmpty { self.id = id }
        mirrors = wire.mirrors ?? []
        if let name = wire.priority {
            guard let priority = Priority(name: name) else {
                throw Self.refused("priority \(name) is not understood: interactive, prefetch or backfill")
            }
            self.priority = priority
        }
        (key, callback, data) = (wire.key?.text, wire.callback, wire.data)
        (notBefore, notAfter) = (wire.notBefore, wire.notAfter)
        for (name, seconds) in [("not-before", notBefore), ("not-after", notAfter)] {
            guard let seconds else { continue }
            guard Self.times.contains(seconds) else {
                throw Self.refused("\(name) \(seconds) is not understood: seconds since 1970, at most 1e11")
            }
        }
    }

    static func refused(_ words: String) -> Failure {
        Failure(.badOption, .queue, "the job is refused: \(words)")
    }

    private static func words(of error: any Error) -> String {
        guard let error = error as? DecodingError else { return "it is no JSON object with a url" }
        switch error {
        case .keyNotFound(let key, _): return "\(key.stringValue) is missing"
        case .typeMismatch(_, let context), .valueNotFound(_, let context):
            let name = context.codingPath.first?.stringValue ?? "the whole"
            return "\(name) is of the wrong kind"
        case .dataCorrupted(let context): return context.debugDescription
        default: return "it is no JSON object with a url"
        }
    }
}

/// A name or a number, as producers have either.
enum Word: Codable, Equatable {
    case text(String)
    case number(Double)

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        do { self = .text(try container.decode(String.self)) } catch {
            self = .number(try container.decode(Double.self))
        }
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .text(let text): try container.encode(text)
        case .number(let number): try container.encode(number)
        }
    }

    var text: String {
        switch self {
        case .text(let text): text
        case .number(let number): Int(exactly: number).map(String.init) ?? "\(number)"
        }
    }
}

/// The fields as they stand in JSON.
struct Wire: Codable {
    var schema: Int?
    var id: Word?
    var url: String
    var mirrors: [String]?
    var at: Word?
    var seek: String?
    var size: Word?
    var mode: String?
    var enlarge: Bool?
    var format: String?
    var quality: Int?
    var effort: Int?
    var background: String?
    var animated: Bool?
    var maxFrames: Int?
    var maxFramesPerSecond: Double?
    var lossless: Bool?
    var duration: Double?
    var priority: String?
    var key: Word?
    var notBefore: Double?
    var notAfter: Double?
    var callback: String?
    var data: String?

    enum CodingKeys: String, CodingKey, CaseIterable {
        case schema, id, url, mirrors, at, seek, size, mode, enlarge, format, quality, effort, background,
            animated
        case maxFrames = "max-frames"
        case maxFramesPerSecond = "max-fps"
        case lossless, duration, priority, key
        case notBefore = "not-before"
        case notAfter = "not-after"
        case callback, data
    }

    /// Any name at all, to find those that mean nothing.
    private struct AnyKey: CodingKey {
        var stringValue: String
        var intValue: Int? { nil }
        init(stringValue: String) { self.stringValue = stringValue }
        init?(intValue: Int) { nil }
    }

    init(_ job: Job) {
        let usual = Recipe()
        let recipe = job.recipe
        func unless<Value: Equatable>(_ value: Value, _ preset: Value) -> Value? {
            value == preset ? nil : value
        }
        (schema, id, url) = (Job.schema, .text(job.id), job.url)
        mirrors = unless(job.mirrors, [])
        at = unless(recipe.at, usual.at).map { .text($0.typed) }
        seek = unless(recipe.seek, usual.seek)?.rawValue
        size = unless(recipe.box, usual.box).map { .text($0.typed) }
        mode = unless(recipe.mode, usual.mode)?.rawValue
        enlarge = unless(recipe.enlarge, usual.enlarge)
        format = unless(recipe.format, usual.format)?.rawValue
        (quality, effort) = (recipe.quality, recipe.effort)
        background = unless(recipe.background, usual.background)?.typed
        if let moving = recipe.animated {
            animated = true
            (maxFrames, maxFramesPerSecond) = (moving.maxFrames, moving.maxFramesPerSecond)
            lossless = unless(moving.lossless, false)
            duration = unless(moving.seconds, Recipe.Animated().seconds)
        }
        priority = job.priority.name
        key = job.key.map { .text($0) }
        (notBefore, notAfter) = (job.notBefore, job.notAfter)
        (callback, data) = (job.callback, job.data)
    }

    init(from decoder: any Decoder) throws {
        let names = try decoder.container(keyedBy: AnyKey.self).allKeys
        if let unknown = names.first(where: { CodingKeys(rawValue: $0.stringValue) == nil }) {
            throw DecodingError.dataCorrupted(
                .init(codingPath: [], debugDescription: "\(unknown.stringValue) is no name of a job's"))
        }
        let fields = try decoder.container(keyedBy: CodingKeys.self)
        url = try fields.decode(String.self, forKey: .url)
        schema = try fields.decodeIfPresent(Int.self, forKey: .schema)
        id = try fields.decodeIfPresent(Word.self, forKey: .id)
        priority = try fields.decodeIfPresent(String.self, forKey: .priority)
        // Most jobs have few fields: those that are there are read, the others not even asked for.
        for name in names {
            switch CodingKeys(rawValue: name.stringValue) {
            case .mirrors: mirrors = try fields.decodeIfPresent([String].self, forKey: .mirrors)
            case .at: at = try fields.decodeIfPresent(Word.self, forKey: .at)
            case .seek: seek = try fields.decodeIfPresent(String.self, forKey: .seek)
            case .size: size = try fields.decodeIfPresent(Word.self, forKey: .size)
            case .mode: mode = try fields.decodeIfPresent(String.self, forKey: .mode)
            case .enlarge: enlarge = try fields.decodeIfPresent(Bool.self, forKey: .enlarge)
            case .format: format = try fields.decodeIfPresent(String.self, forKey: .format)
            case .quality: quality = try fields.decodeIfPresent(Int.self, forKey: .quality)
            case .effort: effort = try fields.decodeIfPresent(Int.self, forKey: .effort)
            case .background: background = try fields.decodeIfPresent(String.self, forKey: .background)
            case .animated: animated = try fields.decodeIfPresent(Bool.self, forKey: .animated)
            case .maxFrames: maxFrames = try fields.decodeIfPresent(Int.self, forKey: .maxFrames)
            case .maxFramesPerSecond:
                maxFramesPerSecond = try fields.decodeIfPresent(Double.self, forKey: .maxFramesPerSecond)
            case .lossless: lossless = try fields.decodeIfPresent(Bool.self, forKey: .lossless)
            case .duration: duration = try fields.decodeIfPresent(Double.self, forKey: .duration)
            case .key: key = try fields.decodeIfPresent(Word.self, forKey: .key)
            case .notBefore: notBefore = try fields.decodeIfPresent(Double.self, forKey: .notBefore)
            case .notAfter: notAfter = try fields.decodeIfPresent(Double.self, forKey: .notAfter)
            case .callback: callback = try fields.decodeIfPresent(String.self, forKey: .callback)
            case .data: data = try fields.decodeIfPresent(String.self, forKey: .data)
            case .schema, .id, .url, .priority, nil: break
            }
        }
    }
}

extension Job {
    /// The host of a job that nobody has checked yet; empty where there is none.
    static func host(inJSON json: String) -> String {
        struct Address: Decodable {
            var url: String
        }
        // What can't be read is buried when it is handed out; here it has no host.
        let address = try? JSONDecoder().decode(Address.self, from: Data(json.utf8))
        return address.map { host(of: $0.url) } ?? ""
    }
}
