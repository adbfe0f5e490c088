import Framemill
import FramemillQueue

/// `framemill queue`: what waits, runs and failed, and what a person does about it. Works beside workers.
struct QueueTool {
    private enum Action: String, CaseIterable { case stat, list, failed, show, replay, purge, pause, resume }

    private let queue: any JobQueue
    private let filter: JobFilter
    private let printsJSON: Bool

    static func run(_ arguments: Arguments) async throws(Failure) -> ExitCode {
        guard let word = arguments.positionals.first else {
            throw Arguments.usage("which action? \(words)")
        }
        guard let action = Action(rawValue: word) else {
            let nearest = Suggestion.nearest(to: word, among: Action.allCases.map(\.rawValue))
            throw Arguments.usage(
                "\(word) is no action of queue\(nearest.map { "; did you mean \($0)?" } ?? ": \(words)")")
        }
        let takesID = action == .show
        guard arguments.positionals.count == (takesID ? 2 : 1) else {
            throw Arguments.usage(
                takesID ? "queue show takes one ID" : "queue \(word) takes no further argument")
        }
        let tool = try QueueTool(arguments)
        defer { tool.queue.close() }
        return try await tool.perform(action, arguments)
    }

    private static var words: String { Action.allCases.map(\.rawValue).joined(separator: ", ") }

    /// The queue that `--queue` names.
    static func queue(_ arguments: Arguments) throws(Failure) -> any JobQueue {
        guard let address = arguments.text("queue") else {
            throw Arguments.usage("which queue? --queue \(QueueAddress.words)")
        }
        return try QueueAddress.open(address)
    }

    private init(_ arguments: Arguments) throws(Failure) {
        queue = try Self.queue(arguments)
        filter = try JobFilter(arguments)
        printsJSON = arguments.has("json")
    }

    private func perform(_ action: Action, _ arguments: Arguments) async throws(Failure) -> ExitCode {
        switch action {
        case .stat: try await stat()
        case .list: try await list(try Self.state(arguments) ?? .waiting, arguments)
        case .failed: try await list(.dead, arguments)
        case .show:
            guard let record = try await queue.show(arguments.positionals[1]) else {
                throw Failure(
                    .notFound, .queue, "there is no job \(arguments.positionals[1]); it is done, or never was"
                )
            }
            try Output.result(JSON.text(record))
        case .replay:
            try choose(arguments)
            let count = try await queue.replay(filter)
            try say(["replayed": count]) { "replayed=\(count)" }
        case .purge:
            try choose(arguments)
            let count = try await queue.purge(try Self.state(arguments) ?? .dead, filter)
            try say(["purged": count]) { "purged=\(count)" }
        case .pause, .resume:
            let host = arguments.text("host")
            if action == .pause {
                try await queue.pause(host: host)
            } else {
                try await queue.resume(host: host)
            }
            try say([action == .pause ? "paused" : "resumed": host ?? "all"]) {
                "\(action == .pause ? "paused" : "resumed")=\(Output.tame(host ?? "all"))"
            }
        }
        return .allMade
    }

    private func stat() async throws(Failure) {
        let stats = try await queue.stats()
        for warning in stats.warnings { Output.note("framemill: \(warning)") }
        try say(stats) {
            let depths = Priority.allCases.map { priority in
                let depth = stats.priorities[priority.name] ?? .init()
                let age = depth.oldestMilliseconds / 1000
                return "\(priority.name)=\(depth.waiting) \(priority.name)_oldest_seconds=\(age)"
            }
            return depths.joined(separator: " ")
                + " delayed=\(stats.delayed) running=\(stats.running) dead=\(stats.dead) parked=\(stats.parked)"
                + " done=\(stats.done) paused=\(stats.isPaused) bytes=\(stats.bytes)"
        }
    }

    private func list(_ state: JobState, _ arguments: Arguments) async throws(Failure) {
        let limit = try arguments.whole("limit", 1...10_000_000) ?? 1000
        for record in try await queue.list(state, filter, limit: limit) {
            try say(record) {
                let code = record.code.map { " \($0)" } ?? ""
                return Output.tame(
                    "\(record.id) \(record.state) \(record.priority) \(record.tries)\(code) \(record.host)")
            }
        }
    }

    private static func state(_ arguments: Arguments) throws(Failure) -> JobState? {
        try arguments.choice("state", JobState.allCases.map(\.rawValue).joined(separator: ", "))
    }

    /// Everything at once only for who says so.
    private func choose(_ arguments: Arguments) throws(Failure) {
        guard (filter == JobFilter()) == arguments.has("all") else {
            throw Arguments.usage(
                arguments.has("all")
                    ? "--all and a choice contradict each other"
                    : "which jobs? --code, --class, --host, --older-than, or --all")
        }
    }

    private func say(_ value: some Encodable, _ text: () -> String) throws(Failure) {
        try Output.result(printsJSON ? JSON.text(value) : text())
    }
}

extension JobFilter {
    fileprivate init(_ arguments: Arguments) throws(Failure) {
        self.init()
        code = arguments.text("code")
        self.class = try arguments.choice("class", "transient or permanent")
        host = arguments.text("host")
        olderThan = try arguments.value("older-than", or: "an age such as 90s, 30m, 12h or 7d") { text in
            let units: [Character: Int] = ["s": 1, "m": 60, "h": 3600, "d": 86400]
            guard let unit = text.last.flatMap({ units[$0] }),
                let count = Number.whole(String(text.dropLast())),
                count <= 1_000_000
            else { return nil }
            return .seconds(count * unit)
        }
    }
}
