internal import CCurl
internal import FramemillEngine
internal import FramemillMedia
internal import Glibc

/// One request on its way. A class, because curl keeps its address for the callbacks, which all come before
/// `perform` returns.
final class Sending {
    private let outgoing: Outgoing
    private let place: Location.Web
    private let addressGuard: AddressGuard?
    private let userAgent: String
    private let limits: Limits
    private let stop: Stop
    private var head = ResponseHead()
    private var body: [UInt8] = []
    private var failure: Failure?
    private var refusedAddress: String?

    /// More of an answer is read, so that the connection can be used again, but not kept.
    private static let keptBytes = 64 << 10
    private static let readBytes = 1 << 20
    private var received = 0

    /// - Parameter guard: `nil` dials any address.
    init(
        _ outgoing: Outgoing, _ place: Location.Web, guard addressGuard: AddressGuard?, userAgent: String,
        limits: Limits, stop: Stop
    ) {
        self.outgoing = outgoing
        self.place = place
        self.addressGuard = addressGuard
        self.userAgent = userAgent
        self.limits = limits
        self.stop = stop
    }

    func perform(on handle: borrowing SendingHandle) throws(Failure) -> Reply {
        let curl = unsafe handle.curl
        // Connections and names that were looked up survive this.
        unsafe curl_easy_reset(curl)
        var list: UnsafeMutablePointer<curl_slist>?
        // The handle forgets the list at its next reset, and is not used until then.
        defer { unsafe curl_slist_free_all(list) }
        for line in lines {
            // The list copies the text; on failure it stays as it was.
            guard let longer = unsafe curl_slist_append(list, line) else { throw noMemory }
            unsafe list = longer
        }
        guard unsafe setUp(curl, list) else { throw noMemory }
        let code = unsafe outgoing.body.withUnsafeBytes { bytes in
            // The body lives until the request is over.
            if outgoing.method == "PUT" || outgoing.method == "POST" {
                _ = unsafe framemill_setopt_offset(curl, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count))
                // Without a byte there is no address; curl wants one all the same.
                _ = unsafe framemill_setopt_pointer(
                    curl, CURLOPT_POSTFIELDS, bytes.baseAddress ?? UnsafeRawPointer(curl))
                _ = unsafe framemill_setopt_pointer(curl, CURLOPT_CUSTOMREQUEST, outgoing.method)
            } else if outgoing.method == "HEAD" {
                _ = unsafe framemill_setopt_long(curl, CURLOPT_NOBODY, 1)
            }
            return unsafe curl_easy_perform(curl)
        }
        if let failure { throw failure }
        if code == CURLE_OK, head.isComplete { return Reply(head, body) }
        try stop.check(.fetch)
        if let refusedAddress, let addressGuard { throw addressGuard.refusal(place.host, at: refusedAddress) }
        // A text that curl has for ever.
        throw Exchange.failure(code, unsafe String(cString: curl_easy_strerror(code)), name, limits)
    }

    private var name: String { Location.http(place).displayName }
    private var noMemory: Failure { Failure(.outOfMemory, .fetch, "libcurl has no memory for a request") }

    private var lines: [String] {
        var lines = outgoing.headers.map { "\($0.name): \($0.value)" }
        if let token = outgoing.signature?.sessionToken { lines.append("X-Amz-Security-Token: \(token)") }
        return lines
    }

    private func setUp(_ curl: UnsafeMutableRawPointer, _ list: UnsafeMutablePointer<curl_slist>?) -> Bool {
        // curl takes no more than an int of milliseconds.
        let left = Int(min(stop.remaining, .seconds(1 << 20)) / .milliseconds(1))
        let numbers: [(CURLoption, Int)] = [
            (CURLOPT_NOSIGNAL, 1), (CURLOPT_FOLLOWLOCATION, 0), (CURLOPT_PATH_AS_IS, 1),
            (CURLOPT_CONNECTTIMEOUT, max(1, limits.connectSeconds)), (CURLOPT_TIMEOUT_MS, max(1, left)),
            // Few servers say the word that curl would wait for before a large body. Not a header that is left
            // empty, for libcurl 7.88 signs that one all the same.
            (CURLOPT_NOPROGRESS, 0), (CURLOPT_QUICK_EXIT, 1), (CURLOPT_EXPECT_100_TIMEOUT_MS, 1),
        ]
        var texts = [
            (CURLOPT_URL, place.origin + place.target), (CURLOPT_PROTOCOLS_STR, "http,https"),
            (CURLOPT_PROXY, ""), (CURLOPT_NOPROXY, "*"), (CURLOPT_USERAGENT, userAgent),
        ]
        if let signature = outgoing.signature {
            texts += [
                (CURLOPT_AWS_SIGV4, "aws:amz:\(signature.region):\(signature.service)"),
                (CURLOPT_USERNAME, signature.keyID), (CURLOPT_PASSWORD, signature.secret),
            ]
        }
        // Each option gets the type that its manual names; curl copies texts, and `self` outlives the request.
        let me = unsafe Unmanaged.passUnretained(self).toOpaque()
        var done = unsafe [
            framemill_setopt_pointer(curl, CURLOPT_HTTPHEADER, list),
            framemill_setopt_pointer(curl, CURLOPT_WRITEDATA, me),
            framemill_setopt_pointer(curl, CURLOPT_HEADERDATA, me),
            framemill_setopt_pointer(curl, CURLOPT_XFERINFODATA, me),
            framemill_setopt_write(curl, CURLOPT_WRITEFUNCTION, onBody),
            framemill_setopt_write(curl, CURLOPT_HEADERFUNCTION, onHeader),
            framemill_setopt_progress(curl, onProgress),
        ]
        if addressGuard != nil {
            done += unsafe [
                framemill_setopt_pointer(curl, CURLOPT_OPENSOCKETDATA, me),
                framemill_setopt_opensocket(curl, onSocket),
            ]
        }
        return done.allSatisfy { $0 == CURLE_OK }
            && numbers.allSatisfy { unsafe framemill_setopt_long(curl, $0.0, $0.1) == CURLE_OK }
            && texts.allSatisfy { unsafe framemill_setopt_pointer(curl, $0.0, $0.1) == CURLE_OK }
    }

    // MARK: - Callbacks

    fileprivate var isOver: Bool { stop.isOver }

    fileprivate func take(header line: String) { head.take(line) }

    fileprivate func take(body bytes: UnsafeRawBufferPointer) -> Bool {
        received += bytes.count
        // No more than was received, and never more than is kept.
        unsafe body += bytes.prefix(Self.keptBytes - body.count)
        if received <= Self.readBytes { return true }
        failure = Failure(.badResponse, .fetch, "\(name) answered with more than \(Self.readBytes) bytes")
        return false
    }

    fileprivate func openSocket(_ address: UnsafeMutablePointer<curl_sockaddr>) -> curl_socket_t {
        switch unsafe addressGuard?.dial(address) {
        case .socket(let made): return made
        case .refused(let text): refusedAddress = text
        case .failed, nil:
            failure = Failure(
                .outOfMemory, .fetch, "the system has no socket for \(name) (ulimit -n)", cause: systemWords()
            )
        }
        return -1
    }
}

// curl passes back the pointer of `setUp`, whose object lives until the request is over.
private func sending(_ context: UnsafeMutableRawPointer?) -> Sending? {
    unsafe context.map { unsafe Unmanaged<Sending>.fromOpaque($0).takeUnretainedValue() }
}

private let onBody: framemill_write_function = { bytes, size, count, context in
    // curl says: `size` is always 1, and `count` bytes are there.
    let isWanted = unsafe sending(context)?.take(
        body: UnsafeRawBufferPointer(start: bytes, count: size * count))
    return isWanted ?? false ? size * count : 0
}

private let onHeader: framemill_write_function = { bytes, size, count, context in
    // As above; the text is copied.
    let line = unsafe String(
        decoding: UnsafeRawBufferPointer(start: bytes, count: size * count), as: UTF8.self)
    unsafe sending(context)?.take(header: line)
    return size * count
}

private let onProgress: curl_xferinfo_callback = { context, _, _, _, _ in
    unsafe sending(context)?.isOver ?? true ? 1 : 0
}

private let onSocket: curl_opensocket_callback = { context, _, address in
    guard let sending = unsafe sending(context), let address = unsafe address else { return -1 }
    return unsafe sending.openSocket(address)
}
