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
        let maker = JobMaker(recipe: recipe, priority: priority)
        let printsIDs = arguments.has("ids")
        let printsJSON = arguments.has("json")
        let answer = await signals.cancelling { () async -> Result<Summary, Failure> in
            do throws(Failure) {
                return .success(
                    try await add(lane, queue, maker, signals) { line throws(Failure) in
                        guard printsIDs else { return }
                        try Output.result(printsJSON ? JSON.text(line) : Output.tame(line.text))
                    })
            } catch {
                return .failure(error)
            }
        }
        bell.ring()
        let summary = try answer.get()
        let text = "added=\(summary.added) duplicates=\(summary.duplicates) refused=\(summary.refused)"
        try Output.result(printsJSON ? JSON.text(summary) : text)
        if signals.isRaised { return .interrupted }
        return ExitCode(made: summary.added + summary.duplicates, failed: summary.refused)
    }

    /// What became of one job, for `--ids`.
    private struct Line: Encodable {
        var line: Int
        /// Of the job that is in the queue now.
        var id: String
        var added: Bool
        var url: String

        var text: String { "\(id) \(added ? "added" : "duplicate") \(url)" }
    }

    private static func add(
        _ lane: Lane<ListReader>, _ queue: any JobQueue, _ maker: JobMaker, _ signals: Signals,
        _ tell: (Line) throws(Failure) -> Void
    ) async throws(Failure) -> Summary {
        var summary = Summary()
        var hasEnded = false
        while !hasEnded, !signals.isRaised {
            let chunk = try await lane.run(stop: Stop()) { (reader, _) throws(Failure) in try reader.next() }
            hasEnded = chunk.hasEnded
            var jobs: [(line: Int, job: FramemillQueue.Job)] = []
            for raw in chunk.lines {
                do throws(Failure) {
                    guard let job = try maker.job(raw) else { continue }
                    jobs.append((raw.number, job))
                } catch {
                    Output.note(Output.tame("framemill: line \(raw.number): \(error.message)"))
                    summary.refused += 1
                }
                summary.lines += 1
            }
            for start in stride(from: 0, to: jobs.count, by: 500) {
                let part = jobs[start..<min(start + 500, jobs.count)]
                for (one, outcome) in zip(part, try await queue.add(part.map(\.job))) {
                    let (added, id) = (outcome == .added, outcome.holder ?? one.job.id)
                    summary.added += added ? 1 : 0
                    summary.duplicates += added ? 0 : 1
                    // An id is the producer's word: two different jobs with one are a mistake of somebody's.
                    if !added, id == one.job.id {
                        Output.note(
                            Output.tame(
                                "framemill: line \(one.line) was not added: there is a job with the id \(id)")
                        )
                    }
                    try tell(Line(line: one.line, id: id, added: added, url: one.job.shownURL))
                }
            }
        }
        return summary
    }
}

/// From lines to jobs.
private struct JobMaker: Sendable {
    var recipe: Recipe
    var priority: Priority

    /// `nil` for a line that says nothing.
    /// - Throws: what is wrong with it.
    func job(_ raw: RawLine) throws(Failure) -> FramemillQueue.Job? {
        switch ListLine(raw) {
        case .nothing: return nil
        case .refused(_, let failure): throw failure
        case .entry(let entry):
            var job = FramemillQueue.Job(entry.url, recipe: recipe, priority: priority)
            // An object is a job, of which a batch knows a few names only.
            if let object = try? raw.text.get().trimming({ $0.isWhitespace || $0 == "\u{FEFF}" }),
                object.hasPrefix("{")
            {
                job = try FramemillQueue.Job(json: String(object), over: recipe, priority: priority)
            }
            try job.checkAddresses()
            if entry.id == nil, job.key == nil, job.callback == nil { job.key = job.pictureKey }
            return job
        }
    }
}

extension Added {
    /// The job that stands in the way.
    fileprivate var holder: String? {
        if case .duplicate(let id) = self { id } else { nil }
    }
}
