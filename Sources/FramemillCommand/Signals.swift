// SIGINT and SIGTERM end a run in good order: the first is an event that the command acts on, the second ends
// the process at once, for the person who does not want to wait.
//
// Both are blocked in every thread (threads inherit the mask, so `init` must come before any thread is
// started) and the main thread waits for them. Not a dispatch source: on Linux it sees no signal that is
// ignored.

internal import Glibc
internal import Synchronization

final class Signals: Sendable {
    private let seen = Atomic<Int>(0)
    private let stream: AsyncStream<Void>
    private let arrivals: AsyncStream<Void>.Continuation

    /// On the main thread, before there is any other.
    init() {
        (stream, arrivals) = AsyncStream<Void>.makeStream()
        // A full file (RLIMIT_FSIZE) and a reader that left are errors to report, not reasons to die.
        for number in [SIGPIPE, SIGXFSZ] { _ = signal(number, SIG_IGN) }
        var mask = Self.mask
        // `mask` outlives the call.
        _ = unsafe pthread_sigmask(SIG_BLOCK, &mask, nil)
    }

    private static var mask: sigset_t {
        var mask = sigset_t()
        // `mask` outlives the calls, which fill it.
        unsafe sigemptyset(&mask)
        for number in [SIGINT, SIGTERM] { _ = unsafe sigaddset(&mask, number) }
        return mask
    }

    /// Takes signals until the process ends.
    func take() -> Never {
        var mask = Self.mask
        while true {
            var number: Int32 = 0
            // Both outlive the call.
            guard unsafe sigwait(&mask, &number) == 0 else { continue }
            if seen.add(1, ordering: .relaxed).newValue > 1 { _exit(ExitCode.interrupted.rawValue) }
            arrivals.yield()
        }
    }

    /// What would have happened had SIGPIPE not been ignored.
    static func endByBrokenPipe() -> Never {
        _ = signal(SIGPIPE, SIG_DFL)
        // For this thread, which does not block it.
        raise(SIGPIPE)
        _exit(128 + SIGPIPE)
    }

    var isRaised: Bool { seen.load(ordering: .relaxed) > 0 }

    /// Returns once a signal came, or the task was cancelled.
    func wait() async {
        for await _ in stream { return }
    }

    /// Runs `body`; a signal cancels it.
    func cancelling<Value: Sendable>(_ body: @escaping @Sendable () async -> Value) async -> Value {
        let work = Task { await body() }
        let watch = Task {
            await wait()
            work.cancel()
        }
        defer { watch.cancel() }
        return await withTaskCancellationHandler {
            await work.value
        } onCancel: {
            work.cancel()
        }
    }
}
