internal import FramemillBorder
internal import FramemillEngine
internal import FramemillMedia
internal import Synchronization

/// An animation that is open. The parent need not know: where it is not, it is opened again.
final class Session: Sendable {
    let decoder: any AnimationDecoder
    let reader: ParentReader

    init(_ decoder: any AnimationDecoder, _ reader: ParentReader) {
        self.decoder = decoder
        self.reader = reader
    }
}

/// Those that were used last, within a bound of memory.
final class Sessions: Sendable {
    private let open = Mutex<[(number: Int, session: Session)]>([])
    private static let most = 32
    /// Some 150 bytes each.
    private static let mostFrames = 200_000

    func open(
        _ job: Job, _ reader: ParentReader, _ renderer: any FrameRenderer, _ stop: Stop
    ) throws(Failure) -> Session {
        if let kept = take(job.session) { return keep(job.session, kept) }
        let decoder = try renderer.animation(reader, limits: job.limits, stop: stop)
        reader.readAhead()
        return keep(job.session, Session(decoder, reader))
    }

    private func take(_ number: Int) -> Session? {
        open.withLock { open in
            open.firstIndex { $0.number == number }.map { open.remove(at: $0).session }
        }
    }

    private func keep(_ number: Int, _ session: Session) -> Session {
        open.withLock { open in
            open.append((number, session))
            while open.count > 1,
                open.count > Self.most
                    || open.reduce(0, { $0 + $1.session.decoder.facts.frameCount }) > Self.mostFrames
            { open.removeFirst() }
        }
        return session
    }
}
