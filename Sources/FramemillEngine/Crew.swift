// One computation on several threads: a fork and a join on a lane. Who calls works itself and waits for nobody who
// has not begun, so that a lane can't wait for itself; idle threads of the lane help if there is a core for them.

internal import Dispatch
public import FramemillMedia
internal import Synchronization

/// Who may help with a computation that falls into independent parts.
public struct Crew: Sendable {
    private let lane: Lane<Void>?
    private let permits: Permits?
    private let urgency: Urgency
    private let isPatient: Bool
    /// Called before each computation, where another process says how many may compute.
    private let ask: (@Sendable () -> Void)?

    /// No help: every part is done by the caller.
    public static let alone = Crew(nil, nil, Urgency(.interactive), false)

    /// The idle threads of `lane`, as long as `permits` says that there are cores for them.
    ///
    /// - Parameters:
    ///   - priority: what the caller's permit was taken with. Between parts it goes to whoever is more urgent.
    ///   - isPatient: before each computation it also goes to whoever is as urgent: for jobs of many frames.
    public init(
        _ lane: Lane<Void>, permits: Permits, priority: Priority = .interactive, isPatient: Bool = false
    ) {
        self.init(lane, permits, Urgency(priority), isPatient)
    }

    /// The same for work that may become more urgent on its way.
    public init(_ lane: Lane<Void>, permits: Permits, urgency: Urgency) {
        self.init(lane, permits, urgency, false)
    }

    /// The same in a process that has no cores of its own: `ask` asks whoever has, and adjusts `permits`.
    package init(_ lane: Lane<Void>, permits: Permits, asking ask: @escaping @Sendable () -> Void) {
        self.init(lane, permits, Urgency(.interactive), false, ask)
    }

    private init(
        _ lane: Lane<Void>?, _ permits: Permits?, _ urgency: Urgency, _ isPatient: Bool,
        _ ask: (@Sendable () -> Void)? = nil
    ) {
        self.ask = ask
        self.lane = lane
        self.permits = permits
        self.urgency = urgency
        self.isPatient = isPatient
    }

    private var priority: Priority { urgency.priority }

    /// As many threads as can work at once.
    public var width: Int { permits?.count ?? 1 }

    /// Hands the caller's permit to whoever is more urgent, if there is any, and waits for the next turn: between two
    /// frames of work that is not cut into parts.
    public func giveWay() {
        ask?()
        permits?.giveWay(priority)
    }

    /// For work that another process does on behalf of the caller, who holds one permit for it: gives back `held` more,
    /// lets whoever is more urgent go first, and takes as many as are free now. Returns how many that are.
    package func renew(_ held: Int) -> Int {
        guard let permits else { return 0 }
        permits.giveBack(held)
        permits.giveWay(priority, orEqual: isPatient)
        return permits.takeFree(upTo: permits.count - 1)
    }

    /// Ends what `renew` began.
    package func giveBack(_ held: Int) { permits?.giveBack(held) }

    /// Calls `body` once for each index below `count`, in order of start but on several threads, and returns when all
    /// are done. Only on a lane's own thread that holds a permit; a part may itself ask the crew.
    ///
    /// - Parameter helpers: at most so many threads beside the caller: a helper takes some 50 microseconds to wake.
    public func each(_ count: Int, helpers: Int = .max, _ body: @escaping @Sendable (Int) -> Void) {
        each(count, most: min(helpers, count - 1), body) {}
    }

    /// The same, but the caller first does work of its own, while idle threads begin with the parts: so the next window
    /// of an animation is decoded while this one is encoded. Where nobody helps, the parts come first.
    ///
    /// - Returns: what `own` made.
    public func each<Own>(
        _ count: Int, _ body: @escaping @Sendable (Int) -> Void, meanwhile own: () -> Own
    ) -> Own {
        each(count, most: count, body, own)
    }

    private func each<Own>(
        _ count: Int, most: Int, _ body: @escaping @Sendable (Int) -> Void, _ own: () -> Own
    ) -> Own {
        guard let lane, let permits else {
            for index in 0..<count { body(index) }
            return own()
        }
        ask?()
        permits.giveWay(priority, orEqual: isPatient)
        let most = min(most, width - 1)
        guard most > 0 else {
            for index in 0..<count {
                permits.giveWay(priority)
                body(index)
            }
            return own()
        }
        let share = Share(count: count, body: body)
        for _ in 0..<most { help(share, most, lane, permits) }
        let made = own()
        while share.workOnce() {
            permits.giveWay(priority)
            // A core may have come free since: the others' parts ended, or another job did.
            if permits.hasFree { help(share, most, lane, permits) }
        }
        share.join { wait in permits.lending(priority: priority, wait) }
        return made
    }

    private func help(_ share: Share, _ most: Int, _ lane: Lane<Void>, _ permits: Permits) {
        guard share.takesHelper(most) else { return }
        lane.post(priority: priority) { [priority] in
            defer { share.letsHelperGo() }
            guard share.isOpen else { return }
            // A helper has its core only for as long as nobody with work of his own wants it.
            permits.holdingIfFree {
                while !permits.isWanted(before: priority, orEqual: true), share.workOnce() {}
            }
        }
    }
}

/// The parts of one computation that nobody has taken yet, and those that somebody has.
private final class Share: Sendable {
    private let count: Int
    private let body: @Sendable (Int) -> Void
    private let taken = Atomic<Int>(0)
    private let left: Atomic<Int>
    /// Threads asked to help that have not ended yet.
    private let helpers = Atomic<Int>(0)
    private let ended = DispatchSemaphore(value: 0)

    init(count: Int, body: @escaping @Sendable (Int) -> Void) {
        self.count = count
        self.body = body
        left = Atomic(count)
    }

    var isOpen: Bool { taken.load(ordering: .relaxed) < count }

    /// Whether one more thread is to be asked, where there are parts for it and `most` are not asked already. Only for the
    /// caller: nobody else asks.
    func takesHelper(_ most: Int) -> Bool {
        guard isOpen, helpers.load(ordering: .relaxed) < most else { return false }
        helpers.add(1, ordering: .relaxed)
        return true
    }

    func letsHelperGo() { helpers.subtract(1, ordering: .relaxed) }

    /// One part; `false` once there is none left.
    func workOnce() -> Bool {
        let index = taken.add(1, ordering: .relaxed).oldValue
        guard index < count else { return false }
        body(index)
        // Who ends the last part has seen the effects of all others, and hands them on to `join`.
        if left.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { ended.signal() }
        return true
    }

    /// Waits for the parts that others have in hand, by `lending`: a part may wait for a permit, as reads and parts of
    /// parts do, so who waits for a part must hold none. Else two callers could hold what each other's helpers wait for.
    func join(_ lending: (() -> Void) -> Void) {
        if left.load(ordering: .acquiring) > 0 { lending { ended.wait() } }
    }
}
