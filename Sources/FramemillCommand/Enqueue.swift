import Framemill
import FramemillEngine
import FramemillQueue

/// `framemill enqueue`: the lines of a list become jobs. Twice the same line is one job, as long as that is there.
struct Enqueue {
    private struct Summary: Encodable {
        var lines = 0
        var added = 0
        var duplicates = 0
        var refused = 0
    }

    static func run(_ arguments: Arguments, _ signals: Signals) async throws(Failure) -> ExitCode {
        let list = try arguments.only("LIST")
        try ListReader.check(list)
        if let option = Recipe.Animated.options.first(where: arguments.has), !arguments.has("animated") {
            throw Arguments.usage("--\(option) is for animations: it goes with --animated")
        }
        let recipe = try arguments.has("animated") ? Recipe(moving: arguments) : Recipe(arguments)
        let words = "interactive, prefetch or backfill"
        let priority = try arguments.value("priority", or: words, Priority.init(name:)) ?? .backfill
        let queue = try QueueTool.queue(arguments)
        defer { queue.close() }
        let bell = try Bell()
        let lane = Lane("list", width: 1) { () throws(Failure) in try ListReader(list, bell: bell) }
        let answer = await signals.cancelling { () async -> Result<Summary, Failure> in
            do throws(Failure) {
                return .success(try await add(lane, queue, recipe, priority, signals))
            } catch {
                return .failure(error)
            }
        }
        bell.ring()
        let summary = try answer.get()
        let text = "added=\(summary.added) duplicates=\(summary.duplicates) refused=\(summary.refused)"
        try Output.result(arguments.has("json") ? JSON.text(summary) : text)
        if signals.isRaised { return .interrupted }
        return ExitCode(made: summary.added + summary.duplicates, failed: summary.refused)
    }

    private static func add(
        _ lane: Lane<ListReader>, _ queue: any JobQueue, _ recipe: Recipe, _ priority: Priority,
        _ signals: Signals
    ) async throws(Failure) -> Summary {
        var summary = Summary()
        var hasEnded = false
        while !hasEnded, !signals.isRaised {
            let chunk = try await lane.run(stop: Stop()) { (reader, _) throws(Failure) in try reader.next() }
            hasEnded = chunk.hasEnded
            var jobs: [FramemillQueue.Job] = []
            for raw in chunk.lines {
                switch ListLine(raw) {
                case .nothing: continue
                case .refused(_, let failure):
                    Output.note(Output.tame("framemill: \(failure.message)"))
                    summary.refused += 1
                case .entry(let entry): jobs.append(FramemillQueue.Job(entry, recipe, priority))
                }
                summary.lines += 1
            }
            for start in stride(from: 0, to: jobs.count, by: 500) {
                let added = try await queue.add(Array(jobs[start..<min(start + 500, jobs.count)]))
                summary.added += added.count { $0 == .added }
                summary.duplicates += added.count { $0 != .added }
            }
        }
        return summary
    }
}

extension FramemillQueue.Job {
    /// The line's own name for it goes with it as `data`, and comes back with the outcome.
    fileprivate init(_ entry: Entry, _ recipe: Recipe, _ priority: Priority) {
        var recipe = recipe
        if let at = entry.at { recipe.at = at }
        self.init(entry.url, recipe: recipe, priority: priority)
        (mirrors, data) = (entry.mirrors, entry.id)
        key = pictureKey
    }
}
