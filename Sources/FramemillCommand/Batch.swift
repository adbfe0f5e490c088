// A list in, a directory of covers and a manifest out; or, to warm a cache, nothing but what the cache keeps. One task owns the whole state (manifest, counts, who
// waits for whom) and takes one event after the other: lines read, a job ended, time to show progress, a
// signal. Jobs run beside it and only hand back their outcome, so nothing here needs a lock.
//
// Bounded by `jobs`: as many lines as that are in flight, the list is read a block at a time, and what is
// done lives in the manifest. Reading goes on while jobs run, and jobs end while a slow pipe is read.

import Framemill
import FramemillEngine

struct Batch {
    private enum Event: Sendable {
        case read(Result<ListReader.Chunk, Failure>)
        case ended(Job, Outcome)
        case tick
        case signal
    }

    private enum Outcome: Sendable {
        case made(Facts, Artifact.Origin, isStale: Bool)
        case failed(Failure)
    }

    private let options: BatchOptions
    private let signals: Signals
    private let mill: Framemill
    private let decoders: DecoderPool
    /// `nil` for a cache that is warmed.
    private let manifest: Manifest?
    private let folder: OutputFolder?
    private let bell: Bell
    private let listLane: Lane<ListReader>
    private let storeLane: Lane<OutputFolder>?

    private var progress: Progress
    private(set) var tally = Tally()
    private var pending: ArraySlice<RawLine> = []
    private var isReading = false
    private var hasEnded = false
    private var running = 0
    /// Lines that wait for a job that another line started, by key.
    private var followers: [UInt64: [Job]] = [:]
    private var followerCount = 0
    private var isInterrupted = false
    /// Why the run can't go on: the list can't be read or the manifest can't be written.
    private var trouble: Failure?

    init(_ options: BatchOptions, signals: Signals) throws(Failure) {
        self.options = options
        self.signals = signals
        bell = try Bell()
        // Told before anything is made. Not opened here: a named pipe can be opened only once.
        try ListReader.check(options.list)
        folder = options.out.map { OutputFolder($0) }
        try folder?.prepare()
        if let gallery = options.gallery { try Gallery.check(gallery, options) }
        // Equal lines are answered by the manifest, so covers kept in memory would only be held, never asked for.
        var configuration = options.configuration
        configuration.memoryCacheBytes = min(configuration.memoryCacheBytes, 4 << 20)
        decoders = try DecoderPool()
        mill = try Framemill(configuration, renderer: decoders)
        manifest = try options.manifest.map { [folder] (path) throws(Failure) in
            try Manifest(path) { record in
                guard record.isMade else { return !options.retriesFailed }
                guard let file = record.file, let facts = record.facts, let folder else { return false }
                let status = FileStatus(path: folder.place(of: file))
                return status?.isRegular == true && status?.byteCount == facts.byteCount
            }
        }
        listLane = Lane("list", width: 1) { [list = options.list, bell] () throws(Failure) in
            try ListReader(list, bell: bell)
        }
        // Most of a write is the wait for the disk, so a few at once.
        storeLane = folder.map { folder in Lane("store", width: 4) { () throws(Failure) in folder } }
        progress = Progress(isQuiet: options.isQuiet)
    }

    mutating func run() async throws(Failure) -> ExitCode {
        await makeAll()
        await mill.close()
        decoders.close()
        progress.clear()
        do throws(Failure) {
            if hasEnded, !isInterrupted, trouble == nil { try manifest?.dropForeignLines() }
            if let gallery = options.gallery, let manifest, let folder {
                try Gallery.write(to: gallery, from: manifest, folder: folder) {
                    signals.isRaised && !isInterrupted
                }
            }
        } catch {
            if trouble == nil { trouble = error }
        }
        let notKept = mill.meters["cache_write_failed", default: 0]
        if options.isWarming, notKept > 0, trouble == nil, let cache = options.configuration.cacheDirectory {
            trouble = Failure(.writeFailed, .cache, "\(notKept) covers were not kept in the cache \(cache)")
        }
        let exit = exitCode
        try BatchSummary(tally, options, seconds: progress.elapsed.seconds, exit: exit).show(&progress)
        if !options.isWarming, notKept > 0, let cache = options.configuration.cacheDirectory {
            progress.note("\(notKept) covers were not kept in the cache \(cache), which cannot be written")
        }
        if let trouble { Output.note(Output.tame("framemill: \(trouble)")) }
        return exit
    }

    /// Trouble counts like a failed line, unless it is our own fault or bad usage.
    private var exitCode: ExitCode {
        if isInterrupted || signals.isRaised { return .interrupted }
        guard let trouble else { return ExitCode(made: tally.made, failed: tally.failed) }
        let alone = ExitCode(trouble)
        return alone == .noneMade && tally.made > 0 ? .someFailed : alone
    }

    private mutating func makeAll() async {
        await withTaskGroup(of: Event.self) { group in
            group.addTask { [signals] in
                await signals.wait()
                return .signal
            }
            startTicking(&group)
            while true {
                // Jobs first: lines that need none are used up at once, and more must be read.
                startJobs(&group)
                startReading(&group)
                if running == 0, !isReading { break }
                guard let event = await group.next() else { break }
                take(event, &group)
                progress.show(tally)
            }
            group.cancelAll()
        }
    }

    private mutating func take(_ event: Event, _ group: inout TaskGroup<Event>) {
        switch event {
        case .read(.success(let chunk)):
            isReading = false
            if group.isCancelled { break }
            hasEnded = chunk.hasEnded
            pending = chunk.lines[...]
            tally.share = chunk.bytesTotal.map { Double(chunk.bytesRead) / Double(max(1, $0)) }
        case .read(.failure(let failure)):
            isReading = false
            if !group.isCancelled { stop(&group, failure) }
        case .ended(let job, let outcome):
            running -= 1
            settle(job, outcome, &group)
        case .tick:
            if !group.isCancelled { startTicking(&group) }
        case .signal:
            if group.isCancelled { break }
            isInterrupted = true
            stop(&group, nil)
        }
    }

    /// No new lines; what runs is cancelled.
    private mutating func stop(_ group: inout TaskGroup<Event>, _ failure: Failure?) {
        if trouble == nil { trouble = failure }
        hasEnded = true
        pending = []
        bell.ring()
        group.cancelAll()
    }

    private func startTicking(_ group: inout TaskGroup<Event>) {
        guard let interval = progress.interval else { return }
        group.addTask {
            try? await Task.sleep(for: interval)  // cancelled: the run is over, and so is the wait
            return .tick
        }
    }

    private mutating func startReading(_ group: inout TaskGroup<Event>) {
        guard !isReading, !hasEnded, pending.isEmpty else { return }
        isReading = true
        group.addTask { [listLane] in
            do throws(Failure) {
                let stop = Stop(after: .seconds(1 << 32))
                return .read(
                    .success(
                        try await listLane.run(stop: stop) { (reader, _) throws(Failure) in try reader.next()
                        }))
            } catch {
                return .read(.failure(error))
            }
        }
    }

    private mutating func startJobs(_ group: inout TaskGroup<Event>) {
        while running + followerCount < options.configuration.jobs, let raw = pending.popFirst() {
            switch ListLine(raw) {
            case .nothing: break
            case .refused(let entry, let failure):
                let job = Job(entry, recipe: options.recipe)
                if !isSettled(job) { write(Record(entry, key: job.key, failure), &group) }
            case .entry(let entry):
                start(Job(entry, recipe: options.recipe), &group)
            }
        }
    }

    private mutating func isSettled(_ job: Job) -> Bool {
        guard let isMade = manifest?.settled(line: job.entry.line, job: job) else { return false }
        tally.countResumed(isMade: isMade)
        return true
    }

    private mutating func start(_ job: Job, _ group: inout TaskGroup<Event>) {
        if isSettled(job) { return }
        if followers[job.number] != nil {
            followers[job.number]!.append(job)
            followerCount += 1
            return
        }
        do throws(Failure) {
            // A failure of the URL says nothing of places that only this line names.
            if let answer = try manifest?.answer(to: job), answer.isMade || job.request.mirrors.isEmpty {
                tally.duplicates += 1
                return write(answer.repeated(for: job.entry), &group)
            }
        } catch {
            return stop(&group, error)
        }
        followers[job.number] = []
        running += 1
        var request = job.request
        (request.reuse, request.retriesFailed) = (options.reuse, options.retriesFailed)
        group.addTask { [request, mill, storeLane] in
            .ended(job, await Self.make(job, request, mill, storeLane))
        }
    }

    private static func make(
        _ job: Job, _ request: Request, _ mill: Framemill, _ store: Lane<OutputFolder>?
    ) async -> Outcome {
        do throws(Failure) {
            let artifact = try await mill.cover(for: request)
            // Made is made: writing it is not cut short by the job's own deadline.
            try await store?.run(stop: Stop(after: .seconds(1 << 32))) { (folder, _) throws(Failure) in
                try folder.write(artifact.bytes, as: job.file)
            }
            var facts = artifact.facts
            facts.byteCount = artifact.bytes.count
            return .made(facts, artifact.origin, isStale: artifact.isStale)
        } catch {
            return .failed(error)
        }
    }

    private mutating func settle(_ job: Job, _ outcome: Outcome, _ group: inout TaskGroup<Event>) {
        let waiting = followers.removeValue(forKey: job.number) ?? []
        followerCount -= waiting.count
        let record: Record
        switch outcome {
        case .made(let facts, let origin, let isStale):
            var made = Record(job.entry, key: job.key)
            (made.origin, made.facts) = (origin.rawValue, facts)
            if folder != nil { made.file = job.file }
            if isStale { made.stale = true }
            record = made
        case .failed(let failure):
            // Cut short by us: no answer, the next run asks again.
            if group.isCancelled, [.cancelled, .closed].contains(failure.reason) { return }
            record = Record(job.entry, key: job.key, failure)
        }
        write(record, &group)
        for follower in waiting where !group.isCancelled {
            // A failure answers only those that name the same mirrors.
            guard record.isMade || follower.request.mirrors == job.request.mirrors else {
                start(follower, &group)
                continue
            }
            tally.duplicates += 1
            write(record.repeated(for: follower.entry), &group)
        }
    }

    /// Into the page cache at once, so that a kill loses nothing. A hop to a lane would cost more than the
    /// write.
    private mutating func write(_ record: Record, _ group: inout TaskGroup<Event>) {
        do throws(Failure) {
            try manifest?.append(record)
            tally.count(record)
        } catch {
            stop(&group, error)
        }
    }
}
