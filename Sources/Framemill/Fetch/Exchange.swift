// A class and not a `~Copyable` struct, because curl keeps its address for the callbacks. It is born, used
// and dead on the network thread.

internal import CCurl
internal import FramemillMedia
internal import Glibc

/// One transfer's easy handle with its callbacks, over all its redirects.
///
/// Safe: what it points to is its own from `init` to `deinit`.
@safe final class Exchange {
    enum Outcome {
        /// Redirected: to be added anew.
        case again
        /// Not answered on a connection that had served others: to be added anew.
        case retry
        case done(Failure?)
    }

    let transfer: Transfer
    let handle: UnsafeMutableRawPointer
    private var headers: UnsafeMutablePointer<curl_slist>?
    private let errorText: UnsafeMutablePointer<CChar>
    private let networks: NetworkGuard
    private var location: Location.Web
    private var hops = 0
    private var head = ResponseHead()
    /// What ends this transfer, found in a callback, where curl knows only "write error".
    private var failure: Failure?
    private var isEnough = false
    private var discarded = 0
    private var dialled = 0
    private var refusedAddress: String?
    private var retries = 0

    /// Bodies of redirects and errors are read up to here, so that the connection can be used again.
    private static let discardLimit = 16 << 10
    /// Servers close a connection after so many requests, and those on their way there go unanswered.
    private static let retryLimit = 3

    init?(_ transfer: Transfer, userAgent: String, guard networks: NetworkGuard) {
        // Freed in `deinit`, as are the buffer and the list below.
        guard let handle = unsafe curl_easy_init() else { return nil }
        unsafe self.handle = handle
        unsafe errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        self.transfer = transfer
        self.networks = networks
        location = transfer.location
        guard setUp(userAgent: userAgent), point(to: transfer.location) else { return nil }
    }

    deinit {
        // The handle is in no multi handle any more (`Switchboard.end`), so nothing calls back.
        unsafe curl_easy_cleanup(handle)
        unsafe curl_slist_free_all(headers)
        unsafe errorText.deallocate()
    }

    var key: UInt { unsafe UInt(bitPattern: handle) }

    var connectionsMade: Int {
        var count = 0
        // The option yields a long.
        _ = unsafe framemill_getinfo_long(handle, CURLINFO_NUM_CONNECTS, &count)
        return count
    }

    var overdue: Failure {
        let state = head.isComplete ? "its body was still coming" : "no answer had come"
        return Failure(
            .timeout, .fetch, "the deadline passed while fetching \(name): \(state) (Limits.deadline)")
    }

    func resume() { _ = unsafe curl_easy_pause(handle, CURLPAUSE_CONT) }

    /// What the end of curl's work means. `again` leaves the handle set up for the next hop.
    func outcome(_ code: CURLcode) -> Outcome {
        if let failure { return .done(failure) }
        if isEnough { return .done(nil) }
        guard head.isComplete, head.isRedirect else {
            if code != CURLE_OK, wasLeftUnanswered(code) {
                retries += 1
                return .retry
            }
            return .done(code == CURLE_OK ? nil : problem(code))
        }
        do throws(Failure) {
            try follow()
            return .again
        } catch {
            return .done(error)
        }
    }

    private var name: String { Location.http(location).displayName }

    /// Whether a connection that was there before closed without a word on this request, as happens in HTTP/2 to what
    /// is sent while the server says goodbye (RFC 9113, 6.8: such requests "can be retried on a new connection").
    private func wasLeftUnanswered(_ code: CURLcode) -> Bool {
        let broken = [
            CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_GOT_NOTHING,
        ]
        return broken.contains(code) && head.status == 0 && connectionsMade == 0 && retries < Self.retryLimit
    }

    private func follow() throws(Failure) {
        hops += 1
        guard hops <= transfer.limits.redirects else {
            let start = Location.http(transfer.location).displayName
            throw Failure(
                .tooManyRedirects, .fetch,
                "\(start) redirects more than \(transfer.limits.redirects) times (Limits.redirects)")
        }
        let next: Location
        do throws(Failure) {
            next = try location.following(head["location"] ?? "")
        } catch {
            // The origin wrote it, not the caller; but a target that is refused stays refused.
            let reason: Failure.Reason = error.reason == .badURL ? .badResponse : error.reason
            throw Failure(
                reason, .fetch, "\(name) redirects to an address that can't be followed", cause: error.message
            )
        }
        guard case .http(let web) = next else { return }
        try networks.hosts.admit(web)
        location = web
        head = ResponseHead()
        discarded = 0
        dialled = 0
        refusedAddress = nil
        guard point(to: web) else { throw Failure(.outOfMemory, .fetch, "libcurl has no memory for a URL") }
    }

    private func problem(_ code: CURLcode) -> Failure {
        if dialled == 0, let refusedAddress {
            return networks.addresses.refusal(location.host, at: refusedAddress)
        }
        // curl ends its text with a zero inside the buffer, which is zeroed at the start.
        let words = unsafe String(cString: errorText)
        let text = unsafe words.isEmpty ? String(cString: curl_easy_strerror(code)) : words
        if dialled > 0, !head.isComplete, code == CURLE_OUT_OF_MEMORY {
            return Failure(
                .badResponse, .fetch, "\(name) answered with a header that is too long for libcurl",
                cause: "curl \(code.rawValue): \(text)")
        }
        return Self.failure(code, text, name, transfer.limits)
    }
}

// MARK: - Setting up

extension Exchange {
    private func setUp(userAgent: String) -> Bool {
        var lines = [
            "Range: bytes=\(transfer.range.lowerBound)-\(transfer.range.upperBound - 1)",
            "Accept-Encoding: identity",
        ]
        if let validator = transfer.validator { lines.append("If-Range: \(validator)") }
        if let tag = transfer.known?.entityTag { lines.append("If-None-Match: \(tag)") }
        if let date = transfer.known?.lastModified { lines.append("If-Modified-Since: \(date)") }
        for line in lines {
            // The list copies the text; on failure it stays as it was and `deinit` frees it.
            guard let longer = unsafe curl_slist_append(headers, line) else { return false }
            unsafe headers = longer
        }
        let limits = transfer.limits
        let numbers: [(CURLoption, Int)] = [
            (CURLOPT_NOSIGNAL, 1), (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_PATH_AS_IS, 1),
            (CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS)), (CURLOPT_BUFFERSIZE, 64 << 10),
            (CURLOPT_CONNECTTIMEOUT, max(1, limits.connectSeconds)),
            (CURLOPT_LOW_SPEED_LIMIT, max(1, limits.slowBytesPerSecond)),
            (CURLOPT_LOW_SPEED_TIME, max(1, limits.slowSeconds)),
            // Without it, giving up on a name whose server is silent would wait for the resolver's thread.
            (CURLOPT_QUICK_EXIT, 1),
        ]
        // Proxies of the environment would make the guard void.
        let texts = [
            (CURLOPT_PROTOCOLS_STR, "http,https"), (CURLOPT_PROXY, ""), (CURLOPT_NOPROXY, "*"),
            (CURLOPT_USERAGENT, userAgent),
        ]
        // Each option gets the type that its manual names; curl copies texts, and `self` outlives the handle.
        let me = unsafe Unmanaged.passUnretained(self).toOpaque()
        let done = unsafe [
            framemill_setopt_pointer(handle, CURLOPT_HTTPHEADER, headers),
            framemill_setopt_pointer(handle, CURLOPT_ERRORBUFFER, errorText),
            framemill_setopt_pointer(handle, CURLOPT_WRITEDATA, me),
            framemill_setopt_pointer(handle, CURLOPT_HEADERDATA, me),
            framemill_setopt_pointer(handle, CURLOPT_OPENSOCKETDATA, me),
            framemill_setopt_write(handle, CURLOPT_WRITEFUNCTION, onBody),
            framemill_setopt_write(handle, CURLOPT_HEADERFUNCTION, onHeader),
            framemill_setopt_opensocket(handle, onSocket),
        ]
        return done.allSatisfy { $0 == CURLE_OK }
            && numbers.allSatisfy { unsafe framemill_setopt_long(handle, $0.0, $0.1) == CURLE_OK }
            && texts.allSatisfy { unsafe framemill_setopt_pointer(handle, $0.0, $0.1) == CURLE_OK }
    }

    /// curl gets the origin as its URL and the target apart, so that it parses nothing of the path.
    private func point(to web: Location.Web) -> Bool {
        unsafe framemill_setopt_pointer(handle, CURLOPT_URL, web.origin + "/") == CURLE_OK
            && framemill_setopt_pointer(handle, CURLOPT_REQUEST_TARGET, web.target) == CURLE_OK
    }
}

// MARK: - Callbacks

extension Exchange {
    fileprivate func take(header line: String) -> Bool {
        guard !head.isComplete else { return true }
        head.take(line)
        guard head.isComplete, !head.isRedirect else { return true }
        failure = head.failure(at: name, isConditional: transfer.known != nil)
        if failure == nil { failure = transfer.sink.begin(transfer.number, head, from: location) }
        // An error's small body may still come; one of ours ends it here.
        if let reason = failure?.reason, case .http = reason { return true }
        return failure == nil
    }

    fileprivate func take(body bytes: UnsafeRawBufferPointer) -> Int {
        guard head.isComplete else {
            // A 101 that nobody asked for makes curl hand on what follows as it is.
            failure = Failure(.badResponse, .fetch, "\(name) sent bytes before it answered (\(head.status))")
            return -1
        }
        if failure != nil || head.isRedirect || head.status == 416 {
            discarded += bytes.count
            return discarded <= Self.discardLimit ? bytes.count : -1
        }
        switch unsafe transfer.sink.receive(transfer.number, bytes) {
        case .taken: return bytes.count
        case .pause: return Int(CURL_WRITEFUNC_PAUSE)
        case .enough:
            isEnough = true
            return -1
        }
    }

    fileprivate func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        switch unsafe networks.addresses.dial(address) {
        case .socket(let made):
            dialled += 1
            return made
        case .refused(let text):
            refusedAddress = text
            return -1
        case .failed:
            dialled += 1
            failure = Failure(
                .outOfMemory, .fetch, "the system has no socket for \(name) (ulimit -n)", cause: systemWords()
            )
            return -1
        }
    }
}

// curl passes back the pointer of `setUp`, whose object lives as long as the handle.
private func exchange(_ context: UnsafeMutableRawPointer?) -> Exchange? {
    unsafe context.map { unsafe Unmanaged<Exchange>.fromOpaque($0).takeUnretainedValue() }
}

private let onBody: framemill_write_function = { bytes, size, count, context in
    guard let exchange = unsafe exchange(context) else { return 0 }
    // curl says: `size` is always 1, and `count` bytes are there.
    return unsafe exchange.take(body: UnsafeRawBufferPointer(start: bytes, count: size * count))
}

private let onHeader: framemill_write_function = { bytes, size, count, context in
    guard let exchange = unsafe exchange(context) else { return 0 }
    // As above; the text is copied.
    let line = unsafe String(
        decoding: UnsafeRawBufferPointer(start: bytes, count: size * count), as: UTF8.self)
    return exchange.take(header: line) ? size * count : 0
}

private let onSocket: curl_opensocket_callback = { context, _, address in
    guard let exchange = unsafe exchange(context), let address = unsafe address else { return -1 }
    return unsafe exchange.openSocket(address)
}
