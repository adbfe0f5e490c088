internal import Glibc

/// Why nothing more can be said on a line.
package enum LineError: Error, Sendable, Equatable {
    /// The other end is gone.
    case ended
    /// The other end says what can't be.
    case nonsense(String)
    /// The other end has not answered in time.
    case late
}

/// One end of the socket pair. A message is its length (4 bytes), its kind, three bytes of 0, and so many bytes.
package struct Line: ~Copyable {
    private let socket: Int32
    /// Received and not yet taken: `start..<end`.
    private var buffer = [UInt8](repeating: 0, count: 16 << 10)
    private var start = 0
    private var end = 0

    /// The most that one message may have: the file of a whole animation.
    package static let most = 256 << 20
    private static let head = 8

    package init(_ socket: Int32) { self.socket = socket }

    /// - Parameter waits: whether to wait where the other end takes nothing; who must not, is told that it is nonsense to ask
    ///   and not to read the answers.
    package func send(_ message: Message, waits: Bool) throws(LineError) {
        let count = UInt32(message.payload.count)
        let bytes =
            (0..<4).map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) } + [message.kind.rawValue, 0, 0, 0]
            + message.payload
        var done = 0
        while done < bytes.count {
            let flags = Int32(MSG_NOSIGNAL) | (waits ? 0 : Int32(MSG_DONTWAIT))
            let sent = unsafe bytes.withUnsafeBytes {
                // What is left of the array, from `done` to its end.
                unsafe Glibc.send(socket, $0.baseAddress! + done, bytes.count - done, flags)
            }
            if sent < 0, errno == EINTR { continue }
            if sent < 0, errno == EAGAIN { throw .nonsense("questions without an ear for the answers") }
            if sent < 0 { throw .ended }
            done += sent
        }
    }

    /// The next message, of no more than `most` bytes.
    /// - Parameter wait: called before each time that bytes are taken from the socket, to wait for them, or to give up.
    package mutating func receive(
        most: Int = Line.most, waiting wait: () throws(LineError) -> Void = {}
    ) throws(LineError) -> Message {
        while end - start < Self.head { try fill(wait) }
        let count = (0..<4).reduce(0) { $0 | Int(buffer[start + $1]) << ($1 * 8) }
        guard let kind = Kind(rawValue: buffer[start + 4]),
            buffer[start + 5..<start + 8].allSatisfy({ $0 == 0 })
        else { throw .nonsense("a message of no known kind") }
        guard count <= most else {
            throw .nonsense("a message of \(count) bytes, where \(most) are the most")
        }
        start += Self.head
        // Room grows with what has come, not with what is announced.
        var payload: [UInt8] = []
        while true {
            let part = min(count - payload.count, end - start)
            payload += buffer[start..<start + part]
            start += part
            if payload.count == count { return Message(kind, payload) }
            try fill(wait)
        }
    }

    private mutating func fill(_ wait: () throws(LineError) -> Void) throws(LineError) {
        if start == end {
            (start, end) = (0, 0)
        } else if end == buffer.count {
            // Part of a head: what is left of a buffer whose messages are taken.
            buffer.replaceSubrange(0..<end - start, with: Array(buffer[start..<end]))
            (start, end) = (0, end - start)
        }
        try wait()
        while true {
            let (socket, end) = (socket, end)
            let got = unsafe buffer.withUnsafeMutableBytes {
                // The free part of the buffer, from `end` on.
                unsafe recv(socket, $0.baseAddress! + end, $0.count - end, 0)
            }
            if got < 0, errno == EINTR { continue }
            guard got > 0 else { throw .ended }
            self.end += got
            return
        }
    }
}
