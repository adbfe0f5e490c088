internal import FramemillMedia
internal import Glibc

/// Milliseconds per stage of one picture.
struct StageTimer {
    private let began = ContinuousClock.now
    private var last = ContinuousClock.now
    private var spent = StageTimes()

    /// Ends a stage: the time since the last lap is its.
    mutating func lap(_ stage: String, without waited: Duration = .zero) {
        let now = ContinuousClock.now
        add(stage, last.duration(to: now) - waited)
        if waited > .zero { add("fetch", waited) }
        last = now
    }

    private mutating func add(_ stage: String, _ time: Duration) {
        spent[stage] = (spent[stage] ?? 0) + Self.milliseconds(time)
    }

    func finished() -> StageTimes {
        // To a hundredth: reports are read by people.
        var all = StageTimes()
        for (stage, milliseconds) in spent { all[stage] = (milliseconds * 100).rounded() / 100 }
        all["total"] = (Self.milliseconds(began.duration(to: .now)) * 100).rounded() / 100
        return all
    }

    /// The most that this process had in memory so far; `nil` where the system does not say.
    static var peakBytes: Int64? {
        var usage = rusage()
        // Fills the struct, which is ours; on Linux `ru_maxrss` counts KiB (getrusage(2)).
        guard unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage) == 0 else { return nil }
        return Int64(usage.ru_maxrss) * 1024
    }

    private static func milliseconds(_ time: Duration) -> Double { time / .milliseconds(1) }
}
