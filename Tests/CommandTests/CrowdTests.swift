import TestSupport
import Testing

/// B08: a list of one host, which has room for four at a time and turns the rest away.
@Suite struct CrowdTests {
    private let command: Command
    private let server: FaultServer

    init() throws {
        command = try Command()
        try command.writeClips("clip.mp4")
        server = try FaultServer(root: command.folder.path)
        let lines = (0..<400).map { server.url("/crowded/4/file/clip.mp4?\($0)") }
        try command.write(lines.joined(separator: "\n") + "\n", to: "list")
    }

    private func run(_ words: String...) throws -> (made: Int, requests: Int, refused: Int) {
        let result = try command.run(
            ["batch", "list", "--out", "out", "--cache", "none", "--allow-net", "127.0.0.1/32"] + words)
        #expect(result.status == 0, "\(result.errorText)")
        let log = server.log
        return (
            try command.records().filter { $0.code == "ok" }.count, log.filter { $0.hasPrefix("GET") }.count,
            log.filter { $0.hasPrefix("refused") }.count
        )
    }

    @Test func asksByNoMoreThanItIsTold() throws {
        let (made, requests, refused) = try run("--per-host", "4")
        #expect(made == 400 && requests == 400 && refused == 0)
    }

    @Test func findsOutForItselfAndFailsNone() throws {
        let (made, requests, refused) = try run()
        #expect(made == 400 && requests == 400 + refused && refused < 20)
    }
}
