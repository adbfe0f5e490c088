// Who may be asked now. A worker holds many jobs of many hosts; one host that is slow, or dead, must delay its own alone.
//
// Three rules, each a host's own: so many jobs at a time, so many a second, and a circuit breaker (Nygard, "Release It!"):
// after a few failures in a row that are the host's, nobody asks it for a while; then one job goes first, as a probe, and
// its outcome opens the way or doubles the wait. A value over a clock that is handed in.

internal import FramemillMedia

/// The rules for one host. Every default carries its reason.
public struct HostRules: Sendable, Equatable {
    /// Jobs at a time. What browsers allow themselves with one host.
    public var concurrency = 6
    /// Jobs started a second; `nil` sets no limit.
    public var perSecond: Double?
    /// Failures in a row after which it is left alone. One is chance, and so may two be.
    public var failures = 5
    /// For how long, in seconds, the first time: as long as a restart takes. Twice as long after each probe that failed.
    public var openSeconds = 10.0
    /// The longest wait, in seconds.
    public var mostOpenSeconds = 300.0

    public init() {}
}

struct HostBook: Sendable {
    enum Answer: Equatable {
        case go
        /// Seconds after which to ask again.
        case wait(Double)
    }

    private struct Host {
        var running = 0
        var failures = 0
        /// Until then nobody asks it; `nil` while it is believed to be well.
        var openUntil: Double?
        var openSeconds = 0.0
        var isProbed = false
        /// The next start that `perSecond` allows.
        var nextStart = 0.0
        var lastUse = 0.0
    }

    private let rules: HostRules
    private var hosts: [String: Host] = [:]
    /// Hosts are forgotten when nothing of theirs runs and they have not been asked for so long.
    private static let forgetSeconds = 600.0
    private var sizeAtSweep = 1024

    init(_ rules: HostRules) { self.rules = rules }

    /// Whether a job of `host` may start at `now`; if so it is counted as running until `end`.
    mutating func admit(_ host: String, now: Double) -> Answer {
        // What has no host is a file, or fails by itself.
        guard !host.isEmpty else { return .go }
        sweep(now)
        var entry = hosts[host] ?? Host()
        defer { hosts[host] = entry }
        entry.lastUse = now
        if let until = entry.openUntil {
            // One probe at a time; its end says when to ask again, and a second is how long others wait for that.
            guard now >= until, !entry.isProbed else { return .wait(max(1, until - now)) }
        }
        guard entry.running < max(1, rules.concurrency) else { return .wait(0.5) }
        if let rate = rules.perSecond {
            guard now >= entry.nextStart else { return .wait(entry.nextStart - now) }
            entry.nextStart = max(entry.nextStart, now - 1) + 1 / rate
        }
        entry.isProbed = entry.openUntil != nil
        entry.running += 1
        return .go
    }

    /// - Parameter failure: how the job failed, or `nil` where it gave what was asked for.
    mutating func end(_ host: String, _ failure: Failure?, now: Double) {
        guard var entry = hosts[host] else { return }
        defer { hosts[host] = entry }
        entry.running = max(0, entry.running - 1)
        entry.lastUse = now
        let wasProbe = entry.isProbed
        entry.isProbed = false
        guard let failure, failure.reason.isOfTheHost else {
            // Any answer, a 404 too, shows that somebody is there; what stopped on our side shows nothing.
            if failure?.reason.saysNothingOfTheHost != true {
                (entry.failures, entry.openUntil, entry.openSeconds) = (0, nil, 0)
            }
            return
        }
        entry.failures += 1
        guard wasProbe || entry.openUntil == nil && entry.failures >= max(1, rules.failures) else { return }
        entry.openSeconds = min(
            max(rules.openSeconds, entry.openSeconds * 2), rules.mostOpenSeconds)
        entry.openUntil = now + max(entry.openSeconds, Double(failure.retryAfterSeconds ?? 0))
    }

    /// Hosts that nobody asks at the moment, for metrics.
    func open(now: Double) -> Int { hosts.values.count { $0.openUntil.map { $0 > now } ?? false } }

    /// Hosts that are known.
    var count: Int { hosts.count }

    /// Looked at again once they have doubled, so that it costs nothing on the whole.
    private mutating func sweep(_ now: Double) {
        guard hosts.count > sizeAtSweep else { return }
        hosts = hosts.filter { $0.value.running > 0 || now - $0.value.lastUse < Self.forgetSeconds }
        sizeAtSweep = max(1024, hosts.count * 2)
    }
}

extension Failure.Reason {
    /// Whether it speaks of the whole host, and not of one of its files.
    fileprivate var isOfTheHost: Bool {
        switch self {
        case .timeout, .tooSlow, .unreachable, .dns, .tls: true
        case .http(let status): status >= 500 || status == 429
        default: false
        }
    }

    fileprivate var saysNothingOfTheHost: Bool {
        switch self {
        case .cancelled, .closed, .outOfMemory, .writeFailed, .internalError, .notKept, .badOption: true
        default: false
        }
    }
}
