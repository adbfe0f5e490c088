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
        let count = arguments.positionals.count - 1
        switch action {
        case .show where count != 1: throw Arguments.usage("queue show takes one ID")
        case .show, .replay, .purge: break
        case _ where count > 0: throw Arguments.usage("queue \(word) takes no further argument")
        default: break
        }
        let tool = try QueueTool(arguments)
        defer { tool.queue.close() }
        return try await tool.perform(action, arguments)
    }

    private static var words: String { Action.allCases.map(\.rawValue).joined(separator: ", ") }

    /// The queue that `--queue` names.
    static func queue(_ arguments: Arguments, mustExist: Bool = false) throws(Failure) -> any JobQueue {
        guard let address = arguments.text("queue") else {
            throw Arguments.usage("which queue? --queue \(QueueAddress.words)")
        }
        return try QueueAddress.open(address, mustExist: mustExist)
    }

    private init(_ arguments: Arguments) throws(Failure) {
        // Who looks at a queue that is not there has mistyped it.
        queue = try Self.queue(arguments, mustExist: true)
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
            let ids = try choose(arguments)
            let count = ids.isEmpty ? try await queue.replay(filter) : try await queue.replay(ids)
            try say(["replayed": count]) { "replayed=\(count)" }
            try check(count, of: ids, "is among the failed ones")
        case .purge:
            let ids = try choose(arguments)
            let state = try Self.state(arguments)
            guard ids.isEmpty || state == nil else {
                throw Arguments.usage("an ID says which job, whatever its --state is; give one of them")
            }
            let count =
                ids.isEmpty ? try await queue.purge(state ?? .dead, filter) : try await queue.purge(ids)
            try say(["purged": count]) { "purged=\(count)" }
            try check(count, of: ids, "is there and does not run")
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
    /// - Returns: the ids that are named; none where the filter, or `--all`, chooses.
    private func choose(_ arguments: Arguments) throws(Failure) -> [String] {
        let ids = Array(arguments.positionals.dropFirst())
        let choices = [!ids.isEmpty, filter != JobFilter(), arguments.has("all")].count { $0 }
        guard choices == 1 else {
            throw Arguments.usage(
                choices > 1
                    ? "an ID, --all, and a choice by --code, --class, --host or --older-than exclude each other"
                    : "which jobs? an ID, --code, --class, --host, --older-than, or --all")
        }
        return ids
    }

    private func check(_ count: Int, of ids: [String], _ what: String) throws(Failure) {
        guard count < ids.count else { return }
        throw Failure(
            .notFound, .queue,
            "\(ids.count - count) of \(ids.count) named jobs were passed over: no such job \(what)")
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
