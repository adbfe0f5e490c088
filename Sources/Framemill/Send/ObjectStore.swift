package import FramemillEngine
package import FramemillMedia

/// A bucket of an S3-compatible object store.
///
/// The endpoint is the operator's word: any address may be dialled, private ones too.
package struct ObjectStore: Sendable {
    private let address: Address
    private let signature: Outgoing.Signature?
    private let sender: Sender

    /// - Parameter environment: holds the credentials under the names that all tools of AWS read:
    ///   `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`. Without them requests are not signed.
    /// - Throws: `badOption` for half of a pair.
    package init(
        _ address: Address, sender: Sender, environment: [String: String]
    ) throws(Failure) {
        self.address = address
        self.sender = sender
        func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
        switch (value("AWS_ACCESS_KEY_ID"), value("AWS_SECRET_ACCESS_KEY")) {
        case (let keyID?, let secret?):
            signature = Outgoing.Signature(
                keyID: keyID, secret: secret, sessionToken: value("AWS_SESSION_TOKEN"),
                region: address.region,
                service: "s3")
        case (nil, nil): signature = nil
        default:
            throw Failure(
                .badOption, .input, "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY go together; one is not set")
        }
    }

    /// Writes an object whole, in place of what was there.
    /// - Parameter metadata: `x-amz-meta-…` by name; ASCII.
    /// - Throws: `writeFailed` when the store can't be reached or refuses, whatever its reason: that is the operator's to
    ///   mend and says nothing of the source.
    package func put(
        _ bytes: [UInt8], as name: String, type: String, metadata: [String: String] = [:], stop: Stop
    ) async throws(Failure) {
        var outgoing = request("PUT", name)
        outgoing.body = bytes
        let digest = Digest.sha256(bytes)
        outgoing.headers = [
            ("Content-Type", type), ("x-amz-content-sha256", Digest.hex(digest)),
            ("x-amz-checksum-sha256", Base64.text(digest)),
        ]
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            outgoing.headers.append(("x-amz-meta-\(key)", value))
        }
        let reply = try await answer(to: outgoing, name, stop)
        guard (200..<300).contains(reply.status) else { throw refusal(outgoing, name, reply) }
    }

    /// The length of an object in bytes; `nil` when there is none.
    /// - Throws: `writeFailed`, as `put`.
    package func byteCount(of name: String, stop: Stop) async throws(Failure) -> Int? {
        var outgoing = request("HEAD", name)
        outgoing.headers = [("x-amz-content-sha256", Digest.hex(Digest.sha256([])))]
        let reply = try await answer(to: outgoing, name, stop)
        if reply.status == 404 { return nil }
        guard reply.status == 200 else { throw refusal(outgoing, name, reply) }
        return reply["content-length"].flatMap { Int($0) }
    }

    /// For messages and results: `s3://bucket/prefix/name`.
    package func displayName(of name: String) -> String { "s3://\(address.bucket)/\(address.prefix)\(name)" }

    private func request(_ method: String, _ name: String) -> Outgoing {
        var outgoing = Outgoing(method, address.url(of: name))
        outgoing.signature = signature
        outgoing.isGuarded = false
        return outgoing
    }

    private func answer(
        to outgoing: Outgoing, _ name: String, _ stop: Stop
    ) async throws(Failure) -> Reply {
        do throws(Failure) {
            return try await sender.send(outgoing, stop: stop)
        } catch {
            if [.cancelled, .closed].contains(error.reason) { throw error }
            throw Failure(
                .writeFailed, .store, "\(displayName(of: name)) was not stored: \(error.message)",
                cause: error.cause)
        }
    }

    /// With the store's own words: it answers errors with a small XML text.
    private func refusal(_ outgoing: Outgoing, _ name: String, _ reply: Reply) -> Failure {
        let text = String(decoding: reply.body, as: UTF8.self)
        func element(_ tag: String) -> String? {
            guard let start = text.firstRange(of: "<\(tag)>")?.upperBound,
                let end = text[start...].firstRange(of: "</\(tag)>")?.lowerBound
            else { return nil }
            return String(text[start..<end])
        }
        let words = [element("Code"), element("Message")].compactMap(\.self).joined(separator: ": ")
        let help =
            reply.status == 403
            ? "; look at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, the region, and the bucket's policy" : ""
        return Failure(
            .writeFailed, .store,
            "the store answered \(reply.status) to \(outgoing.method) \(displayName(of: name))\(help)",
            cause: words.isEmpty ? nil : words, retryAfterSeconds: reply.retryAfterSeconds)
    }
}

extension ObjectStore {
    /// Where a bucket is.
    package struct Address: Sendable, Equatable {
        package var bucket: String
        /// In front of all names; empty or ending with `/`.
        package var prefix: String
        package var region: String
        /// `https://host` or `https://host:port`.
        package var endpoint: String
        /// `endpoint/bucket/name`; otherwise `bucket.host/name`.
        package var isPathStyle: Bool

        /// Reads `s3://BUCKET/PREFIX?endpoint=URL&region=NAME&style=path|virtual`. What is not said there comes from the
        /// environment (`AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL`, `AWS_REGION`, `AWS_DEFAULT_REGION`), else is AWS in
        /// `us-east-1`. An endpoint of its own is used path style, which every server understands; AWS by host.
        /// - Throws: `badOption`.
        package init(_ text: String, environment: [String: String]) throws(Failure) {
            func refuse(_ words: String) -> Failure { Failure(.badOption, .input, "\(text): \(words)") }
            guard text.hasPrefix("s3://") else { throw refuse("an object store is s3://BUCKET/PREFIX") }
            let halves = text.dropFirst(5).split(
                separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
            let parts = halves[0].split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
            bucket = String(parts[0])
            // The store's own rule (3 to 63 of a-z, 0-9, "." and "-") is narrower; this keeps the URL whole.
            guard !bucket.isEmpty, bucket.utf8.allSatisfy(Self.isPlain) else {
                throw refuse(
                    "the bucket's name is missing, or has other signs than letters, digits, . - and _")
            }
            let folder = parts.count == 2 ? String(parts[1]) : ""
            prefix = folder.isEmpty || folder.hasSuffix("/") ? folder : folder + "/"
            var options: [String: String] = [:]
            for option in halves.count == 2 ? halves[1].split(separator: "&") : [] {
                let pair = option.split(separator: "=", maxSplits: 1).map(String.init)
                guard pair.count == 2, ["endpoint", "region", "style"].contains(pair[0]) else {
                    throw refuse("\(option) is none of endpoint=URL, region=NAME, style=path|virtual")
                }
                options[pair[0]] = pair[1]
            }
            func value(_ names: String...) -> String? {
                names.lazy.compactMap { environment[$0] }.first { !$0.isEmpty }
            }
            region = options["region"] ?? value("AWS_REGION", "AWS_DEFAULT_REGION") ?? "us-east-1"
            guard region.utf8.allSatisfy(Self.isPlain) else { throw refuse("\(region) is no region") }
            let own = options["endpoint"] ?? value("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL")
            let typed = own ?? "https://s3.\(region).amazonaws.com"
            guard case .http(let web)? = try? Location(typed), web.target == "/" else {
                throw refuse("\(typed) is no endpoint such as https://s3.example.org:9000")
            }
            endpoint = web.origin
            switch options["style"] {
            case "path": isPathStyle = true
            case "virtual": isPathStyle = false
            case nil: isPathStyle = own != nil
            case let style?: throw refuse("style=\(style) is neither path nor virtual")
            }
        }

        /// The URL of an object, percent signs for all but unreserved signs and slashes: so it is signed.
        package func url(of name: String) -> String {
            let path = Self.escaped(prefix + name)
            if isPathStyle { return "\(endpoint)/\(bucket)/\(path)" }
            let host = endpoint.firstRange(of: "://")!.upperBound
            return "\(endpoint[..<host])\(bucket).\(endpoint[host...])/\(path)"
        }

        private static func isPlain(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."),
                UInt8(ascii: "_"):
                true
            default: false
            }
        }

        private static func escaped(_ path: String) -> String {
            var text: [UInt8] = []
            for byte in path.utf8 {
                if isPlain(byte) || byte == UInt8(ascii: "/") || byte == UInt8(ascii: "~") {
                    text.append(byte)
                } else {
                    text += "%\(Digest.hex([byte]).uppercased())".utf8
                }
            }
            return String(decoding: text, as: UTF8.self)
        }
    }
}
