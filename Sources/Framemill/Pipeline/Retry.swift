// Whether to try again within one job, and after which wait. What passes (429, 5xx, a broken connection, a name
// without an address) is tried again soon; what does not, never. What still fails after that is remembered for a while
// (`Trouble`), and the next job tries again.

internal import FramemillMedia

enum Retry {
    /// - Parameters:
    ///   - tries: made so far, this failure's included.
    ///   - most: tries after the first.
    ///   - chance: 0 to 1, so that what failed together is not tried again together.
    /// - Returns: seconds; `nil` when another try can't help.
    static func wait(after failure: Failure, tries: Int, most: Int, chance: Double) -> Double? {
        let reason = failure.reason
        guard reason.fault == .source, reason.class == .transient, failure.memory == nil else { return nil }
        guard tries <= (isDoubtful(reason) ? min(most, 1) : most) else { return nil }
        // As told, and never earlier.
        if let told = failure.retryAfterSeconds { return Double(told) + max(0.5, Double(told) / 10) * chance }
        let wait =
            switch reason {
            case .sourceChanged: 0.0
            case .http(403): 4.0
            default: 0.4 * Double(1 << min(tries - 1, 6))
            }
        return wait * (0.75 + chance / 2)
    }

    /// Seldom passes: bot blocks, and certificates.
    private static func isDoubtful(_ reason: Failure.Reason) -> Bool { [.http(403), .tls].contains(reason) }
}
