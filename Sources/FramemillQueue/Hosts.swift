// A slow or dead host may delay its own jobs only. So no host has more than its share of the slots, and one
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

        var isForgettable: Bool { active == 0 && failures == 0 && restsUntil == nil }
    }
    private let hosts = Mutex<[String: Host]>([:])
    private let width: Int
    private let clock: QueueClock

    /// Failures in a row until a host is left alone: more than chance, less than a page of pictures.
    private static let patience = 5
    /// The first rest; it doubles up to the longest.
    private static let firstRest: Int64 = 30_000
    private static let longestRest: Int64 = 300_000
    /// Nobody is sent away for longer because a host is busy.
    private static let longestWait: Int64 = 300_000

    init(width: Int, clock: QueueClock) {
        self.width = width
        self.clock = clock
    }

    /// Whether a job of this host may run now; then `leave` is due. No host (a local file) is never held up.
    func enter(_ name: String) -> Answer {
        guard !name.isEmpty else { return .go }
        let now = clock.now()
        return hosts.withLock { hosts in
            var host = hosts[name] ?? Host()
            if let until = host.restsUntil {
                if now < until { return .wait(.milliseconds(until - now)) }
                if host.isProbed { return .wait(.seconds(1)) }
                host.isProbed = true
            } else if host.active >= width {
                // They come back one after the other, a little faster than the host serves them: a hundred
                // thousand jobs of one host must not go in and out of the queue all the time.
                let step = max(1, host.pace * 4 / 5 / Int64(width))
                host.lastReturn = max(host.lastReturn, now) + step
                hosts[name] = host
                return .wait(.milliseconds(min(Self.longestWait, host.lastReturn - now)))
            }
            host.active += 1
            hosts[name] = host
            return .go
        }
    }

    /// - Parameter took: milliseconds since `enter`.
    func leave(_ name: String, _ failure: Failure?, took: Int64 = 200) {
        guard !name.isEmpty else { return }
        let now = clock.now()
        hosts.withLock { hosts in
            guard var host = hosts[name] else { return }
            host.active -= 1
            host.pace += (took - host.pace) / 8
            if let failure, failure.reason == .cancelled || failure.reason == .closed {
                // Says nothing of the host.
                host.isProbed = false
            } else if let failure, failure.isOfTheHost {
                host.failures += 1
                if host.isProbed || host.failures >= Self.patience {
                    let rest = min(Self.longestRest, Self.firstRest << min(host.rests, 8))
                    host.restsUntil = now + max(rest, Int64(failure.retryAfterSeconds ?? 0) * 1000)
                    host.rests += 1
                    host.failures = 0
                }
                host.isProbed = false
            } else {
                (host.failures, host.rests, host.restsUntil, host.isProbed) = (0, 0, nil, false)
            }
            hosts[name] = host.isForgettable ? nil : host
        }
    }

    /// Hosts that something is known of.
    var count: Int { hosts.withLock { $0.count } }
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
