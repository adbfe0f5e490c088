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

    @Test func followsAJobByItsID() throws {
        let list =
            "a.mp4\n{\"url\": \"b.mp4\", \"id\": \"mine\"}\na.mp4\n{\"url\": \"gone.png\", \"id\": \"mine\"}\n"
        let put = try command.run("enqueue", "-", "--queue", "sqlite:q", "--ids", input: list)
        #expect(put.status == 0)
        #expect(put.errorText == "framemill: line 4 was not added: there is a job with the id mine\n")
        let lines = put.text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(
            lines.dropLast().map { Array($0.dropFirst()) } == [
                ["added", "a.mp4"], ["added", "b.mp4"], ["duplicate", "a.mp4"], ["duplicate", "gone.png"],
            ])
        #expect(lines[2][0] == lines[0][0])
        #expect(lines.last == ["added=2", "duplicates=2", "refused=0"])
        let work = try command.run(
            "worker", "--queue", "sqlite:q", "--sink", "out", "--max-jobs", "2", "--allow-files")
        let done = work.text.split(separator: "\n").map { $0.split(separator: " ").map(String.init) }
        #expect(done.map { $0[1] }.sorted() == [lines[0][0], "mine"].sorted())
    }

    @Test func refusesWhatNoWorkerCouldMake() throws {
        let list = """
            ftp://example.org/a.mp4
            {"url": "a.mp4", "qualty": 5}
            {"url": "a.mp4", "not-before": 1e300}
            {"url": "a.mp4", "callback": "mailto:me@example.org"}
            {"url": "a.mp4", "size": 64, "callback": "http://example.org/"}
            """
        let put = try command.run("enqueue", "-", "--queue", "sqlite:q", input: list)
        #expect(put.status == 1)
        #expect(put.text == "added=1 duplicates=0 refused=4\n")
        for words in [
            "line 1: ftp: is not supported", "line 2: the job is refused: qualty is no name",
            "line 3: the job is refused: not-before", "line 4: mailto: is not supported",
        ] { #expect(put.errorText.contains(words), "\(put.errorText)") }
    }

    @Test func replaysAndPurgesOneJob() throws {
        _ = try command.run(
            "enqueue", "-", "--queue", "sqlite:q", input: "{\"url\": \"gone.png\", \"id\": \"mine\"}")
        #expect(try queue("replay", "mine").status == 3)
        _ = try command.run("worker", "--queue", "sqlite:q", "--max-jobs", "1")
        #expect(try queue("replay", "mine", "--all").errorText.contains("exclude each other"))
        #expect(try queue("replay", "mine").text == "replayed=1\n")
        #expect(try queue("show", "mine").text.contains("\"waiting\""))
        let purge = try queue("purge", "mine", "other")
        #expect(purge.text == "purged=1\n")
        #expect(purge.errorText.contains("1 of 2 named jobs were passed over"))
        #expect(purge.status == 3)
    }

    @Test func makesNoQueueByLookingAtIt() throws {
        for action in ["stat", "list", "failed", "pause"] {
            let result = try queue(action)
            #expect(result.status == 3)
            #expect(result.errorText.contains("there is no queue at q"))
        }
        #expect(command.folder.files.filter { $0.hasPrefix("q") }.isEmpty)
    }

    @Test func namesTheOptionThatNamedTheFolder() throws {
        try command.write("no folder", to: "file")
        let work = try command.run("worker", "--queue", "sqlite:q", "--sink", "file")
        #expect(work.status == 2)
        #expect(work.errorText.contains("--sink file cannot be"))
    }

    /// A fetch that hangs ends at its deadline, frees its slot, and counts as a try.
    @Test func endsAJobThatHangsAtItsDeadline() throws {
        let server = try SilentServer()
        _ = try command.run(
            "enqueue", "-", "--queue", "sqlite:q",
            input: "{\"url\": \"\(server.url)\", \"id\": \"hung\"}\na.mp4\n")
        let work = try command.run(
            "worker", "--queue", "sqlite:q", "--max-jobs", "2", "--jobs", "1", "--deadline", "0.5", "--json",
            "--allow-files", "--allow-net", "127.0.0.1/32", "--listen", "none")
        let outcomes = try work.text.split(separator: "\n").map { try object(String($0)) }
        #expect(outcomes.count == 2, "\(work.text)")
        let hung = try #require(outcomes.first { $0["id"] as? String == "hung" })
        #expect(hung["event"] as? String == "retry")
        #expect(hung["code"] as? String == "timeout")
        #expect(hung["class"] as? String == "transient")
        #expect(outcomes.contains { $0["event"] as? String == "done" })
        let record = try object(queue("show", "hung").text)
        #expect(record["state"] as? String == "delayed")
        #expect(record["tries"] as? Int == 1)
    }

    /// The whole way: from a list through a worker into a bucket, and back to the producer.
    @Test(.enabled(if: ObjectServer.isInstalled, "SKIPPED: rclone is not installed, so no S3 server"))
    func putsAPictureIntoABucketAndTellsTheProducer() throws {
        let (bucket, producer) = (try ObjectServer(bucket: "covers"), try FaultServer())
        let list =
            #"{"url": "a.mp4", "id": "mine", "data": "page 7", "callback": "\#(producer.url("/hook/200/a"))"}"#
        _ = try command.run("enqueue", "-", "--queue", "sqlite:q", input: list)
        let work = try Tool.run(
            Command.binary,
            [
                "worker", "--queue", "sqlite:q", "--sink", "s3://covers/made?endpoint=\(bucket.endpoint)",
                "--json",
                "--max-jobs", "1", "--allow-files", "--allow-net", "127.0.0.1/32",
            ], input: [],
            environment: [
                "AWS_ACCESS_KEY_ID": ObjectServer.keyID, "AWS_SECRET_ACCESS_KEY": ObjectServer.secret,
                "XDG_CACHE_HOME": command.folder.file("cache"),
                "FRAMEMILL_WEBHOOK_SECRET": "whsec_YSBrZXkgb2YgdHdlbnR5LWZvdXIgYnl0ZXM=",
            ], in: command.folder.path)
        let outcome = try object(work.text)
        #expect(outcome["event"] as? String == "done", "\(work.text) \(work.errorText)")
        let names = bucket.folder.files.filter { $0.hasPrefix("covers/made/") }
        #expect(names.count == 1)
        #expect((outcome["file"] as? String)?.hasSuffix(try #require(names.first)) == true)
        #expect(try bucket.folder.read(names[0]).starts(with: [0xFF, 0xD8]))
        let posted = try #require(producer.log.first)
        for words in [
            "POST /hook/200/a", #""webhook-id": "mine""#, "webhook-signature", "v1,", "page 7", "done",
        ] {
            #expect(posted.contains(words), "\(posted)")
        }
        #expect(outcome["callbackFailure"] == nil)
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
