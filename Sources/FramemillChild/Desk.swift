internal import FramemillBorder
internal import FramemillCanvas
internal import FramemillEngine
internal import FramemillMedia
internal import Glibc
internal import Synchronization

/// One job after the other.
final class Desk: Sendable {
    private let renderer: any FrameRenderer
    private let parent: Parent
    private let helpers: Lane<Void>
    private let sessions = Sessions()
    private struct Current {
        var number = 0
        var stop: Stop?
        /// The last one that the parent does not want any more.
        var unwanted = 0
    }
    private let current = Mutex(Current())

    init(_ renderer: any FrameRenderer, _ parent: Parent, _ helpers: Lane<Void>) {
        self.renderer = renderer
        self.parent = parent
        self.helpers = helpers
    }

    /// Hears which job is not wanted any more, and ends with the parent. Blocks for ever.
    func watch() {
        while true {
            var number: UInt64 = 0
            // Writes at most the eight bytes of the number, which come in one piece.
            let got = unsafe read(Border.control, &number, 8)
            if got < 0, errno == EINTR { continue }
            guard got == 8 else { leave() }
            let job = Int(truncatingIfNeeded: number)
            let stop = current.withLock { current -> Stop? in
                current.unwanted = job
                return current.number == job ? current.stop : nil
            }
            stop?.raise()
        }
    }

    func work() {
        let message = parent.hear()
        var fields = Fields(reading: message.payload)
        var job = Job(.probe)
        fields.pass(&job)
        // Nobody who speaks otherwise has started this process.
        guard message.kind == .job, fields.isDone, !job.sources.isEmpty else { leave() }
        let stop = Stop(after: .nanoseconds(job.nanoseconds))
        let isUnwanted = current.withLock { current in
            (current.number, current.stop) = (job.number, stop)
            return current.unwanted == job.number
        }
        if isUnwanted { stop.raise() }
        do throws(Failure) {
            parent.say(try answer(job, stop))
        } catch {
            var failure = error
            parent.say(Message(.failure) { $0.pass(&failure) })
        }
        current.withLock { $0.stop = nil }
    }

    private func answer(_ job: Job, _ stop: Stop) throws(Failure) -> Message {
        let reader = ParentReader(parent, 0, job.sources[0])
        let permits = Permits(count: max(1, min(job.width, 64)))
        permits.allow(1 + job.cores)
        let crew = Crew(helpers, permits: permits, asking: asking(permits))
        return try permits.holding { () throws(Failure) in
            try answer(job, reader, crew, stop)
        }
    }

    private func answer(
        _ job: Job, _ reader: ParentReader, _ crew: Crew, _ stop: Stop
    ) throws(Failure) -> Message {
        switch job.act {
        case .render:
            let artifact = try renderer.render(
                reader, recipe: job.recipe, limits: job.limits, crew: crew, stop: stop)
            var (facts, bytes) = (artifact.facts, artifact.bytes)
            return Message(.result) {
                $0.pass(&facts)
                $0.pass(&bytes)
            }
        case .probe:
            var facts = try renderer.probe(reader, limits: job.limits, stop: stop)
            return Message(.result) { $0.pass(&facts) }
        case .open:
            var facts = try sessions.open(job, reader, renderer, stop).decoder.facts
            return Message(.result) { $0.pass(&facts) }
        case .frames:
            let session = try sessions.open(job, reader, renderer, stop)
            defer { session.reader.dropBlock() }
            try give(job.index, job.count, session.decoder, crew, stop)
            return Message(.result)
        case .frame:
            let session = try sessions.open(job, reader, renderer, stop)
            defer { session.reader.dropBlock() }
            give(try session.decoder.frame(at: job.index, crew: crew, stop: stop))
            return Message(.result)
        case .fit:
            give(try renderer.fit(try bitmap(job), into: job.recipe.box, stop: stop))
            return Message(.result)
        case .encode:
            var bytes = try renderer.encode(try bitmap(job), recipe: job.recipe, stop: stop)
            return Message(.result) { $0.pass(&bytes) }
        }
    }

    /// At most every few milliseconds: an answer takes some 30 microseconds, and a frame may take less.
    private func asking(_ permits: Permits) -> @Sendable () -> Void {
        let last = Mutex(ContinuousClock.now)
        return { [parent] in
            let isTime = last.withLock { last in
                let now = ContinuousClock.now
                guard last.duration(to: now) > .milliseconds(3) else { return false }
                last = now
                return true
            }
            guard isTime else { return }
            var fields = parent.ask(Message(.wantCores), for: .cores)
            var cores = 0
            fields.pass(&cores)
            permits.allow(1 + cores)
        }
    }

    /// A few frames at a time, so that the parent draws some while the next are decoded.
    private func give(
        _ first: Int, _ count: Int, _ decoder: any AnimationDecoder, _ crew: Crew, _ stop: Stop
    ) throws(Failure) {
        guard let decoder = decoder as? any PatchDecoder else {
            return give(try decoder.frame(at: first, crew: crew, stop: stop))
        }
        let end = min(decoder.facts.frameCount, first + max(1, min(count, 1024)))
        var next = first
        var colors: [UInt32] = []
        while next < end {
            try stop.check(.decode)
            let step = next..<min(end, next + (crew.width > 1 ? 2 * crew.width : 1))
            let patches = try decoder.patches(step, crew: crew, stop: stop)
            for (index, patch) in patches.enumerated() { give(patch, step.lowerBound + index, &colors) }
            let isLast = patches.last.map(\.isLast) ?? true
            decoder.recycle(patches)
            if isLast { return }
            next = step.upperBound
        }
    }

    private func give(_ patch: Patch, _ index: Int, _ last: inout [UInt32]) {
        var head = PatchHead()
        (head.index, head.pixelCount) = (index, patch.pixelCount)
        (head.isInterlaced, head.isOpaque, head.isAlone) = (patch.isInterlaced, patch.isOpaque, patch.isAlone)
        (head.isWhole, head.isLast) = (patch.isWhole, patch.isLast)
        switch patch.pixels {
        case .indexed(let indices, let start, let colors):
            head.isIndexed = true
            head.byteCount = patch.pixelCount
            if colors != last {
                head.colors = colors.flatMap { color in
                    (0..<4).map { UInt8(truncatingIfNeeded: color >> ($0 * 8)) }
                }
                last = colors
            }
            parent.give(indices, from: start, head.byteCount) { count in
                head.count = count
                return Message(.patch) { $0.pass(&head) }
            }
        case .rgba(let pixels):
            head.byteCount = patch.pixelCount * 4
            parent.give(pixels, from: 0, head.byteCount) { count in
                head.count = count
                return Message(.patch) { $0.pass(&head) }
            }
        }
    }

    private func bitmap(_ job: Job) throws(Failure) -> Bitmap {
        guard let count = job.bitmap.byteCount else {
            throw Failure(.internalError, .decode, "a picture of no size")
        }
        return Bitmap(
            width: job.bitmap.width, height: job.bitmap.height, pixels: try pixels(job, count),
            hasAlpha: job.bitmap.hasAlpha)
    }

    /// The second source, which has so many bytes.
    private func pixels(_ job: Job, _ wanted: Int) throws(Failure) -> [UInt8] {
        guard job.sources.count == 2, job.sources[1].byteCount == Int64(wanted) else {
            throw Failure(.internalError, .decode, "pixels that are not as many as they should be")
        }
        let reader = ParentReader(parent, 1, job.sources[1])
        var failure: Failure?
        let pixels = unsafe [UInt8](unsafeUninitializedCapacity: wanted) { room, count in
            do throws(Failure) {
                while count < wanted {
                    // What is left of the room.
                    let rest = unsafe UnsafeMutableRawBufferPointer(
                        rebasing: UnsafeMutableRawBufferPointer(room)[count...])
                    let got = try unsafe reader.read(at: Int64(count), into: rest)
                    guard got > 0 else { break }
                    count += got
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        guard pixels.count == wanted else {
            throw Failure(.internalError, .decode, "pixels that end too early")
        }
        return pixels
    }

    private func give(_ frame: AnimationFrame) {
        var head = FrameHead()
        (head.index, head.delay, head.isWhole) = (frame.index, frame.delay, frame.isWhole)
        give(frame.bitmap, &head)
    }

    private func give(_ bitmap: Bitmap) {
        var head = FrameHead()
        give(bitmap, &head)
    }

    private func give(_ bitmap: Bitmap, _ head: inout FrameHead) {
        head.picture = Job.Picture(bitmap)
        parent.give(bitmap.pixels, from: 0, bitmap.pixels.count) { count in
            head.count = count
            return Message(.frame) { $0.pass(&head) }
        }
    }
}
