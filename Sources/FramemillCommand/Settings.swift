internal import FoundationEssentials
import Framemill

// From the words of the command line to the values of the library. Every refusal says what would be right.

extension Recipe {
    init(_ arguments: Arguments, format fallback: OutputFormat = .jpeg) throws(Failure) {
        self.init()
        format = try arguments.choice("format", "jpeg, png or webp") ?? fallback
        if let box = try arguments.value("size", or: Box.words, Box.init(typed:)) { self.box = box }
        if let mode: Mode = try arguments.choice("mode", "fit, fill or stretch") { self.mode = mode }
        enlarge = arguments.has("enlarge")
        quality = try arguments.whole("quality", 1...100)
        effort = try arguments.whole("effort", 0...6)
        if let at = try arguments.value("at", or: Moment.words, Moment.init(typed:)) { self.at = at }
        if let seek: Seek = try arguments.choice("seek", "keyframe or exact") { self.seek = seek }
        let right = "a colour as #rrggbb"
        if let color = try arguments.value("background", or: right, RGB.init(typed:)) { background = color }
    }

    /// A moving one.
    init(moving arguments: Arguments) throws(Failure) {
        try self.init(arguments, format: .webp)
        guard format == .webp else {
            throw Arguments.usage("an animation is written as WebP, not as \(format.rawValue)")
        }
        animated = try Animated(arguments)
    }
}

extension Recipe.Animated {
    static let options = ["max-frames", "max-fps", "lossless", "duration"]

    fileprivate init(_ arguments: Arguments) throws(Failure) {
        self.init()
        maxFrames = try arguments.whole("max-frames", 1...100_000)
        maxFramesPerSecond = try arguments.value("max-fps", or: "a rate, more than 0 and at most 1000") {
            Number.decimal($0).flatMap { $0 > 0 && $0 <= 1000 ? $0 : nil }
        }
        lossless = arguments.has("lossless")
        let right = "seconds, more than 0 and at most 3600"
        if let seconds = try arguments.value("duration", or: right, Self.seconds) { self.seconds = seconds }
    }

    private static func seconds(_ text: String) -> Double? {
        Number.decimal(text).flatMap { $0 > 0 && $0 <= 3600 ? $0 : nil }
    }
}

extension Reuse {
    init(_ arguments: Arguments) throws(Failure) {
        let given = ["max-age", "refresh", "offline"].filter(arguments.has)
        guard given.count < 2 else {
            throw Arguments.usage("--\(given[0]) and --\(given[1]) exclude each other; give one of them")
        }
        if arguments.has("refresh") {
            self = .onceConfirmed
        } else if arguments.has("offline") {
            self = .offline
        } else {
            let seconds = try arguments.whole("max-age", 0...(1 << 31))
            self = seconds.map { .within(seconds: $0) } ?? .whileFresh
        }
    }
}

extension Configuration {
    /// The command line may read local files; the network guard stays on but for what the options open.
    init(_ arguments: Arguments) throws(Failure) {
        self.init()
        allowFiles = true
        allowNet = arguments.all("allow-net")
        denyHosts = arguments.all("deny-host")
        for text in arguments.all("allow-port") {
            let bounds = text.split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
                .map { Number.whole(String($0)) ?? 0 }
            guard let first = bounds.first, let last = bounds.last, first > 0, first <= last, last <= 65535
            else {
                throw Arguments.usage("--allow-port \(text) is not understood: it takes 8080, or 8000-8999")
            }
            allowPorts.append(first...last)
        }
        if let bytes = try arguments.whole("source-cache", 0...Int.max) { sourceCacheBytes = Int64(bytes) }
        ignoredQuery = arguments.all("ignore-query").flatMap {
            $0.split(separator: ",", omittingEmptySubsequences: false).map(String.init)
        }
        for word in arguments.all("ignore-query-preset") {
            guard let preset = QueryPreset(rawValue: word) else {
                let words = QueryPreset.allCases.map(\.rawValue).joined(separator: ", ")
                throw Arguments.usage(
                    "--ignore-query-preset \(word) is not understood: it takes one of \(words)")
            }
            ignoredQueryPresets.insert(preset)
        }
        if let jobs = try arguments.whole("jobs", 1...4096) { self.jobs = jobs }
        if let perHost = try arguments.whole("per-host", 1...1024) { self.perHost = perHost }
        limits = try Limits(arguments)
        switch arguments.text("cache") {
        case "none": cacheDirectory = nil
        case "": throw Arguments.usage("--cache wants a directory, or none")
        case let typed: cacheDirectory = typed ?? Self.usualCache
        }
    }

    /// Where the XDG base directory rules put it: "$XDG_CACHE_HOME ... should be an absolute path", else
    /// `~/.cache`.
    private static var usualCache: String? {
        let environment = ProcessInfo.processInfo.environment
        if let base = environment["XDG_CACHE_HOME"], base.hasPrefix("/") { return base + "/framemill" }
        return environment["HOME"].flatMap { $0.hasPrefix("/") ? $0 + "/.cache/framemill" : nil }
    }
}
