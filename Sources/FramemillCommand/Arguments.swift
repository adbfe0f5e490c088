import FramemillMedia

/// The words behind a command, sorted into options and the rest. Nothing unknown gets past it.
struct Arguments {
    private(set) var positionals: [String] = []
    private var values: [String: [String]] = [:]

    init(_ words: some Sequence<String>, of verb: Verb) throws(Failure) {
        var words = Array(words)[...]
        while let word = words.popFirst() {
            if word == "--" {
                positionals += words
                break
            }
            guard word.hasPrefix("-"), word != "-" else {
                positionals.append(word)
                continue
            }
            let (option, attached) = try Self.option(word, of: verb)
            guard let shape = option.value else {
                guard attached == nil else {
                    throw Self.usage("--\(option.name) is a switch and takes no value")
                }
                values[option.name] = [""]
                continue
            }
            guard let value = attached ?? Self.value(&words) else {
                throw Self.usage("--\(option.name) wants a value: --\(option.name) \(shape)")
            }
            guard option.repeats || values[option.name] == nil else {
                throw Self.usage("--\(option.name) is given twice")
            }
            values[option.name, default: []].append(value)
        }
    }

    func has(_ name: String) -> Bool { values[name] != nil }
    func all(_ name: String) -> [String] { values[name] ?? [] }
    func text(_ name: String) -> String? { values[name]?.first }

    /// The one argument of a command.
    func only(_ what: String) throws(Failure) -> String {
        guard let first = positionals.first, !first.isEmpty else { throw Self.usage("\(what) is missing") }
        guard positionals.count == 1 else {
            // Not the words themselves: a URL may hold a password or a token.
            throw Self.usage("only one \(what) is taken, but \(positionals.count) are given")
        }
        return first
    }

    /// `read` applied to the value of an option, if it is there.
    func value<Value>(_ name: String, or right: String, _ read: (String) -> Value?) throws(Failure) -> Value?
    {
        guard let text = text(name) else { return nil }
        guard let value = read(text) else {
            throw Self.usage("--\(name) \(text) is not understood: it takes \(right)")
        }
        return value
    }

    func whole(_ name: String, _ range: ClosedRange<Int>) throws(Failure) -> Int? {
        try value(name, or: "a whole number from \(range.lowerBound) to \(range.upperBound)") { text in
            Number.whole(text).flatMap { range.contains($0) ? $0 : nil }
        }
    }

    func choice<Value: RawRepresentable<String>>(
        _ name: String, _ words: String
    ) throws(Failure) -> Value? {
        try value(name, or: words) { Value(rawValue: $0) }
    }

    static func usage(_ message: String) -> Failure { Failure(.badOption, .input, message) }

    private static func option(_ word: String, of verb: Verb) throws(Failure) -> (Option, attached: String?) {
        let options = verb.options
        guard word.hasPrefix("--") else {
            let letters = word.dropFirst()
            if let option = options.first(where: { $0.short == letters.first }) {
                // `-oFILE` and, as people type it after `--output=FILE`, `-o=FILE`.
                let attached = letters.dropFirst()
                let value = attached.hasPrefix("=") ? attached.dropFirst() : attached
                return (option, attached.isEmpty ? nil : String(value))
            }
            throw usage("\(word) is no option of framemill \(verb.name)\(hint(word, options))")
        }
        let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        let name = parts.first.map(String.init) ?? ""
        guard let option = options.first(where: { $0.name == name }) else {
            throw usage("--\(name) is no option of framemill \(verb.name)\(hint(name, options))")
        }
        return (option, parts.count > 1 ? String(parts[1]) : nil)
    }

    private static func hint(_ word: String, _ options: [Option]) -> String {
        let bare = String(word.drop { $0 == "-" })
        let nearest = Suggestion.nearest(to: bare, among: options.map(\.name) + ["help", "version"])
        return nearest.map { "; did you mean --\($0)?" } ?? ""
    }

    /// `-5` is a value, if mostly a wrong one; `--json` behind `--out` is a value forgotten.
    private static func value(_ words: inout ArraySlice<String>) -> String? {
        guard let next = words.first, !next.hasPrefix("--") else { return nil }
        return words.popFirst()
    }
}
