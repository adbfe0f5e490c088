import Framemill

/// What `framemill batch` was asked to do.
struct BatchOptions: Sendable {
    var list: String
    /// `nil` to warm a cache: no files are written.
    var out: String?
    var manifest: String?
    var gallery: String?
    var recipe: Recipe
    var reuse: Reuse
    var configuration: Configuration
    var retriesFailed: Bool
    var printsJSON: Bool
    var isQuiet: Bool

    var isWarming: Bool { out == nil }

    init(_ arguments: Arguments) throws(Failure) {
        try self.init(arguments, list: try arguments.only("LIST"))
        let out = arguments.text("out") ?? "covers"
        self.out = out
        manifest = arguments.text("manifest") ?? "\(out)/manifest.jsonl"
        gallery = arguments.text("gallery")
        for (name, path) in [("out", out), ("manifest", manifest ?? "-"), ("gallery", gallery ?? "-")]
        where path.isEmpty {
            throw Arguments.usage("--\(name) wants a path")
        }
    }

    /// For `cache warm`.
    init(warming list: String, _ arguments: Arguments) throws(Failure) {
        try self.init(arguments, list: list)
        guard let cache = configuration.cacheDirectory else {
            throw Arguments.usage("which cache? --cache DIR")
        }
        // Told before anything is made; a folder that is not there is made.
        if let status = FileStatus(path: cache) {
            guard status.isDirectory else { throw Arguments.usage("--cache \(cache) is not a directory") }
            guard OutputFolder.isWritable(cache) else {
                throw Arguments.usage("--cache \(cache) cannot be written: no permission")
            }
        }
    }

    private init(_ arguments: Arguments, list: String) throws(Failure) {
        self.list = list
        if let option = Recipe.Animated.options.first(where: arguments.has), !arguments.has("animated") {
            throw Arguments.usage("--\(option) is for animations: it goes with --animated")
        }
        recipe = try arguments.has("animated") ? Recipe(moving: arguments) : Recipe(arguments)
        reuse = try Reuse(arguments)
        configuration = try Configuration(arguments)
        retriesFailed = arguments.has("retry-failed")
        printsJSON = arguments.has("json")
        isQuiet = arguments.has("quiet")
    }
}

/// The last word of a run.
struct BatchSummary: Encodable {
    var lines: Int
    var made: Int
    var failed: Int
    /// Of `lines`: answered by an earlier run.
    var resumed: Int
    /// Of `lines`: the answer of another line with the same URL and recipe.
    var duplicates: Int
    /// Of `made`: the cache had them, and `nil` where covers are written.
    var kept: Int?
    var failures: [String: Int]
    var seconds: Double
    var perSecond: Double
    var out: String?
    var manifest: String?
    var gallery: String?
    var cache: String?
    var exit: Int32

    private enum CodingKeys: String, CodingKey {
        case lines, made, failed, resumed, duplicates, kept, failures, seconds, perSecond, out, manifest,
            gallery, cache, exit
    }
    private let printsJSON: Bool

    init(_ tally: Tally, _ options: BatchOptions, seconds: Double, exit: ExitCode) {
        (lines, made, failed) = (tally.lines, tally.made, tally.failed)
        (resumed, duplicates, failures) = (tally.resumed, tally.duplicates, tally.failures)
        self.seconds = (seconds * 1000).rounded() / 1000
        perSecond = seconds > 0 ? (Double(tally.lines - tally.resumed) / seconds * 10).rounded() / 10 : 0
        (out, manifest, gallery) = (options.out, options.manifest, options.gallery)
        if options.isWarming { (kept, cache) = (tally.kept, options.configuration.cacheDirectory) }
        self.exit = exit.rawValue
        printsJSON = options.printsJSON
    }

    func show(_ progress: inout Progress) throws(Failure) {
        if printsJSON { try Output.result(JSON.text(self)) }
        if lines == 0, exit == 0 { return progress.note("the list has no entries; nothing to do") }
        let before = resumed > 0 ? ", \(resumed) of them before" : kept.map { ", \($0) were there" } ?? ""
        let pace = "\(Progress.short(seconds)) s, \(Progress.short(perSecond))/s"
        progress.note("\(made) made, \(failed) failed\(before); \(pace)")
        for (code, count) in failures.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
            progress.note("  \(count) x \(code)")
        }
        if let cache { progress.note("covers in the cache \(cache)") }
        if let out, let manifest {
            progress.note(
                "covers in \(out), report in \(manifest)\(gallery.map { ", page in \($0)" } ?? "")")
        }
        if exit == ExitCode.interrupted.rawValue {
            progress.note("interrupted; run the same command again to go on")
        }
    }
}
