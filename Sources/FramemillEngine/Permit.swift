internal import Dispatch

/// As many threads may compute as there are cores; a thread that waits for bytes lends its permit to another.
///
/// Lanes have more threads than cores, so a slow origin holds a cheap thread and never a core.
public final class Permits: Sendable {
    private let free: DispatchSemaphore
    public let count: Int

    public init(count: Int) {
        self.count = max(1, count)
        free = DispatchSemaphore(value: max(1, count))
    }

    /// Runs `body` with a permit, waiting for one if need be. Only on a lane's own thread.
    public func holding<Value, Problem>(_ body: () throws(Problem) -> Value) throws(Problem) -> Value {
        free.wait()
        defer { free.signal() }
        return try body()
    }

    /// Runs `body` with a permit if one is free at this moment.
    public func holdingIfFree(_ body: () -> Void) {
        guard free.wait(timeout: .now()) == .success else { return }
        defer { free.signal() }
        body()
    }

    /// Lends the permit that the calling thread holds while `wait` blocks, and takes one back afterwards.
    public func lending<Value, Problem>(_ wait: () throws(Problem) -> Value) throws(Problem) -> Value {
        free.signal()
        defer { free.wait() }
        return try wait()
    }
}
