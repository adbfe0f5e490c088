// A slow or dead host may delay its own jobs only. So no host has more than its share of the slots (and, where
// that is asked for, of the time: so many starts a second), and one
// that fails again and again is left alone for a while: then one job goes to see, and the others follow if it
// comes back well. Who may not go now is handed back with a wait, which is no try and frees the slot at once.

internal import FramemillMedia
internal import Synchronization

final class Hosts: Sendable {
    enum Answer: Equatable {
        case go
        case wait(Duration)
    }
    private struct Host {
        var active = 0
        var failures = 0
        /// How often in a row it was left alone.
        var rests = 0
        /// Milliseconds since 1970.
        var restsUntil: Int64?
        var isProbed = false
        /// Milliseconds that a job of it takes, about.
        var pace: Int64 = 200
        /// When the last of those that had to wait comes back.
        var lastReturn: Int64 = 0
        /// The rate lets no job start before this.
        var nextStart: Int64 = 0
        /// When it was last heard of.
        var lastEnd: Int64 = 0

        func isForgettable(_ now: Int64) -> Bool {
            active == 0 && failures == 0 && restsUntil == nil && nextStart <= now
        }

        /// Nothing that is known of it matters any more.
        func isStale(_ now: Int64) -> Bool {
            active == 0 && max(restsUntil ?? 0, nextStart, lastEnd + Hosts.longestRest) <= now
        }
    }
    private struct State {
        var hosts: [String: Host] = [:]
        /// As many are looked through for stale ones; then twice what was left of them.
        var crowd = 1024
    }
    private let state = Mutex(State())
    private let width: Int
    /// Milliseconds from one start to the next of a host; 0: none.
    private let spacing: Int64
    private let clock: QueueClock

    /// Failures in a row until a host is left alone: more than chance, less than a page of pictures.
    private static let patience = 5
    /// The first rest; it doubles up to the longest.
    private static let firstRest: Int64 = 30_000
    private static let longestRest: Int64 = 300_000
    /// A host that asks for more (`Retry-After`) is asked again all the same.
    private static let longestAsked: Int64 = 3_600_000
    /// Nobody is sent away for longer because a host is busy.
    private static let longestWait: Int64 = 300_000

    /// - Parameter rate: jobs of one host that may start in a second; `nil`: any number.
    init(width: Int, rate: Double? = nil, clock: QueueClock) {
        self.width = width
        spacing = rate.map { Int64((1000 / $0).rounded(.up)) } ?? 0
        self.clock = clock
    }

    /// Whether a job of this host may run now; then `leave` is due. No host (a local file) is never held up.
    func enter(_ name: String) -> Answer {
        guard !name.isEmpty else { return .go }
        let now = clock.now()
        return state.withLock { state in
            Self.forget(&state, now)
            var host = state.hosts[name] ?? Host()
            if let until = host.restsUntil {
                if now < until { return .wait(.milliseconds(until - now)) }
                if host.isProbed { return .wait(.seconds(1)) }
                host.isProbed = true
            } else if host.active >= width || host.nextStart > now {
                // They come back one after the other, a little faster than the host serves them: a hundred
                // thousand jobs of one host must not go in and out of the queue all the time.
                let step = max(1, host.pace * 4 / 5 / Int64(width), spacing)
                host.lastReturn = max(host.lastReturn, now) + step
                state.hosts[name] = host
                return .wait(.milliseconds(min(Self.longestWait, host.lastReturn - now)))
            }
            host.active += 1
            host.nextStart = now + spacing
            state.hosts[name] = host
            return .go
        }
    }

    /// Hosts that fared badly once and never came again would else be kept for ever.
    private static func forget(_ state: inout State, _ now: Int64) {
        guard state.hosts.count >= state.crowd else { return }
        state.hosts = state.hosts.filter { !$0.value.isStale(now) }
        state.crowd = max(1024, state.hosts.count * 2)
    }

    /// - Parameter took: milliseconds since `enter`.
    func leave(_ name: String, _ failure: Failure?, took: Int64 = 200) {
        guard !name.isEmpty else { return }
        let now = clock.now()
        state.withLock { state in
            guard var host = state.hosts[name] else { return }
            host.active -= 1
            host.lastEnd = now
            host.pace += (took - host.pace) / 8
            if let failure, failure.reason == .cancelled || failure.reason == .closed {
                // Says nothing of the host.
                host.isProbed = false
            } else if let failure, failure.isOfTheHost {
                host.failures += 1
                if host.isProbed || host.failures >= Self.patience {
                    let rest = min(Self.longestRest, Self.firstRest << min(host.rests, 8))
                    let asked =
                        Int64(min(failure.retryAfterSeconds ?? 0, Int(Self.longestAsked / 1000))) * 1000
                    host.restsUntil = now + max(rest, asked)
                    host.rests += 1
                    host.failures = 0
                }
                host.isProbed = false
            } else {
                (host.failures, host.rests, host.restsUntil, host.isProbed) = (0, 0, nil, false)
            }
            state.hosts[name] = host.isForgettable(now) ? nil : host
        }
    }

    /// Hosts that something is known of.
    var count: Int { state.withLock { $0.hosts.count } }
}

extension Failure {
    /// Whether other files of the same host would fare alike.
    fileprivate var isOfTheHost: Bool {
        guard stage == .fetch || stage == .probe || stage == .decode else { return false }
        switch reason {
        case .timeout, .tooSlow, .unreachable, .dns, .tls, .http(429), .http(500...599): return true
        default: return false
        }
    }
}
