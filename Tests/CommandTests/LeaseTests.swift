import Foundation
import Glibc
import TestSupport
import Testing

/// Two real processes on one cache folder and one new URL, at a server that holds its answer back.
@Suite struct LeaseTests {
    private let command: Command
    private let server: FaultServer
    private var url: String { server.url("/gated/file/clip.mp4") }

    init() throws {
        command = try Command()
        try command.writeClips("clip.mp4")
        server = try FaultServer(root: command.folder.path)
    }

    private var requests: Int { server.log.filter { $0.hasPrefix("GET") }.count }

    private func start(_ out: String) throws -> Process {
        try command.start(
            "batch", "list", "--out", out, "--cache", "kept", "--allow-net", "127.0.0.1/32", "--jobs", "64")
    }

    /// The kernel's list has a line with an arrow for whoever waits for a lock on this file.
    private func somebodyWaits() -> Bool {
        let path = command.folder.file("kept/leases")
        guard let facts = try? FileManager.default.attributesOfItem(atPath: path),
            let number = facts[.systemFileNumber] as? Int,
            let locks = try? String(contentsOfFile: "/proc/locks", encoding: .utf8)
        else { return false }
        return locks.split(separator: "\n").contains { $0.contains("->") && $0.contains(":\(number) ") }
    }

    private func origins(_ out: String) throws -> [String: Int] {
        try command.records("\(out)/manifest.jsonl").reduce(into: [:]) {
            $0[$1.origin ?? $1.code, default: 0] += 1
        }
    }

    @Test func askAndDecodeOnceInAllForTwoProcesses() async throws {
        try command.write(String(repeating: url + "\n", count: 500), to: "list")
        let first = try start("one")
        await server.log(with: "GET /gated/file/clip.mp4")
        let second = try start("two")
        await until { somebodyWaits() }
        #expect(requests == 1)
        server.openGate()
        for process in [first, second] {
            process.waitUntilExit()
            #expect(process.terminationStatus == 0)
        }
        #expect(requests == 1)
        // One made it, the other took what is on disk, and 998 lines are answered by these two.
        #expect(try origins("one") == ["made": 1, "duplicate": 499])
        #expect(try origins("two") == ["disk": 1, "duplicate": 499])
    }

    @Test func takeOverFromAHolderThatIsKilled() async throws {
        try command.write(url + "\n", to: "list")
        let first = try start("one")
        await server.log(with: "GET /gated/file/clip.mp4")
        let second = try start("two")
        await until { somebodyWaits() }
        #expect(requests == 1)
        kill(first.processIdentifier, SIGKILL)
        first.waitUntilExit()
        await server.log(with: "GET /gated/file/clip.mp4", count: 2)
        server.openGate()
        second.waitUntilExit()
        #expect(second.terminationStatus == 0)
        #expect(requests == 2)
        #expect(try origins("two") == ["made": 1])
    }
}
