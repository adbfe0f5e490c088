internal import FoundationEssentials
import Framemill
import FramemillEngine
import FramemillQueue

/// `framemill worker`: makes what waits in a queue, until it is told to stop.
struct Work {
    static func run(_ arguments: Arguments, _ signals: Signals) async throws(Failure) -> ExitCode {
        guard arguments.positionals.isEmpty else {
            throw Arguments.usage("worker takes no argument but options")
        }
        var configuration = try Configuration(arguments)
        // What a stranger put into a queue must not read the files of this machine.
        configuration.allowFiles = arguments.has("allow-files")
        let environment = ProcessInfo.processInfo.environment
        let manager = ServiceManager(environment: environment)
        let watch = try Watch(arguments, configuration)
        let options = try options(arguments, configuration)
        // What is done goes to its sink, and is asked for again by few: as little in memory as for a batch.
        configuration.memoryCacheBytes = min(configuration.memoryCacheBytes, 4 << 20)
        // Those that are late run beside as many that are not.
        configuration.jobs = options.slots * 2
        let queue = try QueueTool.queue(arguments)
        let sink = try sink(arguments, configuration)
        let decoders = try DecoderPool()
        let mill = try Framemill(configuration, renderer: decoders)
        let printsJSON = arguments.has("json")
        let pulse = Pulse(floorBytes: watch.floorBytes)
        let worker = Worker(
            queue, options, sink: sink,
            callbacks: try Callbacks(configuration, secret: environment["FRAMEMILL_WEBHOOK_SECRET"])
        ) { outcome in
            pulse.note(outcome)
            // A log that can't be written is no reason to leave the work.
            try? Output.result(printsJSON ? outcome.json : Output.tame(outcome.line))
        } trouble: { failure in
            pulse.note(.failure(failure))
            Output.note(Output.tame("framemill: \(failure)"))
        } make: { request throws(Failure) in
            try await mill.cover(for: request)
        }
        let isOutgrown = try await work(
            queue, worker, watch, pulse, manager, mill, decoders, arguments, signals)
        await mill.close()
        decoders.close()
        queue.close()
        // The port is free again; what else is open closes with the program.
        if isOutgrown { throw Restart.now() }
        return .allMade
    }

    /// - Returns: whether it ended because it takes too much memory.
    private static func work(
        _ queue: any JobQueue, _ worker: Worker, _ watch: Watch, _ pulse: Pulse, _ manager: ServiceManager,
        _ mill: Framemill, _ decoders: DecoderPool, _ arguments: Arguments, _ signals: Signals
    ) async throws(Failure) -> Bool {
        // Told at once, and before anything is leased, when the queue is not there.
        for warning in try await queue.stats().warnings { Output.note("framemill: \(warning)") }
        let health = try health(arguments) { path in
            let moment = Pulse.Moment(
                running: worker.running, oldestSeconds: worker.oldestSeconds, isDraining: worker.isStopping,
                deafSeconds: worker.deafSeconds, meters: mill.meters)
            return pulse.page(path, moment)
        }
        manager.ready("takes jobs")
        defer { withExtendedLifetime(health) {} }
        return await withTaskGroup(of: Bool.self) { group in
            group.addTask {
                await signals.wait()
                manager.stopping("takes no more jobs")
                worker.stop()
                return false
            }
            group.addTask {
                await watch.queue(queue, pulse)
                return false
            }
            group.addTask {
                await watch.room(pulse)
                return false
            }
            group.addTask {
                await tell(manager)
                return false
            }
            group.addTask {
                guard let words = await watch.memory(decoders) else { return false }
                Output.note("framemill: \(words)")
                manager.status("takes no more jobs, and starts again")
                worker.stop()
                return true
            }
            await worker.run()
            group.cancelAll()
            let isOutgrown = await group.contains(true)
            return isOutgrown && !signals.isRaised
        }
    }

    /// Signs of life for the watchdog of systemd. From a task, so that they end when tasks get no turn any more.
    private static func tell(_ manager: ServiceManager) async {
        guard let period = manager.watchdog else { return }
        repeat { manager.alive() } while await Watch.pause(period)
    }

    /// `nil` with `--listen none`.
    private static func health(
        _ arguments: Arguments, _ page: @escaping @Sendable (String) -> HealthServer.Page?
    ) throws(Failure) -> HealthServer? {
        let usual = "127.0.0.1:9180"
        let given = arguments.text("listen")
        let place = given ?? usual
        if place == "none" { return nil }
        guard let colon = place.lastIndex(of: ":"), let port = Int(place[place.index(after: colon)...]) else {
            throw Arguments.usage("--listen wants ADDRESS:PORT such as \(usual), or none")
        }
        let address = place[..<colon].filter { $0 != "[" && $0 != "]" }
        do throws(Failure) {
            let server = try HealthServer(address: address, port: port, page)
            if port == 0 { Output.note("framemill: listening at \(address), port \(server.port)") }
            return server
        } catch {
            // Nobody asked for this port: a second worker of this machine takes another.
            guard given == nil else { throw error }
            let server = try HealthServer(address: address, port: 0, page)
            Output.note("framemill: \(usual) is taken; listening at \(address), port \(server.port)")
            return server
        }
    }

    private static func options(
        _ arguments: Arguments, _ configuration: Configuration
    ) throws(Failure) -> Worker.Options {
        let host = ProcessInfo.processInfo.hostName
        var options = Worker.Options(
            name: arguments.text("name") ?? "\(host)-\(ProcessInfo.processInfo.processIdentifier)")
        options.slots = configuration.jobs
        if let most = try arguments.whole("max-jobs", 1...Int.max) { options.jobs = most }
        if let width = try arguments.whole("per-host", 1...1024) { options.perHost = width }
        if let grace = try arguments.whole("grace", 0...86400) { options.grace = .seconds(grace) }
        options.hostRate = try arguments.value(
            "host-rate", or: "jobs a second, 0.001 up to 1000"
        ) { Number.decimal($0).flatMap { (0.001...1000).contains($0) ? $0 : nil } }
        if let lease = try arguments.whole("lease", 3...86400) { options.lease = .seconds(lease) }
        if let tries = try arguments.whole("tries", 1...1000) { options.backoff.tries = tries }
        return options
    }

    private static func sink(_ arguments: Arguments, _ configuration: Configuration) throws(Failure)
        -> any Sink
    {
        switch arguments.text("sink") ?? "cache" {
        case "cache": return CacheSink()
        case "": throw Arguments.usage("--sink wants a directory, s3://BUCKET/PREFIX, or cache")
        case let address where address.hasPrefix("s3://"): return try BucketSink(address, configuration)
        case let path: return try FolderSink(path)
        }
    }
}

extension JobOutcome {
    /// One line for a person.
    fileprivate var line: String {
        let wait = retrySeconds.map { " again in \(Int($0.rounded())) s" } ?? ""
        let what = file.map { " -> \($0)" } ?? message.map { " \($0)" } ?? ""
        let callback = callbackFailure.map { "; callback failed: \($0)" } ?? ""
        return
            "\(event.rawValue) \(id) try \(tries) \(Int((seconds * 1000).rounded())) ms \(url)\(wait)\(what)\(callback)"
    }
}
