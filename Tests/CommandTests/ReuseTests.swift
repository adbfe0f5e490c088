import Foundation
import TestSupport
import Testing

/// What runs that come later ask for again: each is a process of its own, on one cache folder.
@Suite struct ReuseTests {
    let command: Command
    let server: FaultServer

    init() throws {
        command = try Command()
        try command.writeClips("clip.mp4")
        server = try FaultServer(root: command.folder.path)
    }

    var requests: Int { server.log.filter { $0.hasPrefix("GET") }.count }

    func cover(_ path: String, _ more: String...) throws -> (code: Int, json: [String: Any]) {
        let result = try command.run(
            ["cover", server.url(path), "-o", "a.jpg", "--json", "--allow-net", "127.0.0.1/32"] + more)
        let json = try JSONSerialization.jsonObject(with: Data(result.output)) as? [String: Any]
        return (result.status, json ?? [:])
    }

    @Test func asksAgainOnlyWhenToldTo() throws {
        #expect(try cover("/file/clip.mp4").json["origin"] as? String == "made")
        let made = requests
        #expect(try cover("/file/clip.mp4").json["origin"] as? String == "disk")
        #expect(requests == made)
        // Confirmed by its tag.
        #expect(try cover("/file/clip.mp4", "--refresh").json["origin"] as? String != "made")
        #expect(requests == made + 1)
        #expect(try cover("/file/clip.mp4", "--max-age", "0").code == 0)
        #expect(requests == made + 2)
        #expect(try cover("/file/clip.mp4", "--max-age", "1000").code == 0)
        #expect(try cover("/file/clip.mp4", "--offline").code == 0)
        #expect(requests == made + 2)
    }

    @Test func asksNobodyOffline() throws {
        let (code, json) = try cover("/file/clip.mp4", "--offline")
        #expect(code == 3 && json["code"] as? String == "not_kept")
        #expect(requests == 0)
        let file = try command.run("cover", "clip.mp4", "-o", "b.jpg", "--offline")
        #expect(file.status == 0)
    }

    @Test func remembersADeadLinkFromRunToRun() throws {
        #expect(try cover("/status/404").json["remembered"] == nil)
        let again = try cover("/status/404").json
        #expect(again["code"] as? String == "http_404" && again["tries"] as? Int == 1)
        #expect(again["remembered"] is Int && requests == 1)
        _ = try cover("/status/404", "--refresh")
        #expect(requests == 2)
    }

    @Test func runsAgainWhatFailedWhereItIsWished() throws {
        try command.write(server.url("/status/404") + "\n", to: "list")
        let run = ["batch", "list", "--out", "out", "--allow-net", "127.0.0.1/32"]
        _ = try command.run(run)
        _ = try command.run(run + ["--manifest", "other.jsonl"])
        #expect(requests == 1)
        _ = try command.run(run + ["--retry-failed"])
        #expect(requests == 2)
    }

    @Test func takesOneWishAtATime() throws {
        let result = try command.run("cover", "a", "-o", "a.jpg", "--refresh", "--offline")
        #expect(result.status == 2)
    }
}
