import Foundation
import TestSupport
import Testing

/// `framemill cache warm`: what batch does, into the cache alone.
@Suite struct CacheWarmTests {
    private let command: Command
    private let server: FaultServer

    init() throws {
        command = try Command()
        try command.writeClips("a.mp4", "b.mp4")
        server = try FaultServer(root: command.folder.path)
        let lines = ["/file/a.mp4", "/file/b.mp4", "/file/a.mp4", "/status/404"].map { server.url($0) }
        try command.write("# three clips\n" + lines.joined(separator: "\n") + "\n", to: "list")
    }

    private var requests: Int { server.log.filter { $0.hasPrefix("GET") }.count }

    private func warm(_ words: String..., input: String = "") throws -> (status: Int, json: [String: Any]) {
        let result = try command.run(
            ["cache", "warm"] + words + ["--cache", "kept", "--json", "--allow-net", "127.0.0.1/32"],
            input: input)
        let json = try JSONSerialization.jsonObject(with: Data(result.output)) as? [String: Any]
        return (result.status, json ?? [:])
    }

    @Test func makesWhatIsMissingAndWritesNoFiles() throws {
        let before = Set(command.folder.files)
        let (status, json) = try warm("list")
        #expect(status == 1 && json["exit"] as? Int == 1)
        #expect(json["lines"] as? Int == 4 && json["made"] as? Int == 3 && json["failed"] as? Int == 1)
        #expect(json["failures"] as? [String: Int] == ["http_404": 1])
        #expect(json["cache"] as? String == "kept" && json["out"] == nil && json["manifest"] == nil)
        #expect(requests == 3)
        #expect(Set(command.folder.files).subtracting(before).allSatisfy { $0.hasPrefix("kept/") })
        // All of it is there now, the failure too.
        let again = try warm("list").json
        let (kept, duplicates) = (again["kept"] as? Int ?? 0, again["duplicates"] as? Int ?? 0)
        #expect(kept >= 2 && kept + duplicates == 3 && again["made"] as? Int == 3 && requests == 3)
        // And is what `cover` and `batch` find.
        let cover = try command.run(
            "cover", server.url("/file/a.mp4"), "-o", "a.jpg", "--cache", "kept", "--json", "--allow-net",
            "127.0.0.1/32")
        #expect(cover.text.contains("\"origin\":\"disk\"") && requests == 3)
    }

    @Test func makesEachRecipeFromStandardInput() throws {
        let (status, json) = try warm("-", "--size", "32", input: server.url("/file/a.mp4") + "\n")
        #expect(status == 0 && json["made"] as? Int == 1 && json["kept"] as? Int == 0)
        #expect(try warm("-", "--size", "16", input: server.url("/file/a.mp4")).json["kept"] as? Int == 0)
        let list = try command.run("cache", "list", "--cache", "kept")
        #expect(list.text.split(separator: "\n").count == 2)
    }

    @Test func asksAgainWhereAFailureIsRememberedIfItIsWished() throws {
        _ = try warm("list")
        _ = try warm("list", "--retry-failed")
        #expect(requests == 4)
    }

    @Test func saysWhereNothingCanBeKept() throws {
        #expect(try command.run("cache", "warm", "list", "--cache", "none").status == 2)
        #expect(try command.run("cache", "warm", "--cache", "kept").status == 2)
        #expect(try command.run("cache", "warm", "nowhere", "--cache", "kept").status == 2)
        try command.write("a file", to: "file")
        let file = try command.run("cache", "warm", "list", "--cache", "file")
        #expect(file.status == 2 && file.errorText.contains("is not a directory"))
        #expect(requests == 0)
        // Found out only on the way.
        let result = try command.run(
            "cache", "warm", "list", "--cache", "file/below", "--allow-net", "127.0.0.1/32")
        #expect(result.status == 1)
        #expect(result.errorText.contains("were not kept in the cache file/below"))
    }
}
