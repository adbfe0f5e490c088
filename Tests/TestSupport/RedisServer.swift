internal import Foundation
internal import Synchronization

/// A real `redis-server` in a process of its own, on a socket in a folder of its own; gone with its last
/// reference.
public final class RedisServer: Sendable {
    /// Whether there is one to start. Said aloud where there is none, since tests are left out then.
    public static let isInstalled: Bool = {
        let isThere = Tool.path(of: "redis-server") != nil
        if !isThere {
            FileHandle.standardError.write(Data("NOT TESTED: redis-server is not installed\n".utf8))
        }
        return isThere
    }()

    private let folder: TemporaryFolder
    private let options: [String]
    private struct Child {
        var process: Process
        var input: Pipe
    }
    private let child: Mutex<Child>

    /// - Parameter options: as on the command line, such as `--appendonly yes`.
    public init(_ options: [String] = []) throws {
        folder = try TemporaryFolder()
        self.options = options
        child = Mutex(try Self.start(folder, options))
    }

    deinit { kill() }

    public var socket: String { folder.file("redis") }

    /// Ends it as a power cut would.
    public func kill() {
        child.withLock { child in
            // It may have ended already; then there is nothing to close.
            try? child.input.fileHandleForWriting.close()
            child.process.waitUntilExit()
        }
    }

    /// Starts it again, with what it kept.
    public func restart() throws {
        let started = try Self.start(folder, options)
        child.withLock { $0 = started }
    }

    /// What `redis-cli` answers.
    @discardableResult
    public func tell(_ words: String...) throws -> String {
        let answer = try Tool.output("redis-cli", ["-s", socket] + words)
        return String(decoding: answer, as: UTF8.self).trimmingCharacters(in: .newlines)
    }

    /// Under a shell that kills it once its own input ends, which it also does when the tests are killed. By
    /// SIGKILL: a child of one of Dispatch's threads starts with their signals blocked, SIGTERM among them. Not
    /// Debian's `sh`: its `wait` would then wait for a SIGCHLD that never comes.
    private static func start(_ folder: TemporaryFolder, _ options: [String]) throws -> Child {
        guard let program = Tool.path(of: "redis-server") else {
            throw Tool.Problem(description: "redis-server is not installed")
        }
        let (process, input, output) = (Process(), Pipe(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/bin/bash")
        process.arguments =
            ["-c", "\"$@\" & exec >/dev/null 2>&1; read _; kill -9 $!; wait", "bash", program]
            + ["--port", "0", "--unixsocket", folder.file("redis"), "--save", "", "--dir", folder.path]
            + options
        process.standardInput = input
        process.standardOutput = output
        process.standardError = output
        try process.run()
        // It says "ready", or "Ready", when it listens; what it says after that nobody reads, and it is
        // little.
        var said = ""
        while !said.contains("eady to accept connections") {
            let more = output.fileHandleForReading.availableData
            guard !more.isEmpty else {
                throw Tool.Problem(description: "redis-server did not start: \(said)")
            }
            said += String(decoding: more, as: UTF8.self)
        }
        return Child(process: process, input: input)
    }
}
