// The one error of the project and its one table. Whose fault a reason is decides everything that follows from it:
// whether a retry can help, how loud the log is, the exit code and the metric label. Nobody decides that elsewhere.

/// Why something could not be done, in words for a person and in a stable code for a program.
public struct Failure: Error, Sendable, Equatable, CustomStringConvertible {
    /// The stable code, its class, and whose fault it is, come from here.
    public var reason: Reason
    /// The step that failed.
    public var stage: Stage
    /// What was tried, on what, what stood in the way and what would help. Never credentials or a query string.
    public var message: String
    /// The library's own words or number, where there are any.
    public var cause: String?
    /// Seconds that the origin asked to wait before the next try (`Retry-After`).
    public var retryAfterSeconds: Int?
    /// Set where nobody was asked: an earlier try is remembered, and this is its answer.
    public var memory: Memory?

    public init(
        _ reason: Reason, _ stage: Stage, _ message: String, cause: String? = nil,
        retryAfterSeconds: Int? = nil
    ) {
        self.reason = reason
        self.stage = stage
        self.message = message
        self.cause = cause
        self.retryAfterSeconds = retryAfterSeconds
    }

    public var description: String {
        let tail = cause.map { " (\($0))" } ?? ""
        let past = memory.map { "; \($0)" } ?? ""
        return "\(reason.code): \(message)\(tail)\(past)"
    }

    /// How an earlier failure is known.
    public struct Memory: Sendable, Equatable, CustomStringConvertible {
        /// Seconds since the source was asked last.
        public var ageSeconds: Int
        /// Seconds until it is asked again; `nil` where what it says of its bytes decides.
        public var leftSeconds: Int?
        /// How often in a row it failed.
        public var tries: Int

        public init(ageSeconds: Int, leftSeconds: Int?, tries: Int) {
            self.ageSeconds = ageSeconds
            self.leftSeconds = leftSeconds
            self.tries = tries
        }

        public var description: String {
            let next = leftSeconds.map { ", asked again in \($0) s" } ?? ""
            return "remembered from \(ageSeconds) s ago, failed \(tries)x\(next)"
        }
    }

    public enum Stage: String, Sendable, Codable {
        case input, fetch, probe, decode, transform, encode, cache, store, queue
    }

    /// Whose fault it is.
    public enum Fault: String, Sendable, Codable { case source, caller, us, host }

    /// Whether trying again later can help.
    public enum Class: String, Sendable, Codable { case transient, permanent }

    public enum Reason: Sendable, Hashable {
        // The bytes.
        case empty, notMedia, invalid, corrupt, truncatedHeader, zeroDimensions, noFrames, tooLarge
        case noVideoStream, unsupportedCodec, unsupportedFormat, notSupported, encrypted, noDecodableFrame
        // The network.
        case http(Int)
        case timeout, tooSlow, tooManyRedirects, unreachable, dns, tls, badResponse, sourceChanged, noRange,
            badURL
        case blockedAddress, notFound, notKept
        // The machine and the caller.
        case outOfMemory, tooMuchMemory, decoderCrashed, writeFailed, badOption, cancelled, closed,
            internalError

        /// Stable, lower case, for logs, reports and metrics: `http_404`, `too_large`.
        public var code: String {
            switch self {
            case .http(let status): "http_\(status)"
            default: row.code
            }
        }
        public var fault: Fault { row.fault }
        public var `class`: Class { row.class }

        /// Whether an HTTP status is likely to pass. 403 is often a bot block or a clock that is off: try again,
        /// later and seldom.
        private static func passes(_ status: Int) -> Bool {
            status >= 500 || [403, 408, 425, 429].contains(status)
        }

        private var row: (code: String, fault: Fault, class: Class) {
            switch self {
            case .empty: ("empty", .source, .permanent)
            case .notMedia: ("not_media", .source, .permanent)
            case .invalid: ("invalid", .source, .permanent)
            case .corrupt: ("corrupt", .source, .permanent)
            case .truncatedHeader: ("truncated_header", .source, .permanent)
            case .zeroDimensions: ("zero_dimensions", .source, .permanent)
            case .noFrames: ("no_frames", .source, .permanent)
            case .tooLarge: ("too_large", .source, .permanent)
            case .noVideoStream: ("no_video_stream", .source, .permanent)
            case .unsupportedCodec: ("unsupported_codec", .source, .permanent)
            case .unsupportedFormat: ("unsupported_format", .source, .permanent)
            case .notSupported: ("not_supported", .source, .permanent)
            case .encrypted: ("encrypted", .source, .permanent)
            case .noDecodableFrame: ("no_decodable_frame", .source, .permanent)
            case .http(let status): ("http", .source, Self.passes(status) ? .transient : .permanent)
            case .timeout: ("timeout", .source, .transient)
            case .tooSlow: ("too_slow", .source, .transient)
            case .tooManyRedirects: ("too_many_redirects", .source, .permanent)
            case .unreachable: ("unreachable", .source, .transient)
            case .dns: ("dns", .source, .transient)
            case .tls: ("tls", .source, .transient)
            case .badResponse: ("bad_response", .source, .transient)
            case .sourceChanged: ("source_changed", .source, .transient)
            case .noRange: ("no_range", .source, .permanent)
            case .badURL: ("bad_url", .caller, .permanent)
            case .blockedAddress: ("blocked_address", .caller, .permanent)
            case .notFound: ("not_found", .caller, .permanent)
            case .notKept: ("not_kept", .caller, .transient)
            case .outOfMemory: ("out_of_memory", .host, .transient)
            case .tooMuchMemory: ("too_much_memory", .source, .permanent)
            case .decoderCrashed: ("decoder_crashed", .source, .permanent)
            case .writeFailed: ("write_failed", .host, .transient)
            case .badOption: ("bad_option", .caller, .permanent)
            case .cancelled: ("cancelled", .caller, .transient)
            case .closed: ("closed", .caller, .transient)
            case .internalError: ("internal_error", .us, .transient)
            }
        }
    }
}
