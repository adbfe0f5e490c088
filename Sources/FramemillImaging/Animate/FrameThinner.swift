/// Which frames are left of too many a second: the first that begins in each slot of time. So the rate holds on average
/// whatever the delays are, each frame that is kept begins when it did, and the frame before it lasts until then.
struct FrameThinner {
    /// Milliseconds; `nil` keeps all.
    private let slot: Double?
    private var last = -1.0

    init(maxFramesPerSecond: Double?) { slot = maxFramesPerSecond.map { 1000 / $0 } }

    /// - Parameter start: milliseconds from the beginning, never less than the one before.
    mutating func keeps(_ start: Int) -> Bool {
        guard let slot else { return true }
        // A thousandth of a slot: 40 ms are a slot of 25 a second, whatever the division says.
        let place = (Double(start) / slot + 0.001).rounded(.down)
        defer { last = max(last, place) }
        return place > last
    }
}
