internal import Foundation
internal import Synchronization

/// The HTTP server of `server.py` in a process of its own: one for each test, gone with its last reference.
public final class FaultServer: Sendable {
    private struct Child {
        var process: Process
        var input: Pipe
        var output: Pipe
    }
    private let child: Mutex<Child>
    public let port: Int

    /// - Parameter root: the folder that `/file/NAME` serves.
    public init(root: String? = nil) throws {
        let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appendingPathComponent(
            "server.py")
        guard let python = Tool.path(of: "python3") else {
            throw Tool.Problem(description: "python3 is not installed")
        }
        let child = Child(process: Process(), input: Pipe(), output: Pipe())
        child.process.executableURL = URL(fileURLWithPath: python)
        child.process.arguments = [script.path] + (root.map { [$0] } ?? [])
        child.process.standardInput = child.input
        child.process.standardOutput = child.output
        try child.process.run()
        guard let port = Int(Self.line(from: child.output)) else {
            throw Tool.Problem(description: "server.py did not start")
        }
        self.port = port
        self.child = Mutex(child)
    }

    deinit { child.withLock { $0.process.terminate() } }

    public func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }

    /// Every request so far: `GET /path HTTP/1.1 bytes=0-9 "etag" from=PORT host=HOST`.
    public var log: [String] { ask("log") }

    /// One answer of `/origin/…`.
    public struct Answer: Encodable, Sendable {
        var status: Int
        var headers: [String: String]
        var body: String
        /// Looks at no condition.
        var ignores: Bool

        /// - Parameter body: what a status of 200 brings; ranges are served where `headers` has an `ETag`.
        public init(
            status: Int = 200, _ headers: [String: String] = [:], body: String = "", ignores: Bool = false
        ) {
            (self.status, self.headers, self.body, self.ignores) = (status, headers, body, ignores)
        }
    }

    /// What `/origin/NAME` answers from now on: each in turn, the last for ever.
    /// - Returns: its URL.
    @discardableResult
    public func script(_ name: String, _ answers: Answer...) throws -> String {
        let json = String(decoding: try JSONEncoder().encode(answers), as: UTF8.self)
        _ = ask("set /origin/\(name) \(json)")
        return url("/origin/\(name)")
    }

    /// Lets `/gated/…` answer, from now on.
    public func openGate() { _ = ask("open") }

    /// The log once `count` of its lines hold `text`.
    @discardableResult
    public func log(with text: String, count: Int = 1) async -> [String] {
        await withCheckedContinuation { waiter in
            // A thread of its own, since the answer takes as long as it takes.
            Thread { waiter.resume(returning: self.ask("wait \(count) \(text)")) }.start()
        }
    }

    private func ask(_ command: String) -> [String] {
        let answer = child.withLock { child in
            child.input.fileHandleForWriting.write(Data((command + "\n").utf8))
            return Self.line(from: child.output)
        }
        // An empty log shows in the test that looks for a line.
        return (try? JSONDecoder().decode([String].self, from: Data(answer.utf8))) ?? []
    }

    /// One answer, which ends with a newline.
    private static func line(from pipe: Pipe) -> String {
        var bytes = Data()
        while bytes.last != UInt8(ascii: "\n") {
            let more = pipe.fileHandleForReading.availableData
            if more.isEmpty { break }
            bytes += more
        }
        return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
