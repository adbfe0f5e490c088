import Framemill

/// The text of `--help`, made from the same tables that the parser reads.
enum Help {
    static var overview: String {
        let verbs = Verb.all.map { "  \(pad("\($0.name) \($0.argument)", 18))\($0.summary)" }
        return """
            framemill \(Framemill.version): covers for videos and pictures, from URLs

            Usage: framemill COMMAND [OPTIONS] ARGUMENT

            \(verbs.joined(separator: "\n"))
              \(pad("help COMMAND", 18))every option of a command

            framemill --version prints the version.
            """
    }

    static func text(of verb: Verb) -> String {
        let options = verb.options + [Option("help", short: "h", "print this text")]
        return """
            framemill \(verb.name): \(verb.summary)

            Usage: framemill \(verb.name) [OPTIONS] \(verb.argument)

            \(options.map(line).joined(separator: "\n"))

            \(verb.notes)
            """
    }

    private static func line(_ option: Option) -> String {
        let short = option.short.map { "-\($0), " } ?? ""
        let value = option.value.map { " \($0)" } ?? ""
        let repeats = option.repeats ? "; may be repeated" : ""
        let preset = option.preset.map { " (default: \($0))" } ?? ""
        let head = "  \(short)--\(option.name)\(value)"
        return pad(head, 32) + option.help + repeats + preset
    }

    private static func pad(_ text: String, _ width: Int) -> String {
        text.count < width ? text + String(repeating: " ", count: width - text.count) : text + "  "
    }
}
