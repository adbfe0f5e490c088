internal import Dispatch
public import FramemillMedia
internal import Synchronization

/// When one job must end: raised by whoever cancels, or passed by the clock. Long loops and every C callback
/// ask it.
///
/// One deadline for the whole job: connecting, reading, decoding and waiting all count against it.
public final class Stop: Sendable {
    private let raised = Atomic<Bool>(false)
    /// Who wants to be told at once; `nil` once they have been.
    private let listeners = Mutex<[Int: @Sendable () -> Void]?>([:])
    private let counter = Atomic<Int>(0)
    /// When the job must be over.
    public let deadline: ContinuousClock.Instant

    public init(after limit: Duration) { deadline = ContinuousClock.now.advanced(by: limit) }

    /// No deadline: until it is raised.
    public convenience init() { self.init(after: .seconds(1 << 32)) }

    /// Runs `body` with a stop of its own, which has `limit` from now on and is raised with this one.
    public func limiting<Value>(
        to limit: Duration, _ body: (Stop) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let inner = Stop(after: limit)
        let ticket = onRaise { inner.raise() }
        defer { forget(ticket) }
        return try body(inner)
    }

    /// Cancels. Anything that asks from now on is told so.
    public func raise() {
        raised.store(true, ordering: .releasing)
        let told = listeners.withLock { listeners in
            defer { listeners = nil }
            return listeners ?? [:]
        }
        for body in told.values { body() }
    }

    /// Calls `body` once when the job is cancelled, at once if it already is. Deadlines call nobody.
    /// Returns what `forget` takes.
    public func onRaise(_ body: @escaping @Sendable () -> Void) -> Int {
        let ticket = counter.add(1, ordering: .relaxed).newValue
        let isLate = listeners.withLock { listeners in
            listeners?[ticket] = body
            return listeners == nil
        }
        if isLate { body() }
        return ticket
    }

    public func forget(_ ticket: Int) { _ = listeners.withLock { $0?.removeValue(forKey: ticket) } }

    public var isCancelled: Bool { raised.load(ordering: .acquiring) }
    public var isOver: Bool { isCancelled || ContinuousClock.now >= deadline }
    /// Never negative.
    public var remaining: Duration { max(.zero, ContinuousClock.now.duration(to: deadline)) }

    /// Throws `cancelled` or `timeout` once the job must end.
    public func check(_ stage: Failure.Stage) throws(Failure) {
        if isCancelled { throw Failure(.cancelled, stage, "cancelled by the caller") }
        if ContinuousClock.now >= deadline {
            throw Failure(.timeout, stage, "the deadline passed (Limits.deadline, --deadline SECONDS)")
        }
    }
}
