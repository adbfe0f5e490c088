internal import Glibc

/// Tells systemd how a service of `Type=notify` is doing, by the protocol of sd_notify(3): one datagram to the socket that
/// `NOTIFY_SOCKET` names. Its manual gives it for programs that don't want libsystemd, and all that libraries add is this.
package struct ServiceManager: Sendable {
    private let path: String?
    /// How often the watchdog wants a sign of life, halved as the manual asks; `nil` without one.
    package let watchdog: Duration?

    /// - Parameter environment: `NOTIFY_SOCKET`, `WATCHDOG_USEC` and `WATCHDOG_PID`, as systemd sets them.
    package init(environment: [String: String]) {
        path = environment["NOTIFY_SOCKET"].flatMap { $0.hasPrefix("/") || $0.hasPrefix("@") ? $0 : nil }
        let isMine = environment["WATCHDOG_PID"].map { $0 == String(getpid()) } ?? true
        let period = environment["WATCHDOG_USEC"].flatMap { Int64($0) }.flatMap { $0 > 0 ? $0 : nil }
        watchdog = isMine ? period.map { .microseconds($0 / 2) } : nil
    }

    package func ready(_ status: String) { send("READY=1\nSTATUS=\(status)") }
    package func status(_ status: String) { send("STATUS=\(status)") }
    package func stopping(_ status: String) { send("STOPPING=1\nSTATUS=\(status)") }
    package func alive() { send("WATCHDOG=1") }

    /// Nobody waits for an answer, so what goes wrong is nobody's to hear.
    private func send(_ text: String) {
        guard let path else { return }
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        // "@" stands for the zero byte of an abstract socket.
        let name = path.hasPrefix("@") ? [0] + path.utf8.dropFirst() : Array(path.utf8)
        guard name.count < MemoryLayout.size(ofValue: address.sun_path) else { return }
        // Fits, by the line above.
        unsafe withUnsafeMutableBytes(of: &address.sun_path) { unsafe $0.copyBytes(from: name) }
        let socket = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        guard socket >= 0 else { return }
        defer { close(socket) }
        let length = MemoryLayout<sockaddr_un>.offset(of: \.sun_path)! + name.count
        let text = Array(text.utf8)
        // As many bytes as the text has; the address is looked at as the first `length` bytes of it.
        _ = unsafe withUnsafeBytes(of: &address) { address in
            unsafe sendto(
                socket, text, text.count, Int32(MSG_NOSIGNAL),
                address.assumingMemoryBound(to: sockaddr.self).baseAddress!, socklen_t(length))
        }
    }
}
