package import FramemillMedia

/// What is kept beside a picture, or in place of one: where it came from, how long it may be believed, and
/// what failed. Times are whole seconds since 1970.
package struct CacheRecord: Sendable, Equatable {
    package enum Kind: UInt8, Sendable {
        case picture = 0
        case failure = 1
    }

    /// A failure that is remembered.
    package struct Refusal: Sendable, Equatable {
        /// `Failure.Reason.code`.
        package var code: String
        package var `class`: Failure.Class
        package var stage: Failure.Stage
        /// Holds no credentials and no query string, as no message does.
        package var message: String
        package var cause: String?
        /// How often it has been tried, in a row, without a picture.
        package var attempts: Int
        package var happenedAt = 0
        /// Until then nobody is asked; `nil` where the freshness of the bytes decides.
        package var until: Int?
        /// The limits it failed under.
        package var limits = ""

        package init(_ failure: Failure, attempts: Int = 1) {
            code = failure.reason.code
            self.class = failure.reason.class
            stage = failure.stage
            message = failure.message
            cause = failure.cause
            self.attempts = attempts
        }

        /// The failure again; `nil` for a code that this version doesn't know.
        package var failure: Failure? {
            Failure.Reason(code: code).map { Failure($0, stage, message, cause: cause) }
        }
    }

    package var key: CacheKey
    /// The canonical URL, always without user and password.
    package private(set) var url: String
    /// In lower case; empty for a file.
    package var host: String
    /// Which part of the engine made it, and in which version: `EngineVersions`.
    package var engineClass: String
    package var engineVersion: String
    package var storedAt: Int64
    /// Until then it is served without a question.
    package var freshUntil: Int64
    /// Until then it is served at once while somebody asks the origin.
    package var staleWhileRevalidateUntil: Int64
    /// Until then it is served when the origin can't be asked.
    package var staleIfErrorUntil: Int64
    package var etag: String?
    package var lastModified: String?
    /// `nil` for a picture.
    package var refusal: Refusal?
    /// The last failure of a source whose picture is kept all the same.
    package var trouble: Refusal?
    /// Names the mirror that a picture comes from.
    package var mirror: String?
    /// Of the picture; the cache sets it when it stores.
    package var byteCount: Int

    /// When the source was last asked.
    package var learnedAt: Int64 { max(storedAt, Int64(trouble?.happenedAt ?? 0)) }

    package var kind: Kind { refusal == nil ? .picture : .failure }

    /// A record that stays fresh for ever.
    package init(
        key: CacheKey, url: String = "", host: String = "", engineClass: String = "",
        engineVersion: String = CacheKey.engineVersion, storedAt: Int64 = 0
    ) {
        self.key = key
        self.url = Self.withoutUser(url)
        self.host = host
        self.engineClass = engineClass
        self.engineVersion = engineVersion
        self.storedAt = storedAt
        freshUntil = .max
        staleWhileRevalidateUntil = .max
        staleIfErrorUntil = .max
        byteCount = 0
    }

    /// "userinfo@" stands between "//" and the host; an "@" behind the first "/", "?" or "#" is none.
    package static func withoutUser(_ url: String) -> String {
        // By bytes, since a mark that combines with a delimiter would hide it.
        let bytes = url.utf8
        guard bytes.contains(UInt8(ascii: "@")), let start = bytes.firstRange(of: "://".utf8)?.upperBound
        else {
            return url
        }
        let authority = bytes[start...].prefix { !"/?#".utf8.contains($0) }
        guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { return url }
        return String(url[..<start] + url[bytes.index(after: at)...])
    }
}

extension CacheRecord {
    /// All but the key, which stands in front of it.
    mutating func pass(_ coder: inout some FieldCoder) {
        coder.pass(&url)
        coder.pass(&host)
        coder.pass(&engineClass)
        coder.pass(&engineVersion)
        coder.pass(&storedAt)
        coder.pass(&freshUntil)
        coder.pass(&staleWhileRevalidateUntil)
        coder.pass(&staleIfErrorUntil)
        coder.pass(&etag)
        coder.pass(&lastModified)
        coder.pass(&refusal, blank: .blank) { $1.pass(&$0) }
        coder.pass(&trouble, blank: .blank) { $1.pass(&$0) }
        coder.pass(&mirror)
        coder.pass(&byteCount)
    }
}

extension CacheRecord.Refusal {
    fileprivate static var blank: Self { Self(Failure(.internalError, .cache, "")) }

    fileprivate mutating func pass(_ coder: inout some FieldCoder) {
        coder.pass(&code)
        coder.pass(&`class`)
        coder.pass(&stage)
        coder.pass(&message)
        coder.pass(&cause)
        coder.pass(&attempts)
        coder.pass(&happenedAt)
        coder.pass(&until)
        coder.pass(&limits)
    }
}
