// What a load balancer, an orchestrator and a scraper ask a worker, answered by libmicrohttpd on a thread of its own:
// it answers while every decoder is stuck, because it waits for none of them.

internal import CMicrohttpd
package import FramemillMedia
internal import Glibc
internal import Synchronization

/// Answers `/healthz`, `/readyz` and `/metrics`.
///
/// Safe: the daemon is made in `init`, ended in `deinit`, and libmicrohttpd guards it in between.
@safe package final class HealthServer: Sendable {
    package struct Page: Sendable {
        package var status: Int
        package var type: String
        package var text: String

        package init(_ status: Int, _ text: String, type: String = "text/plain; charset=utf-8") {
            (self.status, self.type, self.text) = (status, type, text)
        }
    }

    /// Held by the daemon's thread through its address.
    private final class Answers: Sendable {
        let page: @Sendable (String) -> Page?
        init(_ page: @escaping @Sendable (String) -> Page?) { self.page = page }
    }

    /// More at once than any scraper opens, and few enough to cost nothing.
    private static let connections: UInt32 = 64
    private static let idleSeconds: UInt32 = 10

    private let answers: Answers
    private let daemon: UInt
    package let port: Int

    /// - Parameters:
    ///   - address: an IPv4 or IPv6 address, `127.0.0.1` by default in the command.
    ///   - port: 0 takes any that is free.
    ///   - page: the answer to GET or HEAD of a path, or `nil` for one that is not there. Called on the server's only
    ///     thread: it must not wait.
    /// - Throws: `badOption` for an address that is none, or a port that is taken.
    package init(
        address: String, port: Int, _ page: @escaping @Sendable (String) -> Page?
    ) throws(Failure) {
        answers = Answers(page)
        guard let place = SocketAddress(address, port: port) else {
            throw Failure(.badOption, .input, "\(address) is no IPv4 or IPv6 address to listen at")
        }
        // `answers` lives as long as the daemon does, which `deinit` ends first.
        let context = unsafe Unmanaged.passUnretained(answers).toOpaque()
        let made = unsafe place.withPointer { address in
            unsafe framemill_start_daemon(address, Self.connections, Self.idleSeconds, onRequest, context)
        }
        guard let made = unsafe made else {
            throw Failure(
                .badOption, .input, "nothing can listen at \(address), port \(port) (--listen)",
                // A text that lives until the next call of its kind.
                cause: unsafe String(cString: strerror(errno)))
        }
        daemon = UInt(bitPattern: made)
        // The daemon that was just made.
        self.port = unsafe Int(framemill_daemon_port(made))
    }

    deinit {
        // Waits for what is being answered; nothing calls back after it.
        unsafe MHD_stop_daemon(OpaquePointer(bitPattern: daemon))
    }

    fileprivate static func page(_ context: UnsafeMutableRawPointer?, _ path: String) -> Page? {
        // The pointer of `init`, whose object lives as long as the daemon.
        unsafe context.flatMap { unsafe Unmanaged<Answers>.fromOpaque($0).takeUnretainedValue() }?.page(path)
    }
}

/// Where to listen.
private struct SocketAddress {
    private var storage = sockaddr_storage()

    init?(_ text: String, port: Int) {
        guard let port = in_port_t(exactly: port) else { return nil }
        var (short, long) = (sockaddr_in(), sockaddr_in6())
        // inet_pton writes the address of its family; both are what the storage has room for.
        if unsafe inet_pton(AF_INET, text, &short.sin_addr) == 1 {
            (short.sin_family, short.sin_port) = (sa_family_t(AF_INET), port.bigEndian)
            unsafe withUnsafeMutableBytes(of: &storage) {
                unsafe $0.storeBytes(of: short, as: sockaddr_in.self)
            }
        } else if unsafe inet_pton(AF_INET6, text, &long.sin6_addr) == 1 {
            (long.sin6_family, long.sin6_port) = (sa_family_t(AF_INET6), port.bigEndian)
            unsafe withUnsafeMutableBytes(of: &storage) {
                unsafe $0.storeBytes(of: long, as: sockaddr_in6.self)
            }
        } else {
            return nil
        }
    }

    func withPointer<Value>(_ body: (UnsafePointer<sockaddr>) -> Value) -> Value {
        // A `sockaddr_storage` is laid out to be looked at as any address.
        unsafe withUnsafeBytes(of: storage) {
            unsafe body($0.assumingMemoryBound(to: sockaddr.self).baseAddress!)
        }
    }
}

private let onRequest: MHD_AccessHandlerCallback = { context, connection, path, method, _, _, size, mark in
    guard let connection = unsafe connection, let path = unsafe path, let method = unsafe method,
        let mark = unsafe mark, let size = unsafe size
    else { return .NO }
    // The first call brings the headers alone. The mark is only looked at: any address will do.
    if unsafe mark.pointee == nil {
        unsafe mark.pointee = UnsafeMutableRawPointer(mark)
        return .YES
    }
    // A body is not wanted, but must be taken.
    if unsafe size.pointee > 0 {
        unsafe size.pointee = 0
        return .YES
    }
    // Texts of the request, ended by a zero, that live until it is answered.
    let (asked, verb) = unsafe (String(cString: path), String(cString: method))
    var page = HealthServer.Page(405, "only GET and HEAD\n")
    if verb == "GET" || verb == "HEAD" {
        page = unsafe HealthServer.page(context, asked) ?? HealthServer.Page(404, "not here\n")
    }
    let bytes = Array(page.text.utf8)
    // It copies the bytes, and is freed once it has been sent.
    guard let response = unsafe framemill_copied_response(bytes, bytes.count)
    else { return .NO }
    unsafe MHD_add_response_header(response, "Content-Type", page.type)
    unsafe MHD_add_response_header(response, "Cache-Control", "no-store")
    let answer = unsafe MHD_queue_response(connection, UInt32(page.status), response)
    unsafe MHD_destroy_response(response)
    return answer
}
