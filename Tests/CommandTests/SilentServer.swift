import Foundation
import Glibc

/// A server on the loopback that accepts and then says nothing: whoever asks it waits. That somebody has asked is an
/// event a test can wait for, so that a run is killed or interrupted exactly in the middle of a job.
final class SilentServer: Sendable {
    let port: Int
    private let listener: Int32

    init() throws {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        // `address` is a socket address of the length given, and outlives the calls.
        let isBound = unsafe withUnsafeMutablePointer(to: &address) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                unsafe bind(listener, generic, length) == 0 && listen(listener, 8) == 0
                    && getsockname(listener, generic, &length) == 0
            }
        }
        self.listener = listener
        port = Int(UInt16(bigEndian: address.sin_port))
        guard isBound else { throw CocoaError(.featureUnsupported) }
    }

    deinit { close(listener) }

    var url: String { "http://127.0.0.1:\(port)/never.mp4" }

    /// Blocks until somebody has connected. The connection stays open for as long as the process lives.
    func waitForVisitor() { _ = accept(listener, nil, nil) }
}
