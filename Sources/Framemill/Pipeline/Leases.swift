// One asker of a source among all processes that share a cache folder. A lease is a lock on one byte of one file, at an
// offset that the key gives, so there is no file per key to sweep. The kernel lets go of it when its holder dies.
//
// "Open file description locks … are not released until all descriptors are closed" (fcntl(2)), and two descriptions
// exclude each other within a process as well as across them; POSIX locks belong to a process and would not.
// Within one process `InFlight` does this work.
//
// A lease is an aid: where the folder can't be written, where the wait is too long or too many wait, the caller goes
// on without, and the worst is a source that is asked twice.

internal import FramemillEngine
internal import Glibc
internal import Synchronization

final class Leases: Sendable {
    /// `F_OFD_SETLK` and `F_OFD_SETLKW` of Linux, which Swift's import of the C library leaves out.
    private static let (set, setWaiting): (Int32, Int32) = (37, 38)
    private let path: String
    private let width: Int
    private struct State {
        /// Opened with the first lease: the folder may not be there before.
        var file: Int32?
        /// Threads that wait, made when somebody first has to.
        var lane: Lane<Void>?
        var waiting = 0
    }
    private let state = Mutex(State())

    /// - Parameter width: as many as may wait at a time.
    init(folder: String, width: Int) {
        path = folder + "/leases"
        self.width = width
    }

    deinit {
        // Nobody waits any more: whoever does holds a reference.
        if let file = state.withLock({ $0.file }) { close(file) }
    }

    /// Makes the caller the only one for `key`, if that can be had within `limit`. `true` is to be given back.
    func take(_ key: CacheKey, within limit: Duration) async -> Bool {
        guard open() else { return false }
        if lock(key, F_WRLCK, waits: false) { return true }
        let lane = state.withLock { state -> Lane<Void>? in
            guard state.waiting < width else { return nil }
            state.waiting += 1
            if state.lane == nil { state.lane = Lane("lease", width: width, stackBytes: 1 << 18) { () } }
            return state.lane
        }
        guard let lane else { return false }
        let turn = Turn()
        let alarm = Task {
            // Cancelled: the lease came first.
            if (try? await Task.sleep(for: limit)) != nil { turn.answer(false) }
        }
        defer { alarm.cancel() }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { waiter in
                turn.wait(waiter)
                lane.post { [self] in
                    let isMine = lock(key, F_WRLCK, waits: true)
                    state.withLock { $0.waiting -= 1 }
                    if !turn.answer(isMine), isMine { lock(key, F_UNLCK, waits: false) }
                }
            }
        } onCancel: {
            turn.answer(false)
        }
    }

    func give(_ key: CacheKey) { lock(key, F_UNLCK, waits: false) }

    private func open() -> Bool {
        state.withLock { state in
            if state.file == nil {
                // The path lives through the call.
                let file = unsafe Glibc.open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
                if file >= 0 { state.file = file }
            }
            return state.file != nil
        }
    }

    @discardableResult
    private func lock(_ key: CacheKey, _ kind: Int32, waits: Bool) -> Bool {
        guard let file = state.withLock({ $0.file }) else { return false }
        var range = flock()
        range.l_type = Int16(kind)
        range.l_whence = Int16(SEEK_SET)
        // Keys that share these 62 bits share a lease.
        range.l_start = off_t(key.bytes[..<8].reduce(UInt64(0)) { $0 << 8 | UInt64($1) } >> 2)
        range.l_len = 1
        while true {
            // Reads one `flock`, which `range` is; its process must be 0, as it is.
            if unsafe fcntl(file, waits ? Self.setWaiting : Self.set, &range) == 0 { return true }
            if errno != EINTR { return false }
        }
    }
}

/// Who waits for a lease: answered once, by whatever comes first.
private final class Turn: Sendable {
    private let state = Mutex<(waiter: CheckedContinuation<Bool, Never>?, answer: Bool?)>((nil, nil))

    func wait(_ waiter: CheckedContinuation<Bool, Never>) {
        let answer = state.withLock { state -> Bool? in
            if state.answer == nil { state.waiter = waiter }
            return state.answer
        }
        if let answer { waiter.resume(returning: answer) }
    }

    /// Whether this was the first answer.
    @discardableResult
    func answer(_ answer: Bool) -> Bool {
        let (isFirst, waiter) = state.withLock { state in
            defer { if state.answer == nil { (state.answer, state.waiter) = (answer, nil) } }
            return (state.answer == nil, state.waiter)
        }
        if isFirst { waiter?.resume(returning: answer) }
        return isFirst
    }
}
