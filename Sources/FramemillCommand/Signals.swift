// SIGINT and SIGTERM end a run in good order: the first is an event that the command acts on, the second ends
// the process at once, for the person who does not want to wait.

internal import Dispatch
internal import Glibc
internal import Synchronization

final class Signals: Sendable {
    private let seen = Atomic<Int>(0)
    private let stream: AsyncStream<Void>

    init() {
        let (stream, continuation) = AsyncStream<Void>.makeStream()
        self.stream = stream
        for number in [SIGINT, SIGTERM] {
            // Ignored as a signal so that it reaches us as an event.
            _ = signal(number, SIG_IGN)
            // An active source lives until it is cancelled, which is never: it is the process's own.
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { [self] in
                if seen.add(1, ordering: .relaxed).newValue > 1 { _exit(ExitCode.interrupted.rawValue) }
                continuation.yield()
            }
            source.activate()
        }
    }

    var isRaised: Bool { seen.load(ordering: .relaxed) > 0 }

    /// Returns once a signal came, or the task was cancelled.
    func wait() async {
        for await _ in stream { return }
    }

    /// Runs `body`; a signal cancels it.
    func cancelling<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) async -> Value {
        await withTaskGroup(of: Value?.self) { group in
            group.addTask { await body() }
            group.addTask {
                await self.wait()
                return nil
            }
            while let ended = await group.next() {
                group.cancelAll()
                if let ended { return ended }
            }
            preconditionFailure("the body always answers")
        }
    }

    /// A full file (RLIMIT_FSIZE) and a reader that left are errors to report, not reasons to die.
    static func tame() {
        for number in [SIGPIPE, SIGXFSZ] { _ = signal(number, SIG_IGN) }
    }
}
