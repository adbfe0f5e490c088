internal import Glibc

/// The time of day, a way to wait, and chance: what tests hand in, so that they neither sleep nor guess.
package struct WallClock: Sendable {
    /// Seconds since 1970.
    package var now: @Sendable () -> Double
    /// Waits so many seconds; `false` when the task was cancelled first.
    package var wait: @Sendable (Double) async -> Bool
    /// 0 to 1.
    package var chance: @Sendable () -> Double

    package init(
        now: @escaping @Sendable () -> Double, wait: @escaping @Sendable (Double) async -> Bool,
        chance: @escaping @Sendable () -> Double
    ) {
        (self.now, self.wait, self.chance) = (now, wait, chance)
    }

    /// Whole seconds, as headers and the cache count them.
    package var seconds: Int { Int(now()) }

    package static let system = WallClock(
        now: {
            var time = timespec()
            // Writes one `timespec`, which `time` is; the clock is always there.
            unsafe clock_gettime(CLOCK_REALTIME, &time)
            return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
        },
        wait: { seconds in
            do {
                try await Task.sleep(for: .seconds(seconds))
                return true
            } catch {
                return false
            }
        },
        chance: { Double.random(in: 0..<1) })
}
