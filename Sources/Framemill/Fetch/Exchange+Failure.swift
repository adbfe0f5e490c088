internal import CCurl
internal import FramemillMedia

extension Exchange {
    /// curl's numbers become reasons here and nowhere else.
    static func failure(_ code: CURLcode, _ words: String, _ name: String, _ limits: Limits)
        -> Failure
    {
        let cause = "curl \(code.rawValue): \(words)"
        func make(_ reason: Failure.Reason, _ message: String) -> Failure {
            Failure(reason, .fetch, message, cause: cause)
        }
        switch code {
        case CURLE_COULDNT_RESOLVE_HOST: return make(.dns, "the host of \(name) has no address")
        case CURLE_RECV_ERROR where words.contains("header") || words.contains("chunked"):
            return make(.badResponse, "\(name) answered badly")
        case CURLE_COULDNT_CONNECT, CURLE_SEND_ERROR, CURLE_RECV_ERROR:
            return make(.unreachable, "the connection to \(name) failed")
        case CURLE_OPERATION_TIMEDOUT where words.hasPrefix("Operation too slow"):
            return make(
                .tooSlow,
                "\(name) sent less than \(limits.slowBytesPerSecond) bytes a second "
                    + "for \(limits.slowSeconds) s (Limits.slowBytesPerSecond, Limits.slowSeconds)")
        case CURLE_OPERATION_TIMEDOUT:
            return make(
                .timeout, "no connection to \(name) in \(limits.connectSeconds) s (Limits.connectSeconds)")
        case CURLE_SSL_CONNECT_ERROR, CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER,
            CURLE_SSL_ISSUER_ERROR, CURLE_SSL_INVALIDCERTSTATUS, CURLE_SSL_CLIENTCERT:
            return make(.tls, "no secure connection to \(name)")
        case CURLE_OUT_OF_MEMORY: return make(.outOfMemory, "libcurl has no memory for \(name)")
        // "Unsupported protocol" is not among the caller's: http and https alone get here, and curl says so of answers.
        case CURLE_URL_MALFORMAT: return make(.badURL, "libcurl can't read \(name)")
        case CURLE_FAILED_INIT: return make(.internalError, "libcurl could not start on \(name)")
        default: return make(.badResponse, "\(name) answered badly")
        }
    }
}
