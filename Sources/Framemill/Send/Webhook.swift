internal import Glibc
package import FramemillEngine
package import FramemillMedia

/// Posts what became of a job to the address that its producer gave, signed as the Standard Webhooks specification has
/// it: `webhook-id`, `webhook-timestamp` and `webhook-signature: v1,` with the HMAC-SHA-256 over
/// `id.timestamp.body` in base 64.
///
/// The address is a stranger's word, so the guard judges it like a source's, and redirects are not followed.
package struct Webhook: Sendable {
    private let sender: Sender
    private let key: [UInt8]?
    private let now: @Sendable () -> Int

    /// - Parameters:
    ///   - secret: `whsec_` and the key in base 64, 24 to 64 bytes; `nil` sends unsigned.
    ///   - now: seconds since 1970.
    /// - Throws: `badOption` for any other secret.
    package init(
        _ sender: Sender, secret: String?, now: @escaping @Sendable () -> Int = { time(nil) }
    ) throws(Failure) {
        self.sender = sender
        self.now = now
        guard let secret else {
            key = nil
            return
        }
        guard secret.hasPrefix("whsec_"), let key = Base64.bytes(String(secret.dropFirst(6))),
            (24...64).contains(key.count)
        else {
            throw Failure(
                .badOption, .input,
                "a webhook's secret is whsec_ and 24 to 64 bytes in base 64: "
                    + "echo whsec_$(head -c 32 /dev/urandom | base64)")
        }
        self.key = key
    }

    /// - Parameters:
    ///   - body: JSON.
    ///   - id: the same for every try of one message, so that the receiver can tell.
    /// - Throws: `http` for an answer that is not 2xx, and what `Sender.send` does.
    package func post(_ body: [UInt8], id: String, to url: String, stop: Stop) async throws(Failure) {
        var outgoing = Outgoing("POST", url)
        outgoing.body = body
        let stamp = String(now())
        outgoing.headers = [
            ("Content-Type", "application/json"), ("webhook-id", id), ("webhook-timestamp", stamp),
        ]
        if let key {
            let code = Digest.hmac(Array("\(id).\(stamp).".utf8) + body, key: key)
            outgoing.headers.append(("webhook-signature", "v1,\(Base64.text(code))"))
        }
        let reply = try await sender.send(outgoing, stop: stop)
        guard !(200..<300).contains(reply.status) else { return }
        let name = (try? Location(url).displayName) ?? "the callback"
        throw Failure(
            (300..<400).contains(reply.status) ? .badResponse : .http(reply.status), .store,
            "the callback \(name) answered \(reply.status)", retryAfterSeconds: reply.retryAfterSeconds)
    }
}
