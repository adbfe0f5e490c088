// One job on one decoder, from the parent's side, on the thread that calls. It holds a permit for as long as the decoder
// computes, and lends it while that waits for bytes. A decoder may be in the hands of whoever wrote the file: each word of
// it is held against what was asked. A picture that is not the file's nobody could tell.

internal import FramemillBorder
internal import FramemillCanvas
internal import FramemillEngine
internal import FramemillMedia
internal import Synchronization

struct DecoderCall: ~Copyable {
    private let process: DecoderProcess
    private let readers: [any ByteReader]
    private let crew: Crew
    private let stop: Stop
    private let grace: Duration
    /// What a frame may be.
    private let admits: (FrameHead) -> Bool
    private let mostFrames: Int
    /// Who draws frames that come as patches.
    private let drawing: Drawing?

    private var held = 0
    /// Of a source; the decoder hands it back.
    private var readFailure: Failure?
    private var frames: [AnimationFrame] = []
    /// Parts of frames that were taken, and of these the ones that the decoder knows of.
    private var parts = 0
    private var told = 0
    /// From when on the decoder is killed; `nil` while nobody has cancelled and the deadline is what counts.
    private var end: ContinuousClock.Instant
    /// Whether it is a decoder, by its first words.
    private(set) var hasGreeted = false
    /// Whether it has said anything about this job.
    private(set) var hasSpoken = false

    init(
        _ process: DecoderProcess, _ readers: [any ByteReader], crew: Crew, stop: Stop, grace: Duration,
        mostFrames: Int = 0, drawing: Drawing? = nil,
        admits: @escaping (FrameHead) -> Bool = { _ in false }
    ) {
        self.drawing = drawing
        self.process = process
        self.readers = readers
        self.crew = crew
        self.stop = stop
        self.grace = grace
        self.mostFrames = mostFrames
        self.admits = admits
        end = ContinuousClock.now.advanced(by: min(stop.remaining, .seconds(1 << 30)) + grace)
    }

    enum Outcome {
        case made(Fields, [AnimationFrame])
        /// The decoder lives and has said why not.
        case failed(Failure)
        /// The decoder could not begin.
        case refused(Failure)
        /// The decoder is of no more use.
        case broken(LineError)
    }

    mutating func run(_ job: Job) -> Outcome {
        var job = job
        let (seconds, attoseconds) = stop.remaining.components
        job.nanoseconds = Int(min(seconds, 1 << 30) * 1_000_000_000 + attoseconds / 1_000_000_000)
        job.width = crew.width
        // Where frames are drawn here, helpers are of more use for that; what takes long asks for them.
        held = drawing == nil ? crew.renew(0) : 0
        defer { crew.giveBack(held) }
        job.cores = held
        job.sources = readers.map { Job.Source(byteCount: $0.byteCount, isLocal: $0.isLocal) }
        process.allow(cpuSeconds: Int(min(seconds, 1 << 30) + 2) * crew.width)
        process.quiet()
        let ticket = stop.onRaise { [process] in process.ring() }
        defer { stop.forget(ticket) }
        let process = process
        do throws(LineError) {
            return try process.talk.withLock { (talk) throws(LineError) in try self.serve(job, &talk) }
        } catch {
            return .broken(error)
        }
    }

    private mutating func serve(
        _ job: Job, _ talk: inout DecoderProcess.Talk
    ) throws(LineError) -> Outcome {
        var job = job
        talk.jobs += 1
        try talk.line.send(Message(.job) { $0.pass(&job) }, waits: false)
        if !talk.hasGreeted {
            let hello = try next(&talk, job.number)
            if let failure = Self.failure(hello) { return .refused(failure) }
            var fields = Fields(reading: hello.payload)
            var (magic, version): (UInt64, Int) = (0, 0)
            fields.pass(&magic)
            fields.pass(&version)
            guard hello.kind == .hello, fields.isDone, magic == Border.magic else {
                throw .nonsense("no greeting of a decoder")
            }
            guard version == Border.version else {
                throw .nonsense("the words of version \(version), where \(Border.version) is spoken")
            }
            talk.hasGreeted = true
        }
        hasGreeted = true
        while true {
            let message = try next(&talk, job.number)
            hasSpoken = true
            var fields = Fields(reading: message.payload)
            switch message.kind {
            case .read: try read(&fields, talk)
            case .expect:
                let (reader, range) = try range(&fields)
                reader.expect(range)
            case .askLength:
                var count = try reader(&fields).byteCount
                try talk.line.send(Message(.length) { $0.pass(&count) }, waits: false)
            case .wantCores:
                held = crew.renew(held)
                try talk.line.send(Message(.cores) { $0.pass(&held) }, waits: false)
            case .frame: try frame(&fields, &talk, job.number)
            case .patch: try patch(&fields, &talk, job.number)
            case .result: return .made(fields, frames)
            case .failure: return .failed(try judged(message))
            default: throw .nonsense("a word out of place")
            }
        }
    }

    /// The next message. Who cancels is passed on; who does not end then, or at the deadline, is given up.
    private mutating func next(
        _ talk: inout DecoderProcess.Talk, _ job: Int
    ) throws(LineError) -> Message {
        var end = end
        defer { self.end = end }
        return try talk.line.receive { [process, grace, stop] () throws(LineError) in
            while true {
                let left = ContinuousClock.now.duration(to: end)
                if left <= .zero { throw .late }
                switch process.listen(left) {
                case .message: return
                case .nothing: continue
                case .bell:
                    process.quiet()
                    // Else it was meant for the job before.
                    guard stop.isCancelled else { continue }
                    process.cancel(job)
                    end = min(end, ContinuousClock.now.advanced(by: grace))
                }
            }
        }
    }

    private func reader(_ fields: inout Fields) throws(LineError) -> any ByteReader {
        var index = 0
        fields.pass(&index)
        guard !fields.isSpoiled, readers.indices.contains(index) else {
            throw .nonsense("a source that is not there")
        }
        return readers[index]
    }

    private func range(_ fields: inout Fields) throws(LineError) -> (any ByteReader, Range<Int64>) {
        let reader = try reader(&fields)
        var (start, end): (Int64, Int64) = (0, 0)
        fields.pass(&start)
        fields.pass(&end)
        guard fields.isDone, start >= 0, start < end, end <= Self.farthest else {
            throw .nonsense("a range that can't be")
        }
        return (reader, start..<end)
    }

    private mutating func read(
        _ fields: inout Fields, _ talk: borrowing DecoderProcess.Talk
    ) throws(LineError) {
        let reader = try reader(&fields)
        var wish = Wish()
        fields.pass(&wish.offset)
        fields.pass(&wish.count)
        guard fields.isDone, (1...Arena.sourceBytes).contains(wish.count),
            (0...Self.farthest).contains(wish.offset)
        else { throw .nonsense("bytes that can't be") }
        var (count, failure): (Int, Failure?) = (0, nil)
        do throws(Failure) {
            // Written to and never read: what the decoder does with it meanwhile is its own loss.
            let room = unsafe UnsafeMutableRawBufferPointer(rebasing: process.arena.source[..<wish.count])
            count = try unsafe reader.read(at: wish.offset, into: room)
        } catch {
            readFailure = error
            failure = error
        }
        try talk.line.send(
            Message(.bytes) {
                $0.pass(&count)
                $0.pass(&failure, blank: Failure(.internalError, .fetch, "")) { $0.pass(&$1) }
            }, waits: false)
    }

    private mutating func frame(
        _ fields: inout Fields, _ talk: inout DecoderProcess.Talk, _ job: Int
    ) throws(LineError) {
        var head = FrameHead()
        fields.pass(&head)
        guard fields.isDone, frames.count < mostFrames, admits(head), let wanted = head.picture.byteCount
        else {
            throw .nonsense("a frame that can't be")
        }
        let pixels = try pixels(wanted, first: head.count, &talk, job)
        let bitmap = Bitmap(
            width: head.picture.width, height: head.picture.height, pixels: pixels,
            hasAlpha: head.picture.hasAlpha)
        frames.append(
            AnimationFrame(index: head.index, delay: head.delay, bitmap: bitmap, isWhole: head.isWhole))
    }

    private mutating func patch(
        _ fields: inout Fields, _ talk: inout DecoderProcess.Talk, _ job: Int
    ) throws(LineError) {
        var head = PatchHead()
        fields.pass(&head)
        guard fields.isDone, let drawing, drawing.admits(head) else {
            throw .nonsense("a patch that can't be")
        }
        drawing.add(head, try pixels(head.byteCount, first: head.count, &talk, job))
    }

    /// So many bytes, of which the first part is there.
    private mutating func pixels(
        _ wanted: Int, first: Int, _ talk: inout DecoderProcess.Talk, _ job: Int
    ) throws(LineError) -> [UInt8] {
        var problem: LineError?
        let pixels = unsafe [UInt8](unsafeUninitializedCapacity: wanted) { room, done in
            do throws(LineError) {
                var count = first
                while true {
                    guard count == min(Arena.slotBytes, wanted - done) else {
                        throw .nonsense("pixels that are not as many as they should be")
                    }
                    // `count` bytes on both sides, by the line above.
                    unsafe UnsafeMutableRawBufferPointer(
                        rebasing: UnsafeMutableRawBufferPointer(room)[done..<done + count]
                    ).copyMemory(from: .init(rebasing: process.arena.slot(parts)[..<count]))
                    parts += 1
                    done += count
                    try tell(&talk)
                    if done == wanted { break }
                    let message = try next(&talk, job)
                    var fields = Fields(reading: message.payload)
                    fields.pass(&count)
                    guard message.kind == .pixels, fields.isDone else {
                        throw .nonsense("other words between the parts of a frame")
                    }
                }
            } catch {
                problem = error
            }
        }
        if let problem { throw problem }
        return pixels
    }

    /// That parts are taken: by twos, so that there are half as many words, and never too late for who waits for room.
    private mutating func tell(_ talk: inout DecoderProcess.Talk) throws(LineError) {
        var untold = parts - told
        guard untold >= Arena.slots / 2 else { return }
        told = parts
        try talk.line.send(Message(.taken) { $0.pass(&untold) }, waits: false)
    }

    private static func failure(_ message: Message) -> Failure? {
        guard message.kind == .failure else { return nil }
        var fields = Fields(reading: message.payload)
        var failure = Failure(.internalError, .decode, "")
        fields.pass(&failure)
        return fields.isDone ? failure : nil
    }

    /// What a decoder may say of a source: that its bytes are bad, not that the network is.
    private func judged(_ message: Message) throws(LineError) -> Failure {
        guard let failure = Self.failure(message), failure.message.utf8.count < 1 << 16 else {
            throw .nonsense("a failure that can't be")
        }
        if let readFailure, readFailure.reason == failure.reason { return readFailure }
        switch failure.reason {
        case .empty, .notMedia, .invalid, .corrupt, .truncatedHeader, .zeroDimensions, .noFrames, .tooLarge,
            .noVideoStream, .unsupportedCodec, .unsupportedFormat, .notSupported, .encrypted,
            .noDecodableFrame, .noRange, .outOfMemory, .badOption, .internalError:
            return failure
        case .timeout where stop.isOver, .cancelled where stop.isCancelled:
            return failure
        default:
            throw .nonsense("a failure that is not a decoder's: \(failure.reason.code)")
        }
    }

    /// Beyond any file; sums of two such numbers don't overflow.
    private static let farthest: Int64 = 1 << 60
}
