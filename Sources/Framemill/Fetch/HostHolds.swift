internal import FramemillMedia
internal import Synchronization

/// Hosts that asked to be left alone for a while (`Retry-After`): what one transfer was told holds for all.
final class HostHolds: Sendable {
    private struct Hold {
        var until: Double
        var failure: Failure
    }
    private let holds = Mutex<[String: Hold]>([:])

    /// - Parameter now: seconds since 1970.
    func note(_ failure: Failure, of url: String, now: Double) {
        guard let told = failure.retryAfterSeconds, told > 0, failure.memory == nil,
            let origin = Location.origin(of: url)
        else { return }
        holds.withLock { holds in
            // Few hosts at a time; those whose time is over go with the next one that comes.
            holds = holds.filter { $0.value.until > now }
            let until = max(now + Double(told), holds[origin]?.until ?? 0)
            holds[origin] = Hold(until: until, failure: failure)
        }
    }

    /// The answer of a host that must not be asked yet, with the time that is left.
    func failure(for url: String, now: Double) -> Failure? {
        guard let origin = Location.origin(of: url) else { return nil }
        guard let hold = holds.withLock({ $0[origin] }), hold.until > now else { return nil }
        var failure = hold.failure
        failure.message = "\(origin) asked to be left alone for a while: \(failure.message)"
        failure.retryAfterSeconds = Int((hold.until - now).rounded(.up))
        return failure
    }
}

extension Location {
    /// Scheme, host and port; `nil` for a file, and for what is no URL, which fails when it is opened.
    static func origin(of url: String) -> String? {
        guard case .http(let web)? = try? Location(url) else { return nil }
        return web.origin
    }
}
