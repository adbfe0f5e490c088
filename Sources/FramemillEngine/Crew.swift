// One computation on several threads: a fork and a join on a lane. Who calls works itself and waits for nobody who
// has not begun, so that a lane can't wait for itself; idle threads of the lane help if there is a core for them.

internal import Dispatch
internal import Synchronization

/// Who may help with a computation that falls into independent parts.
public struct Crew: Sendable {
    private let lane: Lane<Void>?
    private let permits: Permits?

    /// No help: every part is done by the caller.
    public static let alone = Crew(lane: nil, permits: nil)

    /// The idle threads of `lane`, as long as `permits` says that there are cores for them.
    public init(_ lane: Lane<Void>, permits: Permits) { self.init(lane: lane, permits: permits) }

    private init(lane: Lane<Void>?, permits: Permits?) {
        self.lane = lane
        self.permits = permits
    }

    /// As many threads as can work at once.
    public var width: Int { permits?.count ?? 1 }

    /// Calls `body` once for each index below `count`, in order of start but on several threads, and returns when all
    /// are done. Only on a lane's own thread that holds a permit.
    ///
    /// - Parameter helpers: at most so many threads beside the caller: a helper takes some 50 microseconds to wake.
    public func each(_ count: Int, helpers: Int = .max, _ body: @escaping @Sendable (Int) -> Void) {
        let most = min(helpers, min(width, count) - 1)
        guard let lane, let permits, most > 0 else {
            for index in 0..<count { body(index) }
            return
        }
        let shared = Share(count: count, body: body)
        for _ in 0..<most {
            lane.post {
                guard shared.isOpen else { return }
                permits.holdingIfFree { shared.work() }
            }
        }
        shared.work()
        shared.join()
    }
}

/// The parts of one computation that nobody has taken yet, and those that somebody has.
private final class Share: Sendable {
    private let count: Int
    private let body: @Sendable (Int) -> Void
    private let taken = Atomic<Int>(0)
    private let left: Atomic<Int>
    private let ended = DispatchSemaphore(value: 0)

    init(count: Int, body: @escaping @Sendable (Int) -> Void) {
        self.count = count
        self.body = body
        left = Atomic(count)
    }

    var isOpen: Bool { taken.load(ordering: .relaxed) < count }

    func work() {
        while true {
            let index = taken.add(1, ordering: .relaxed).oldValue
            guard index < count else { return }
            body(index)
            // Who ends the last part has seen the effects of all others, and hands them on to `join`.
            if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { ended.signal() }
        }
    }

    func join() { ended.wait() }
}
