/// Milliseconds of several rounds of one thing.
struct Rounds {
    private var sorted: [Double] = []

    mutating func add(_ milliseconds: Double) {
        let place = sorted.firstIndex { $0 > milliseconds } ?? sorted.count
        sorted.insert(milliseconds, at: place)
    }

    var median: Double { sorted.isEmpty ? 0 : sorted[sorted.count / 2] }
    /// What so great a part of them stays below, or is.
    func part(_ share: Double) -> Double {
        sorted.isEmpty ? 0 : sorted[min(sorted.count - 1, Int(Double(sorted.count) * share))]
    }
    var least: Double { sorted.first ?? 0 }

    /// How long `body` took, in milliseconds.
    static func time<Problem>(_ body: () throws(Problem) -> Void) throws(Problem) -> Double {
        let start = ContinuousClock.now
        try body()
        return milliseconds(start.duration(to: .now))
    }

    static func milliseconds(_ duration: Duration) -> Double {
        let (seconds, attoseconds) = duration.components
        return Double(seconds) * 1e3 + Double(attoseconds) / 1e15
    }

    /// Two digits behind the point.
    static func text(_ value: Double) -> String {
        let hundredths = Int((value * 100).rounded())
        let rest = hundredths % 100
        return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
    }
}
