internal import FramemillMedia
internal import FramemillQueue

/// How fast jobs that do nothing go through a queue, by one worker process: leased and acknowledged in batches, with
/// the next batch under way meanwhile.
struct QueueBench {
    private var jobs = 100_000
    private var batch = 128
    private var address = ""

    init(_ words: [String]) throws(Failure) {
        var words = words[...]
        while let word = words.popFirst() {
            switch word {
            case "--jobs": jobs = try Main.number(words.popFirst())
            case "--batch": batch = try Main.number(words.popFirst())
            default: address = word
            }
        }
        if address.isEmpty { throw Failure(.badOption, .input, Main.usage) }
    }

    func run() async throws(Failure) {
        let queue = try QueueAddress.open(address)
        guard try await queue.stats().waiting == 0 else {
            throw Failure(
                .badOption, .input, "\(address) is not empty; the jobs in it would be thrown away\n")
        }
        var recipe = Recipe()
        (recipe.box, recipe.format) = (.size(width: 320, height: 180), .webp)
        var start = ContinuousClock.now
        for first in stride(from: 0, to: jobs, by: 500) {
            _ = try await queue.add(
                (first..<min(first + 500, jobs)).map { number in
                    var job = Job("https://example.org/clips/\(number).mp4", recipe: recipe)
                    job.key = "bench-\(number)"
                    return job
                })
        }
        say("added", since: start)
        start = ContinuousClock.now
        // Two at a time: one batch is read and worked on while the queue has the other.
        async let one = pump(queue)
        async let two = pump(queue)
        let done = try await one.get() + two.get()
        guard done == jobs else {
            throw Failure(.internalError, .queue, "\(done) of \(jobs) were handed out\n")
        }
        say("handed out and done", since: start)
    }

    private func pump(_ queue: any JobQueue) async -> Result<Int, Failure> {
        do throws(Failure) {
            var done = 0
            while true {
                let held = try await queue.lease(batch, worker: "bench", for: .seconds(60))
                if held.isEmpty { return .success(done) }
                let ends = held.map {
                    Settlement($0.lease, .done(#"{"code":"ok","width":320,"height":180}"#))
                }
                let refused = try await queue.settle(ends)
                guard refused.isEmpty else {
                    throw Failure(.internalError, .queue, "\(refused.count) refused")
                }
                done += ends.count
            }
        } catch {
            return .failure(error)
        }
    }

    private func say(_ what: String, since start: ContinuousClock.Instant) {
        let seconds = Rounds.milliseconds(start.duration(to: .now)) / 1000
        print("\(what)\t\(jobs) jobs\t\(Rounds.text(seconds)) s\t\(Int(Double(jobs) / seconds)) a second")
    }
}
