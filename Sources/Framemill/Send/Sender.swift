// The other direction of the door to the network: small requests with a body, to an object store that the operator
// named or to a callback that a stranger wrote. One at a time on each of a few threads of their own, since nobody
// waits for hundreds of them; libcurl keeps the connections between two of one thread.
//
// No redirect is followed: a store that moved is to be named anew, and a callback's redirect would be a way around
// what was agreed on. Proxies of the environment are ignored, as everywhere.

internal import CCurl
package import FramemillEngine
package import FramemillMedia
internal import Synchronization

/// What is sent.
package struct Outgoing: Sendable {
    /// `PUT`, `POST`, `HEAD` or `GET`.
    package var method: String
    /// `http` or `https`.
    package var url: String
    package var headers: [(name: String, value: String)] = []
    package var body: [UInt8] = []
    /// Signs the request as AWS Signature Version 4 wants it.
    package var signature: Signature?
    /// Whether only public addresses, and those that `allowNet` names, may be dialled.
    package var isGuarded = true

    package init(_ method: String, _ url: String) {
        self.method = method
        self.url = url
    }

    /// Who signs, and for which service.
    package struct Signature: Sendable {
        package var keyID: String
        package var secret: String
        /// Of temporary credentials.
        package var sessionToken: String?
        package var region: String
        /// `s3`.
        package var service: String

        package init(
            keyID: String, secret: String, sessionToken: String? = nil, region: String, service: String
        ) {
            self.keyID = keyID
            self.secret = secret
            self.sessionToken = sessionToken
            self.region = region
            self.service = service
        }
    }
}

/// What came back.
package struct Reply: Sendable {
    package var status: Int
    /// The first 64 KiB.
    package var body: [UInt8]
    private var head: ResponseHead

    init(_ head: ResponseHead, _ body: [UInt8]) {
        (status, self.head, self.body) = (head.status, head, body)
    }

    /// A header's value by its name in lower case.
    package subscript(name: String) -> String? { head[name] }

    /// Of `Retry-After`.
    package var retryAfterSeconds: Int? { head.retryAfterSeconds() }
}

package final class Sender: Sendable {
    private let lane: Lane<SendingHandle>
    private let networks: NetworkGuard
    private let userAgent: String
    private let limits: Limits

    /// - Parameter width: requests at a time.
    /// - Throws: `badOption` when `allowNet` holds something that is no network, or `denyHosts` what is no host.
    package init(_ configuration: Configuration, width: Int = 4) throws(Failure) {
        networks = try NetworkGuard(configuration)
        userAgent = configuration.userAgent
        limits = configuration.limits
        lane = Lane("send", width: width, stackBytes: 1 << 19) { () throws(Failure) in try SendingHandle() }
    }

    /// Sends and gives the answer, whatever its status is.
    /// - Throws: why there was none: `badURL`, `blockedAddress`, `dns`, `unreachable`, `tls`, `timeout` once `stop` is
    ///   over, `badResponse`, `cancelled`, `closed`.
    package func send(_ outgoing: Outgoing, stop: Stop) async throws(Failure) -> Reply {
        guard case .http(let place) = try Location(outgoing.url) else {
            throw Failure(.badURL, .fetch, "only http and https addresses can be sent to")
        }
        if outgoing.isGuarded { try networks.hosts.admit(place) }
        return try await lane.run(stop: stop) { [networks, userAgent, limits] handle, stop throws(Failure) in
            let sending = Sending(
                outgoing, place, guard: outgoing.isGuarded ? networks.addresses : nil, userAgent: userAgent,
                limits: limits, stop: stop)
            return try sending.perform(on: handle)
        }
    }

    /// Finishes what is queued, refuses what is new.
    package func close() { lane.close() }
}

/// An easy handle, kept for its connections.
///
/// Safe: born, used and dead on one thread of the lane.
@safe struct SendingHandle: ~Copyable {
    let curl: UnsafeMutableRawPointer

    init() throws(Failure) {
        // Freed in `deinit`.
        guard Transport.isCurlReady, let curl = unsafe curl_easy_init() else {
            throw Failure(.internalError, .fetch, "libcurl could not be started")
        }
        unsafe self.curl = curl
    }

    deinit { unsafe curl_easy_cleanup(curl) }
}
