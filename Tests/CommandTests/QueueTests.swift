import Foundation
import TestSupport
import Testing

/// `framemill enqueue`, `worker` and `queue`, as a person uses them.
@Suite struct QueueTests {
    private let command: Command

    init() throws {
        command = try Command()
        try command.writeClips("a.mp4", "b.mp4")
    }

    private func object(_ json: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any])
    }

    private func queue(_ words: String...) throws -> Tool.Result {
        try command.run(["queue"] + words + ["--queue", "sqlite:q"])
    }

    @Test func makesWhatWasPutIn() throws {
        let list = "a.mp4\nb.mp4\na.mp4\n\n{\"url\": \"gone.png\", \"id\": \"mine\"}\n{\"bad\": 1}\n"
        let put = try command.run(
            "enqueue", "-", "--queue", "sqlite:q", "--size", "64", "--json", input: list)
        #expect(put.status == 1)
        var summary = try object(put.text)
        #expect(
            [summary["added"], summary["duplicates"], summary["refused"]].map { $0 as? Int } == [3, 1, 1])
        #expect(try object(queue("stat", "--json").text)["delayed"] as? Int == 0)
        #expect(try queue("list").text.split(separator: "\n").count == 3)

        let work = try command.run(
            "worker", "--queue", "sqlite:q", "--sink", "out", "--max-jobs", "3", "--allow-files", "--json")
        #expect(work.status == 0, "\(work.errorText)")
        let lines = try work.text.split(separator: "\n").map { try object(String($0)) }
        #expect(lines.map { $0["code"] as? String }.count { $0 == "ok" } == 2)
        let files = try FileManager.default.contentsOfDirectory(atPath: command.folder.file("out")).sorted()
        #expect(files == lines.compactMap { $0["file"] as? String }.sorted())
        #expect(files.count == 2)

        // The same names that a batch gives.
        let batch = try command.run("batch", "-", "--out", "batch", "--size", "64", input: "a.mp4\nb.mp4\n")
        #expect(batch.status == 0)
        let names = try FileManager.default.contentsOfDirectory(atPath: command.folder.file("batch"))
        #expect(names.filter { $0.hasSuffix(".jpg") }.sorted() == files)

        let failed = try object(queue("failed", "--json").text)
        #expect(failed["code"] as? String == "not_found")
        let id = try #require(failed["id"] as? String)
        #expect(try object(queue("show", id).text)["class"] as? String == "permanent")
        #expect(try queue("replay", "--code", "not_found").text == "replayed=1\n")
        #expect(try queue("show", id).text.contains("\"waiting\""))
        #expect(try queue("purge", "--state", "waiting", "--all").text == "purged=1\n")
        #expect(try queue("show", id).status == 3)
        summary = try object(queue("stat", "--json").text)
        #expect([summary["done"], summary["dead"]].map { $0 as? Int } == [2, 0])
    }

    @Test func readsNoFilesUnlessItMay() throws {
        _ = try command.run("enqueue", "-", "--queue", "sqlite:q", input: "a.mp4\n")
        let work = try command.run("worker", "--queue", "sqlite:q", "--max-jobs", "1", "--json")
        #expect(work.status == 0, "\(work.errorText)")
        #expect(try object(work.text)["event"] as? String == "dead")
    }

    @Test func stopsWhenToldTo() throws {
        _ = try command.run("enqueue", "-", "--queue", "sqlite:q", input: "a.mp4\n")
        _ = try queue("pause")
        let worker = try command.start(
            "worker", "--queue", "sqlite:q", "--allow-files", "--grace", "5", "--sink", "out")
        // It has begun once its sink is there.
        while !FileManager.default.fileExists(atPath: command.folder.file("out")) { sched_yield() }
        kill(worker.processIdentifier, SIGTERM)
        worker.waitUntilExit()
        #expect(worker.terminationStatus == 0)
        #expect(try queue("list").text.split(separator: "\n").count == 1)
    }

    @Test(arguments: [
        (["queue", "stat"], "--queue sqlite:PATH"),
        (["queue", "stat", "--queue", "q"], "it takes sqlite:PATH"),
        (["queue", "stats", "--queue", "sqlite:q"], "did you mean stat?"),
        (["queue", "purge", "--queue", "sqlite:q"], "or --all"), (["worker"], "which queue?"),
        (["worker", "--queue", "sqlite:q", "--sink", ""], "--sink wants"),
        (["enqueue", "urls", "--queue", "sqlite:q"], "is not there"),
        (["enqueue", "-", "--queue", "redis://u:secret@h:x"], "the port is a number"),
    ])
    func saysWhatWouldBeRight(_ words: [String], _ right: String) throws {
        let result = try command.run(words)
        #expect(result.status == 2)
        #expect(result.errorText.contains(right), "\(result.errorText)")
        #expect(!result.errorText.contains("secret"))
    }

    @Test func saysThatTheQueueIsNotThere() throws {
        let result = try command.run("worker", "--queue", "unix://\(command.folder.path)/none")
        #expect(result.status == 3)
        #expect(result.errorText.contains("no answer from unix://"))
    }
}
