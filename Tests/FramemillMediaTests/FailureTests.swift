import FramemillMedia
import Testing

@Suite struct FailureTests {
    /// Every reason, what it is called for ever, and what follows from it. Programs depend on this table.
    static let table: [(Failure.Reason, String, Failure.Fault, Failure.Class)] = [
        (.empty, "empty", .source, .permanent), (.notMedia, "not_media", .source, .permanent),
        (.invalid, "invalid", .source, .permanent), (.corrupt, "corrupt", .source, .permanent),
        (.truncatedHeader, "truncated_header", .source, .permanent),
        (.zeroDimensions, "zero_dimensions", .source, .permanent),
        (.noFrames, "no_frames", .source, .permanent),
        (.tooLarge, "too_large", .source, .permanent),
        (.noVideoStream, "no_video_stream", .source, .permanent),
        (.unsupportedCodec, "unsupported_codec", .source, .permanent),
        (.unsupportedFormat, "unsupported_format", .source, .permanent),
        (.notSupported, "not_supported", .source, .permanent), (.encrypted, "encrypted", .source, .permanent),
        (.noDecodableFrame, "no_decodable_frame", .source, .permanent),
        (.timeout, "timeout", .source, .transient), (.tooSlow, "too_slow", .source, .transient),
        (.tooManyRedirects, "too_many_redirects", .source, .permanent),
        (.unreachable, "unreachable", .source, .transient), (.dns, "dns", .source, .transient),
        (.tls, "tls", .source, .transient), (.badResponse, "bad_response", .source, .transient),
        (.sourceChanged, "source_changed", .source, .transient), (.noRange, "no_range", .source, .permanent),
        (.badURL, "bad_url", .caller, .permanent), (.blockedAddress, "blocked_address", .caller, .permanent),
        (.notFound, "not_found", .caller, .permanent), (.notKept, "not_kept", .caller, .transient),
        (.outOfMemory, "out_of_memory", .host, .transient),
        (.tooMuchMemory, "too_much_memory", .source, .permanent),
        (.decoderCrashed, "decoder_crashed", .source, .permanent),
        (.writeFailed, "write_failed", .host, .transient), (.badOption, "bad_option", .caller, .permanent),
        (.cancelled, "cancelled", .caller, .transient), (.closed, "closed", .caller, .transient),
        (.internalError, "internal_error", .us, .transient), (.http(404), "http_404", .source, .permanent),
        (.http(410), "http_410", .source, .permanent), (.http(403), "http_403", .source, .transient),
        (.http(408), "http_408", .source, .transient), (.http(425), "http_425", .source, .transient),
        (.http(429), "http_429", .source, .transient), (.http(500), "http_500", .source, .transient),
        (.http(503), "http_503", .source, .transient),
    ]

    @Test func givesEachReasonItsCodeFaultAndClass() {
        for (reason, code, fault, kind) in Self.table {
            #expect(reason.code == code)
            #expect(reason.fault == fault, "\(code)")
            #expect(reason.class == kind, "\(code)")
            #expect(Failure.Reason(code: code) == reason)
        }
    }

    @Test func knowsNoOtherCode() {
        for code in ["", "http", "http_", "http_x", "Empty", "ok"] {
            #expect(Failure.Reason(code: code) == nil)
        }
    }

    @Test func givesNoCodeTwice() {
        #expect(Set(Self.table.map(\.1)).count == Self.table.count)
        let allowed = Set("abcdefghijklmnopqrstuvwxyz0123456789_")
        for (_, code, _, _) in Self.table { #expect(code.allSatisfy(allowed.contains)) }
    }

    @Test func saysCodeMessageAndCause() {
        #expect("\(Failure(.dns, .fetch, "no such host"))" == "dns: no such host")
        #expect("\(Failure(.tls, .fetch, "refused", cause: "curl 60"))" == "tls: refused (curl 60)")
    }
}
