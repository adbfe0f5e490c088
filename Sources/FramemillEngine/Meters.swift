internal import Synchronization

/// Counts of what happened, by name, for reports and metrics.
public final class Meters: Sendable {
    private let counts = Mutex<[String: Int]>([:])
    public init() {}
    public func add(_ name: String, _ amount: Int = 1) { counts.withLock { $0[name, default: 0] += amount } }
    public func count(_ name: String) -> Int { counts.withLock { $0[name] ?? 0 } }
    public var all: [String: Int] { counts.withLock { $0 } }
}
