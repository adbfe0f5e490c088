internal import Dispatch
public import FramemillMedia
internal import Synchronization

/// When one job must end: raised by whoever cancels, or passed by the clock. Long loops and every C callback ask it.
///
/// One deadline for the whole job: connecting, reading, decoding and waiting all count against it.
public final class Stop: Sendable {
    private let raised = Atomic<Bool>(false)
    /// When the job must be over.
    public let deadline: ContinuousClock.Instant

    public init(after limit: Duration) { deadline = ContinuousClock.now.advanced(by: limit) }

    /// Cancels. Anything that asks from now on is told so.
    public func raise() { raised.store(true, ordering: .releasing) }

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
