internal import Glibc
import Framemill
import FramemillEngine

/// `framemill cache`: what is kept, whether it is sound, and dropping some of it. Works beside processes that
/// use it.
struct CacheTool {
    private enum Action: String, CaseIterable { case stat, verify, trim, purge, get, list, warm }

    private let folder: String
    private let disk: DiskCache
    /// The bytes of sources that are kept; `nil` where none are.
    private let sources: DiskCache?
    private let meters = Meters()
    private let printsJSON: Bool
    private let ignoredQuery: IgnoredQuery
    /// Raised by a signal; a walk through the cache ends at its next step.
    private let stop = Stop()

    static func run(_ arguments: Arguments, _ signals: Signals) async throws(Failure) -> ExitCode {
        guard let word = arguments.positionals.first else {
            throw Arguments.usage("which action? \(words)")
        }
        guard let action = Action(rawValue: word) else {
            let nearest = Suggestion.nearest(to: word, among: Action.allCases.map(\.rawValue))
            throw Arguments.usage(
                "\(word) is no action of cache\(nearest.map { "; did you mean \($0)?" } ?? ": \(words)")")
        }
        let wants = [Action.get: "one KEY or URL", .warm: "one LIST, or - for standard input"][action]
        guard arguments.positionals.count == (wants == nil ? 1 : 2) else {
            throw Arguments.usage("cache \(word) takes \(wants ?? "no further argument")")
        }
        if action == .warm {
            let options = try BatchOptions(warming: arguments.positionals[1], arguments)
            var batch = try Batch(options, signals: signals)
            return try await batch.run()
        }
        let tool = try CacheTool(arguments)
        // On a thread that may wait for the disk.
        let lane = Lane<Void>("cache", width: 1) { () }
        defer { lane.close() }
        let answer = await signals.cancelling { () async -> Result<ExitCode, Failure> in
            do throws(Failure) {
                return .success(
                    try await lane.run(stop: tool.stop) { _, _ throws(Failure) in
                        try tool.perform(action, arguments)
                    })
            } catch {
                return .failure(error)
            }
        }
        return signals.isRaised ? .interrupted : try answer.get()
    }

    private static var words: String { Action.allCases.map(\.rawValue).joined(separator: ", ") }

    private init(_ arguments: Arguments) throws(Failure) {
        var configuration = try Configuration(arguments)
        guard let folder = configuration.cacheDirectory else {
            throw Arguments.usage("which cache? --cache DIR")
        }
        // Asking must not make one.
        guard FileStatus(path: folder)?.isDirectory == true, DiskCache.isThere(in: folder) else {
            throw Failure(.notFound, .cache, "there is no cache in \(folder)")
        }
        if let bytes = try arguments.whole("max-bytes", 1...Int.max) {
            configuration.diskCacheBytes = Int64(bytes)
        }
        self.folder = folder
        ignoredQuery = try IgnoredQuery(configuration.ignoredQuery, configuration.ignoredQueryPresets)
        disk = DiskCache(
            folder: folder, bytes: configuration.diskCacheBytes, entries: configuration.diskCacheEntries,
            meters: meters)
        let bytes = configuration.sourceCacheBytes
        let place = "\(folder)/\(SourceFolder.name)"
        // Trimmed where a limit is given; what killed writers left goes in any case.
        sources =
            FileStatus(path: place)?.isDirectory == true
            ? DiskCache(folder: place, bytes: bytes > 0 ? bytes : 1 << 50, meters: meters) : nil
        printsJSON = arguments.has("json")
    }

    private func perform(_ action: Action, _ arguments: Arguments) throws(Failure) -> ExitCode {
        switch action {
        case .stat: try stat()
        case .verify: try verify()
        case .trim: try trim()
        case .purge: try purge(arguments)
        case .list: try list(arguments)
        case .get: try get(arguments.positionals[1], arguments)
        // Needs no thread that waits for the disk, and is done by now.
        case .warm: .ownFault
        }
    }

    // MARK: - The whole

    private struct Totals: Encodable {
        var cache: String
        var entries: Int
        var bytes: Int
        var maxBytes: Int
        var maxEntries: Int
        var sourceEntries: Int?
        var sourceBytes: Int?
        var evicted: Int?
        var swept: Int?

        var words: String { sourceBytes.map { " source_bytes=\($0)" } ?? "" }
    }

    private func totals() throws(Failure) -> Totals {
        guard let status = disk.status() else { throw unusable }
        let source = sources?.status()
        return Totals(
            cache: folder, entries: status.entries, bytes: status.bytes, maxBytes: status.limit,
            maxEntries: status.entryLimit, sourceEntries: source?.entries, sourceBytes: source?.bytes)
    }

    private func stat() throws(Failure) -> ExitCode {
        let totals = try totals()
        try say(totals) {
            "entries=\(totals.entries) bytes=\(totals.bytes) max_bytes=\(totals.maxBytes)\(totals.words)"
        }
        return .allMade
    }

    private func trim() throws(Failure) -> ExitCode {
        disk.trim(stop: stop)
        sources?.trim(stop: stop)
        var totals = try totals()
        (totals.evicted, totals.swept) = (meters.count("cache_evicted"), meters.count("cache_swept"))
        try say(totals) {
            "entries=\(totals.entries) bytes=\(totals.bytes) evicted=\(totals.evicted ?? 0) "
                + "swept=\(totals.swept ?? 0)"
        }
        return .allMade
    }

    private struct Verdict: Encodable {
        var bad: Int
        var checked: Int
        var missing: Int
        var unreadable: Int
        var index: String
    }

    private func verify() throws(Failure) -> ExitCode {
        guard let covers = disk.verify(stop: stop) else { throw unusable }
        let found = [covers] + (sources?.verify(stop: stop).map { [$0] } ?? [])
        func sum(_ count: (DiskCache.Verdict) -> Int) -> Int { found.map(count).reduce(0, +) }
        let verdict = Verdict(
            bad: sum(\.bad), checked: sum(\.checked), missing: sum(\.missing), unreadable: sum(\.unreadable),
            index: found.allSatisfy(\.indexIsSound) ? "sound" : "damaged")
        try say(verdict) {
            "bad=\(verdict.bad) checked=\(verdict.checked) missing=\(verdict.missing) "
                + "unreadable=\(verdict.unreadable) index=\(verdict.index)"
        }
        return verdict.bad == 0 && verdict.unreadable == 0 ? .allMade : .someFailed
    }

    // MARK: - Some of it

    private func purge(_ arguments: Arguments) throws(Failure) -> ExitCode {
        let filter = try CacheFilter(arguments, ignoredQuery)
        guard filter.isAny == arguments.has("all") else {
            throw Arguments.usage(
                filter.isAny
                    ? "what should go? --url, --host, --prefix, --older-than, --class, --engine-version, "
                        + "--failures, or --all"
                    : "--all and a choice contradict each other")
        }
        let count = disk.purge(filter, stop: stop) + (sources?.purge(filter, stop: stop) ?? 0)
        if count == 0, disk.status() == nil { throw unusable }
        try say(["purged": count]) { "purged=\(count)" }
        return .allMade
    }

    private func list(_ arguments: Arguments) throws(Failure) -> ExitCode {
        guard disk.status() != nil else { throw unusable }
        try disk.list(try CacheFilter(arguments, ignoredQuery), stop: stop) { (record) throws(Failure) in
            let line = CacheLine(record)
            try say(line) { Output.tame(line.text) }
        }
        return .allMade
    }

    private func get(_ name: String, _ arguments: Arguments) throws(Failure) -> ExitCode {
        guard disk.status() != nil else { throw unusable }
        guard let found = try find(name, arguments) else {
            throw Failure(
                .notFound, .cache, "not in the cache \(folder), or not with these options of size and format")
        }
        let line = CacheLine(found.record)
        guard let output = arguments.text("output"), !output.isEmpty else {
            try say(line) { Output.tame(line.text) }
            return .allMade
        }
        let artifact = try found.outcome.get()
        if output == "-" {
            guard !printsJSON else {
                throw Arguments.usage("--json and -o - both want standard output; write it to a file")
            }
            try OpenFile(borrowing: 1).write(artifact.bytes)
        } else {
            try OutputFolder.write(artifact.bytes, to: output)
            if printsJSON { try say(line) { "" } }
        }
        return .allMade
    }

    /// By its key; by URL and recipe; or, where no word of a recipe is given, what was kept last for the URL.
    private func find(_ name: String, _ arguments: Arguments) throws(Failure) -> CacheFound? {
        if let key = CacheKey(hex: name) { return disk.entry(for: key) }
        let request = Request(name)
        let recipe = arguments.has("animated") ? try Recipe(moving: arguments) : try Recipe(arguments)
        let key = CacheKey(canonicalURL: request.identityNow(ignoredQuery), recipe: recipe)
        if let found = disk.entry(for: key) { return found }
        guard !(Verb.recipe + Verb.moving).contains(where: { arguments.has($0.name) }),
            !arguments.has("animated")
        else { return nil }
        var filter = CacheFilter()
        filter.url = CacheRecord.withoutUser(request.identity(ignoredQuery))
        var newest: CacheRecord?
        try disk.list(filter, stop: stop) { record in
            if record.storedAt >= newest?.storedAt ?? .min { newest = record }
        }
        return newest.flatMap { disk.entry(for: $0.key) }
    }

    private func say(_ value: some Encodable, _ text: () -> String) throws(Failure) {
        try Output.result(printsJSON ? JSON.text(value) : text())
    }

    private var unusable: Failure {
        Failure(.writeFailed, .cache, "the cache \(folder) has no index that can be opened")
    }
}

extension CacheFilter {
    fileprivate init(_ arguments: Arguments, _ ignoredQuery: IgnoredQuery) throws(Failure) {
        self.init()
        // An empty one, as of a variable that is not set, is no choice; the start of all URLs least of all.
        for name in ["url", "host", "prefix", "class", "engine-version"] where arguments.text(name) == "" {
            throw Arguments.usage("--\(name) wants a value; --all is everything")
        }
        url = arguments.text("url").map { CacheRecord.withoutUser(Request($0).identity(ignoredQuery)) }
        host = arguments.text("host")?.lowercased()
        prefix = arguments.text("prefix")
        engineClass = arguments.text("class")
        engineVersion = arguments.text("engine-version")
        if arguments.has("failures") { kind = .failure }
        let right = "an age such as 90s, 30m, 12h or 7d"
        if let age = try arguments.value("older-than", or: right, Self.seconds) {
            storedUntil = Int64(time(nil)) - age
        }
    }

    fileprivate var isAny: Bool {
        url == nil && host == nil && prefix == nil && engineClass == nil && engineVersion == nil
            && kind == nil && storedUntil == nil
    }

    private static func seconds(_ text: String) -> Int64? {
        let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86400]
        guard let unit = text.last.flatMap({ units[$0] }), let count = Number.whole(String(text.dropLast())),
            count <= 1_000_000
        else { return nil }
        return Int64(count * unit)
    }
}
