internal import Synchronization

/// Counts of seconds by size.
final class Histogram: Sendable {
    struct Counts: Sendable {
        /// Upper ends, in order; the last bucket, without one, is what `total` has beyond them.
        var bounds: [Double]
        var counts: [Int]
        var total = 0
        var sum = 0.0
    }

    /// From a hit in memory to the deadline of a job, three to a decade.
    static let seconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 25, 60]

    private let state: Mutex<Counts>

    init(_ bounds: [Double] = Histogram.seconds) {
        state = Mutex(Counts(bounds: bounds, counts: bounds.map { _ in 0 }))
    }

    func add(_ value: Double) {
        state.withLock { state in
            if let place = state.bounds.firstIndex(where: { value <= $0 }) { state.counts[place] += 1 }
            state.total += 1
            state.sum += value
        }
    }

    var counts: Counts { state.withLock { $0 } }
}
