// `framemill-bench`: what our own code costs, one subcommand a part, so that both sides of a comparison can be run on
// one machine in one go. Peers are programs of their own, run in turn with ours by the scripts under Tests.

internal import FramemillMedia
internal import Foundation

@main
enum Main {
    static let usage = """
        usage: framemill-bench gif [--rounds N] [--threads N] [--list] FILE...
          every frame of each file as an RGBA canvas, from memory; prints file, frames, median and least milliseconds
          of N rounds (default 7); --list: all files as one, each on one thread
               framemill-bench isolation [--rounds N] [--threads N] FILE...
          every frame of a GIF, the cover of anything else: in this process and in a decoder process, N pairs (15)
               framemill-bench isolation --kills N FILE
          N covers in decoder processes, and N more while every fortieth is killed in its midst
               framemill-bench first-frame [--others N] [--rounds N] FILE
          the first frame of an animation alone, and while N others (default 100) are being played
               framemill-bench mutants [--variants N] [--seed N] FILE...
          decodes N broken variants of animations (default 10000); each must end with frames or a failure
               framemill-bench cache [--entries N] [--bytes N] [--row-bytes N] [--rounds N]
          hits and misses on disk by every way to them: N entries (default 2000) of N bytes (20000), read at random
               framemill-bench cache-memory [--entries N] [--bytes N] [--rounds N] [--only look-up|cached|cover]
          hits in memory by key, by the synchronous and by the asynchronous call, from one task and from two
               framemill-bench cache-traces [--calls N]
          how many of N calls (default 1000000) memory answers, and LRU with as many bytes: Zipf, scans, loops
               framemill-bench cache-churn [HOURS]
          a day of a cache on disk by a clock that is moved on; the most that its folder held
               framemill-bench cache-start DIR N
          fills a cache to N entries, and says how long a start and a count take then
               framemill-bench cache-fill DIR | cache-check DIR | cache-flip N
          for Tests/cache-kill.sh: stores and reads until it is killed; reads what is there; flips N bits
               framemill-bench queue [--jobs N] [--batch N] sqlite:PATH|redis://HOST|unix:///SOCKET
          N jobs (default 100000) added, handed out in batches (128) and acknowledged; the queue must be empty

        """

    static func main() async {
        var words = Array(CommandLine.arguments.dropFirst())
        do throws(Failure) {
            guard !words.isEmpty else { throw Failure(.badOption, .input, usage) }
            switch words.removeFirst() {
            case "gif": try GIFBench(words).run()
            case "isolation": try IsolationBench(words).run()
            case "first-frame": try await FirstFrame(words).run()
            case "mutants": try Mutants(words).run()
            case "queue": try await QueueBench(words).run()
            case "cache": try await CacheBench(words).run()
            case "cache-memory": try await MemoryBench(words).run()
            case "cache-traces": try CacheTraces(words).run()
            case "cache-churn": try CacheChurn(words).run()
            case "cache-start": try CacheStorm.start(words)
            case "cache-fill": try CacheStorm.fill(words)
            case "cache-check": try CacheStorm.check(words)
            case "cache-flip": try CacheStorm.flip(words)
            case "--help", "-h", "help": print(usage, terminator: "")
            default: throw Failure(.badOption, .input, usage)
            }
        } catch {
            let text = error.reason == .badOption ? error.message : "framemill-bench: \(error)\n"
            FileHandle.standardError.write(Data(text.utf8))
            exit(error.reason == .badOption ? 2 : 1)
        }
    }

    /// A whole number above 0.
    static func number(_ word: String?) throws(Failure) -> Int {
        guard let number = word.flatMap({ Int($0) }), number > 0 else {
            throw Failure(.badOption, .input, usage)
        }
        return number
    }

    static func read(_ file: String) throws(Failure) -> [UInt8] {
        guard let data = FileManager.default.contents(atPath: file) else {
            throw Failure(.notFound, .input, "can't read \(file)")
        }
        return [UInt8](data)
    }
}
