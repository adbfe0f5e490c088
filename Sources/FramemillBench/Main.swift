// `framemill-bench`: what our own code costs, one subcommand a part, so that both sides of a comparison can be run on
// one machine in one go. Peers are programs of their own, run in turn with ours by the scripts under Tests.

internal import FramemillMedia
internal import Foundation

@main
enum Main {
    static let usage = """
        usage: framemill-bench gif [--rounds N] [--threads N] FILE...
          every frame of each file as an RGBA canvas, from memory; median and least of N rounds (default 7)

        """

    static func main() {
        var words = Array(CommandLine.arguments.dropFirst())
        do throws(Failure) {
            guard !words.isEmpty else { throw Failure(.badOption, .input, usage) }
            switch words.removeFirst() {
            case "gif": try GIFBench(words).run()
            case "--help", "-h", "help": print(usage, terminator: "")
            default: throw Failure(.badOption, .input, usage)
            }
        } catch {
            let text = error.reason == .badOption ? error.message : "framemill-bench: \(error)\n"
            FileHandle.standardError.write(Data(text.utf8))
            exit(error.reason == .badOption ? 2 : 1)
        }
    }
}
