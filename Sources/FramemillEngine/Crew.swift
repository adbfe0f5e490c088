// One computation on several threads: a fork and a join on a lane. Who calls works itself and waits for nobody who
// has not begun, so that a lane can't wait for itself; idle threads of the lane help if there is a core for them.

internal import Dispatch
public import FramemillMedia
internal import Synchronization

/// Who may help with a computation that falls into independent parts.
public struct Crew: Sendable {
    private let lane: Lane<Void>?
    private let permits: Permits?
    private let priority: Priority
    private let isPatient: Bool

    /// No help: every part is done by the caller.
    public static let alone = Crew(nil, nil, .interactive, false)

    /// The idle threads of `lane`, as long as `permits` says that there are cores for them.
    ///
    /// - Parameters:
    ///   - priority: what the caller's permit was taken with. Between parts it goes to whoever is more urgent.
    ///   - isPatient: before each computation it also goes to whoever is as urgent: for jobs of many frames.
    public init(
        _ lane: Lane<Void>, permits: Permits, priority: Priority = .interactive, isPatient: Bool = false
    ) {
        self.init(lane, permits, priority, isPatient)
    }

    private init(_ lane: Lane<Void>?, _ permits: Permits?, _ priority: Priority, _ isPatient: Bool) {
        self.lane = lane
        self.permits = permits
        self.priority = priority
        self.isPatient = isPatient
    }

    /// As many threads as can work at once.
    public var width: Int { permits?.count ?? 1 }

    /// Calls `body` once for each index below `count`, in order of start but on several threads, and returns when all
    /// are done. Only on a lane's own thread that holds a permit.
    ///
    /// - Parameter helpers: at most so many threads beside the caller: a helper takes some 50 microseconds to wake.
    public func each(_ count: Int, helpers: Int = .max, _ body: @escaping @Sendable (Int) -> Void) {
        guard let lane, let permits else {
            for index in 0..<count { body(index) }
            return
        }
        permits.giveWay(priority, orEqual: isPatient)
        let most = min(helpers, min(width, count) - 1)
        guard most > 0 else {
            for index in 0..<count {
                permits.giveWay(priority)
                body(index)
            }
            return
        }
        let shared = Share(count: count, body: body)
        for _ in 0..<most {
            lane.post(priority: priority) { [priority] in
                guard shared.isOpen else { return }
                // A helper has its core only for as long as nobody with work of his own wants it.
                permits.holdingIfFree {
                    while !permits.isWanted(before: priority, orEqual: true), shared.workOnce() {}
                }
            }
        }
        while shared.workOnce() { permits.giveWay(priority) }
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

    /// One part; `false` once there is none left.
    func workOnce() -> Bool {
        let index = taken.add(1, ordering: .relaxed).oldValue
        guard index < count else { return false }
        body(index)
        // Who ends the last part has seen the effects of all others, and hands them on to `join`.
        if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { ended.signal() }
        return true
    }

    func join() { ended.wait() }
}
