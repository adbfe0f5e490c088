// Decoder processes, as many as pictures are worked on at once: each lane thread that renders takes one, so there are
// never more of them than threads, and none waits for another. One job at a time for each; a crash costs that job.

internal import FramemillBorder
internal import FramemillEngine
public import FramemillMedia
internal import Synchronization

/// Decodes in processes that have no files and no network, and are replaced when they crash, grow, or take too long.
///
/// ```swift
/// let framemill = try Framemill(configuration, renderer: try DecoderPool())
/// ```
///
/// What goes wrong in one fails with `decoderCrashed`, `tooMuchMemory` or `timeout`, for that picture alone. The processes
/// end with the pool, or with this process.
public final class DecoderPool: Sendable {
    private struct State {
        /// The last one back is the first one out: what it needs is still in the caches of the machine.
        var idle: [(process: DecoderProcess, session: Int)] = []
        var busy: [DecoderProcess] = []
        /// Of the last job or animation.
        var number = 0
        var isClosed = false
    }
    private let state = Mutex(State())
    private let options: DecoderOptions
    private let path: String
    private let helpers = Processors.available - 1

    /// Starts nothing yet.
    /// - Throws: `badOption` where there is no decoder to start.
    public init(_ options: DecoderOptions = DecoderOptions()) throws(Failure) {
        self.options = options
        path = try options.located()
    }

    /// Ends the processes that have nothing to do; the others end after their jobs. What is asked for from now on fails
    /// with `closed`.
    public func close() {
        let idle = state.withLock { state in
            state.isClosed = true
            defer { state.idle = [] }
            return state.idle
        }
        for (process, _) in idle { process.end() }
    }

    /// Process numbers of the decoders that there are.
    public var processes: [Int32] {
        state.withLock { $0.idle.map(\.process.pid) + $0.busy.map(\.pid) }
    }

    func draw() -> Int {
        state.withLock { state in
            state.number += 1
            return state.number
        }
    }

    /// What `accept` makes of the answer to `job`; it gives `nil` where that can't be.
    func perform<Value>(
        _ job: Job, _ readers: [any ByteReader], crew: Crew, stop: Stop, mostFrames: Int = 0,
        drawing: Drawing? = nil,
        admits: @escaping (FrameHead) -> Bool = { _ in false },
        _ accept: (inout Fields, [AnimationFrame]) -> Value?
    ) throws(Failure) -> Value {
        var job = job
        var isFirst = true
        while true {
            try stop.check(.decode)
            drawing?.restart()
            let process = try take(job.session)
            job.number = draw()
            var call = DecoderCall(
                process, readers, crew: crew, stop: stop, grace: options.grace, mostFrames: mostFrames,
                drawing: drawing, admits: admits)
            let outcome = call.run(job)
            switch outcome {
            case .made(var fields, let frames):
                if let value = accept(&fields, frames), fields.isDone {
                    give(process, job.session)
                    return value
                }
                drop(process)
                throw Self.crash("gave something that was not asked for", nil)
            case .failed(let failure):
                give(process, job.session)
                throw failure.reason == .outOfMemory
                    ? tooMuchMemory(failure.cause ?? failure.message) : failure
            case .refused(let failure):
                drop(process)
                throw failure
            case .broken(let error):
                let ending = drop(process)
                // Gone before it looked at anything: it is not the picture's fault.
                let isRunAgain = isFirst && error == .ended && !call.hasSpoken
                isFirst = false
                if !isRunAgain { throw failure(error, ending, stop, hasGreeted: call.hasGreeted) }
            }
        }
    }

    var memoryBytes: Int { options.memoryBytes }

    private func take(_ session: Int) throws(Failure) -> DecoderProcess {
        while true {
            let (kept, isClosed) = state.withLock { state -> (DecoderProcess?, Bool) in
                let place = session == 0 ? nil : state.idle.lastIndex { $0.session == session }
                guard !state.isClosed, let last = state.idle.indices.last else {
                    return (nil, state.isClosed)
                }
                let process = state.idle.remove(at: place ?? last).process
                state.busy.append(process)
                return (process, false)
            }
            if isClosed { throw Failure(.closed, .decode, "the decoders are closed") }
            guard let kept else { break }
            if kept.isRunning { return kept }
            drop(kept)
        }
        let process = try DecoderProcess(path, helpers: helpers, memoryBytes: options.memoryBytes)
        state.withLock { $0.busy.append(process) }
        return process
    }

    private func give(_ process: DecoderProcess, _ session: Int) {
        let isSpent =
            process.talk.withLock { $0.jobs } >= options.jobs || process.residentBytes > options.restingBytes
        let isKept = state.withLock { state in
            state.busy.removeAll { $0 === process }
            guard !isSpent, !state.isClosed, state.idle.count < options.idle else { return false }
            state.idle.append((process, session))
            return true
        }
        if !isKept { process.end() }
    }

    @discardableResult
    private func drop(_ process: DecoderProcess) -> DecoderProcess.Ending {
        state.withLock { $0.busy.removeAll { $0 === process } }
        return process.end()
    }
}
