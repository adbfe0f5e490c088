// How many jobs work on one host at once. No more than `Configuration.perHost`; and fewer where the host turns some of
// them away: with 429 or 503, or by closing connections while it answers others. One less than were there is what it has
// room for. After a while without such a word one more is tried, and after each that was too many, later.
//
// A job waits here before its time begins to count, so that a long list of one host fails nobody by its deadline. curl
// has the same limit for connections (`CURLMOPT_MAX_HOST_CONNECTIONS`), but what waits there waits within its deadline,
// and over HTTP/2 one connection carries a hundred transfers.

internal import FramemillEngine
internal import FramemillMedia
internal import Synchronization

final class HostGates: Sendable {
    fileprivate struct Host {
        let gate: Gate
        /// Jobs that are in, or wait.
        var users = 0
        /// Answers since the gate was last made narrower, or wider.
        var answers = 0
        /// So many answers until it is made wider.
        var patience = HostGates.firstPatience
    }
    private let hosts = Mutex<[String: Host]>([:])
    private let width: Int

    private static let firstPatience = 32
    private static let mostPatience = 4096
    /// Hosts that nobody works on, but which have shown how much they have room for.
    private static let remembered = 1024

    init(width: Int) { self.width = max(1, width) }

    /// `false` when the task was cancelled first; then there is nothing to leave.
    func enter(_ origin: String, _ urgency: Urgency) async -> Bool {
        let gate = hosts.withLock { hosts in
            hosts[origin, default: Host(gate: Gate(width: width))].users += 1
            return hosts[origin]!.gate
        }
        let isIn = await gate.enter(urgency)
        if !isIn { hosts.withLock { drop(origin, &$0) } }
        return isIn
    }

    /// Learns from what came of a job, which is still in; `nil` for an answer that is of use.
    func note(_ failure: Failure?, of origin: String) {
        hosts.withLock { hosts in
            guard var host = hosts[origin] else { return }
            if let failure, host.isFull(failure) {
                host.gate.resize(to: min(host.gate.width, host.gate.inside) - 1)
                host.answers = 0
                host.patience = min(host.patience * 2, Self.mostPatience)
            } else if failure?.isOfTheWay ?? false {
                // Says nothing of how many there may be.
            } else {
                host.answers += 1
                if host.answers >= host.patience, host.gate.width < width {
                    host.gate.resize(to: host.gate.width + 1)
                    host.answers = 0
                }
            }
            hosts[origin] = host
        }
    }

    func leave(_ origin: String) {
        let gate = hosts.withLock { hosts -> Gate? in
            guard let gate = hosts[origin]?.gate else { return nil }
            drop(origin, &hosts)
            return gate
        }
        gate?.leave()
    }

    /// Hosts that something is known of.
    var count: Int { hosts.withLock { $0.count } }

    /// How many may work on it at once now.
    func width(of origin: String) -> Int { hosts.withLock { $0[origin]?.gate.width ?? width } }

    private func drop(_ origin: String, _ hosts: inout [String: Host]) {
        hosts[origin]!.users -= 1
        guard hosts[origin]!.users == 0 else { return }
        if hosts[origin]!.gate.width == width { hosts[origin] = nil }
        if hosts.count > Self.remembered { hosts = hosts.filter { $0.value.users > 0 } }
    }
}

extension HostGates.Host {
    /// Whether the host turned a job away because others were there.
    fileprivate func isFull(_ failure: Failure) -> Bool {
        guard gate.inside > 1 else { return false }
        switch failure.reason {
        case .http(429), .http(503): return true
        // A host that is down turns everybody away: to serve them one by one would help nobody.
        case .unreachable, .badResponse: return answers > 0
        default: return false
        }
    }
}

extension Failure {
    /// Whether it is no answer: the host turned it away or was not reached, or nobody waited.
    fileprivate var isOfTheWay: Bool {
        switch reason {
        case .http(429), .http(503): true
        case .unreachable, .badResponse, .timeout, .tooSlow, .dns, .tls, .cancelled, .closed: true
        default: false
        }
    }
}
