internal import Synchronization

/// Things noted by many tasks and threads, in the order in which they were noted.
public final class Record<Element: Sendable>: Sendable {
    private let list = Mutex<[Element]>([])
    public init() {}
    public func note(_ element: Element) { list.withLock { $0.append(element) } }
    public var all: [Element] { list.withLock { $0 } }
    public var count: Int { list.withLock { $0.count } }
}

/// Lets other tasks run until something is so. For states that nothing announces, such as "the task waits by now".
public func until(_ isSo: @Sendable () -> Bool) async {
    while !isSo() { await Task.yield() }
}
