import Framemill

/// `framemill cover`, `animate` and `probe`: one URL, one answer.
enum Single {
    static func cover(_ arguments: Arguments, _ signals: Signals) async throws(Failure) -> ExitCode {
        let (url, output) = try wish(arguments, "cover")
        let recipe = try Recipe(arguments, format: try format(of: output, arguments))
        return try await make(recipe, url, output, arguments, signals)
    }

    static func animate(_ arguments: Arguments, _ signals: Signals) async throws(Failure) -> ExitCode {
        let (url, output) = try wish(arguments, "animation")
        guard output == "-" || output.lowercased().hasSuffix(".webp") else {
            throw Arguments.usage("an animation is written as WebP; let \(output) end in .webp")
        }
        return try await make(try Recipe(moving: arguments), url, output, arguments, signals)
    }

    private static func wish(
        _ arguments: Arguments, _ what: String
    ) throws(Failure) -> (url: String, output: String) {
        let url = try arguments.only("URL")
        guard let output = arguments.text("output"), !output.isEmpty else {
            throw Arguments.usage("where should the \(what) go? -o FILE, or -o - for standard output")
        }
        return (url, output)
    }

    private static func make(
        _ recipe: Recipe, _ url: String, _ output: String, _ arguments: Arguments, _ signals: Signals
    ) async throws(Failure) -> ExitCode {
        let printsJSON = arguments.has("json")
        if output == "-", printsJSON {
            throw Arguments.usage("--json and -o - both want standard output; write it to a file")
        }
        if output != "-" { try check(output, source: url) }
        var request = Request(url, recipe: recipe)
        request.reuse = try Reuse(arguments)
        let decoders = try DecoderPool()
        let mill = try Framemill(try Configuration(arguments), renderer: decoders)
        let answer = await signals.cancelling { [request] () async -> Result<Artifact, Failure> in
            do throws(Failure) {
                return .success(try await mill.cover(for: request))
            } catch {
                return .failure(error)
            }
        }
        await mill.close()
        decoders.close()
        do throws(Failure) {
            var artifact = try answer.get()
            artifact.facts.byteCount = artifact.bytes.count
            if output == "-" {
                try Output.give(artifact.bytes, to: OpenFile(borrowing: 1))
            } else if let status = FileStatus(path: output), !status.isRegular {
                // A device or a pipe takes the bytes; a rename would put a file in its place.
                try OpenFile(output, for: .append).write(artifact.bytes)
            } else {
                try OutputFolder.write(artifact.bytes, to: output)
            }
            if printsJSON {
                try Output.result(JSON.text(Answer(url, artifact, output)))
            }
            if !printsJSON, !arguments.has("quiet") {
                let origin = artifact.origin.rawValue + (artifact.isStale ? ", stale" : "")
                Output.note(Output.tame("\(output): \(GalleryPage.summary(artifact.facts)) (\(origin))"))
            }
            return .allMade
        } catch {
            return try failed(error, url, printsJSON, signals)
        }
    }

    static func probe(_ arguments: Arguments, _ signals: Signals) async throws(Failure) -> ExitCode {
        let url = try arguments.only("URL")
        let printsJSON = arguments.has("json")
        var configuration = try Configuration(arguments)
        configuration.cacheDirectory = nil
        let decoders = try DecoderPool()
        let mill = try Framemill(configuration, renderer: decoders)
        let answer = await signals.cancelling { () async -> Result<Facts, Failure> in
            do throws(Failure) { return .success(try await mill.probe(Request(url))) } catch {
                return .failure(error)
            }
        }
        await mill.close()
        decoders.close()
        do throws(Failure) {
            let facts = try answer.get()
            try Output.result(printsJSON ? JSON.text(Answer(url, facts)) : FactsTable.text(facts))
            return .allMade
        } catch {
            return try failed(error, url, printsJSON, signals)
        }
    }

    /// Tells why there is no answer, in the form that was asked for.
    static func failed(
        _ failure: Failure, _ url: String, _ printsJSON: Bool, _ signals: Signals
    ) throws(Failure) -> ExitCode {
        if printsJSON { try Output.result(JSON.text(Refusal(url, failure))) }
        Output.note(Output.tame("framemill: \(failure)"))
        return signals.isRaised ? .interrupted : ExitCode(failure)
    }

    /// The extension of the output file says what to write, unless `--format` does.
    private static func format(of output: String, _ arguments: Arguments) throws(Failure)
        -> Recipe.OutputFormat
    {
        if output == "-" || arguments.has("format") { return .jpeg }
        let name = output.split(separator: "/").last ?? ""
        switch name.lastIndex(of: ".").map({ name[$0...].lowercased() }) {
        case ".jpg", ".jpeg": return .jpeg
        case ".png": return .png
        case ".webp": return .webp
        default:
            throw Arguments.usage(
                "\(output) does not say a format; add .jpg, .png or .webp, or give --format")
        }
    }

    /// An output that can't be written is told before anything is fetched.
    private static func check(_ output: String, source: String) throws(Failure) {
        if let status = FileStatus(path: output) {
            if status.isDirectory { throw Arguments.usage("-o \(output) is a directory; name a file in it") }
            if status.isSameFile(as: FileStatus(path: source)) {
                throw Arguments.usage("-o \(output) is the source itself; name another file")
            }
            if !status.isRegular { return }
        }
        let parent = output.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(
            separator: "/")
        let folder = !output.contains("/") ? "." : parent.isEmpty ? "/" : parent
        guard FileStatus(path: folder)?.isDirectory == true else {
            throw Arguments.usage("-o \(output) cannot be written: there is no directory \(folder)")
        }
        guard OutputFolder.isWritable(folder) else {
            throw Arguments.usage("-o \(output) cannot be written: no permission in \(folder)")
        }
    }
}

/// The facts, and beside them what happened to them.
private struct Answer: Encodable {
    private enum CodingKeys: String, CodingKey { case code, url, origin, stale, file }
    private let url: String
    private let facts: Facts
    private var origin: Artifact.Origin?
    private var stale: Bool?
    private var file: String?

    init(_ url: String, _ facts: Facts) { (self.url, self.facts) = (url, facts) }

    init(_ url: String, _ artifact: Artifact, _ file: String) {
        self.init(url, artifact.facts)
        (origin, stale, self.file) = (artifact.origin, artifact.isStale ? true : nil, file)
    }

    func encode(to encoder: any Encoder) throws {
        try facts.encode(to: encoder)
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode("ok", forKey: .code)
        try container.encode(url, forKey: .url)
        try container.encodeIfPresent(origin, forKey: .origin)
        try container.encodeIfPresent(stale, forKey: .stale)
        try container.encodeIfPresent(file, forKey: .file)
    }
}

private struct Refusal: Encodable {
    var url: String
    var code: String
    var `class`: String
    var stage: String
    var message: String
    var cause: String?
    var retryAfter: Int?
    var remembered: Int?
    var tries: Int?

    init(_ url: String, _ failure: Failure) {
        self.url = url
        code = failure.reason.code
        self.class = failure.reason.class.rawValue
        stage = failure.stage.rawValue
        message = failure.message
        cause = failure.cause
        retryAfter = failure.retryAfterSeconds
        (remembered, tries) = (failure.memory?.ageSeconds, failure.memory?.tries)
    }
}
