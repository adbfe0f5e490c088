// The command line: finds the command, hands it its options, and turns what it says into an exit code.

internal import Glibc
import Framemill

@main
struct Main {
    static func main() {
        Descriptors.prepare()
        Allocator.settle()
        let signals = Signals()
        // Not on the main actor: its thread is taken.
        Task { @concurrent in exit(await run(Array(CommandLine.arguments.dropFirst()), signals).rawValue) }
        signals.take()
    }

    private static func run(_ words: [String], _ signals: Signals) async -> ExitCode {
        guard let first = words.first else {
            Output.note(Help.overview)
            return .usage
        }
        do throws(Failure) {
            switch first {
            case "--version", "-V", "version":
                return try version()
            case "help", "--help", "-h":
                let name = words.dropFirst().first { !$0.hasPrefix("-") }
                let verb = try name.map { (name) throws(Failure) in try named(name) }
                try Output.result(verb.map { Help.text(of: $0) } ?? Help.overview)
                return .allMade
            default:
                return try await run(named(first), words.dropFirst(), signals)
            }
        } catch {
            Output.note(Output.tame("framemill: \(error.message)"))
            if error.reason == .badOption {
                Output.note("\(helpWords(first)) says what it takes")
            }
            return ExitCode(error)
        }
    }

    private static func run(
        _ verb: Verb, _ words: ArraySlice<String>, _ signals: Signals
    ) async throws(Failure) -> ExitCode {
        let options = words.prefix { $0 != "--" }
        if options.contains(where: { $0 == "--help" || $0 == "-h" }) {
            try Output.result(Help.text(of: verb))
            return .allMade
        }
        if options.contains("--version") { return try version() }
        let arguments = try Arguments(words, of: verb)
        switch verb.name {
        case "cover": return try await Single.cover(arguments, signals)
        case "frames": return try await Frames.run(arguments, signals)
        case "animate": return try await Single.animate(arguments, signals)
        case "probe": return try await Single.probe(arguments, signals)
        case "enqueue": return try await Enqueue.run(arguments, signals)
        case "worker": return try await Work.run(arguments, signals)
        case "queue": return try await QueueTool.run(arguments)
        case "cache": return try await CacheTool.run(arguments, signals)
        default:
            var batch = try Batch(try BatchOptions(arguments), signals: signals)
            return try await batch.run()
        }
    }

    private static func version() throws(Failure) -> ExitCode {
        try Output.result("framemill \(Framemill.version)")
        return .allMade
    }

    private static func named(_ name: String) throws(Failure) -> Verb {
        if let verb = Verb.all.first(where: { $0.name == name }) { return verb }
        if name.hasPrefix("-") {
            throw Arguments.usage("the command comes first: framemill COMMAND \(name) …")
        }
        let nearest = Suggestion.nearest(to: name, among: Verb.all.map(\.name) + ["help", "version"])
        throw Arguments.usage("\(name) is no command\(nearest.map { "; did you mean \($0)?" } ?? "")")
    }

    private static func helpWords(_ word: String) -> String {
        Verb.all.contains { $0.name == word } ? "framemill help \(word)" : "framemill help"
    }
}
