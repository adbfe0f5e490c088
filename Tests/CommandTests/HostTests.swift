import Foundation
import TestSupport
import Testing

/// What the machine refuses: handles, places, names.
@Suite struct HostTests {
    /// Neither a permanent failure nor one of the source: the next run makes them.
    @Test func aLackOfFileHandlesPasses() throws {
        let command = try manyClips(60)
        let script = "ulimit -n 32; \(Command.binary) batch list --out out --cache none --jobs 60"
        let result = try Tool.run("/bin/sh", ["-c", script], in: command.folder.path)
        #expect([0, 1].contains(result.status), "\(result.errorText)")
        let rows = try command.records()
        #expect(rows.count == 60)
        for row in rows where row.code != "ok" {
            #expect(["out_of_memory", "write_failed"].contains(row.code), "\(row)")
            #expect(row.class == "transient")
        }
        let again = try command.run("batch", "list", "--out", "out", "--cache", "none", "--retry-failed")
        #expect(again.status == 0, "\(again.errorText)")
    }

    @Test func theSoftLimitOfFileHandlesIsRaised() throws {
        let command = try manyClips(60)
        let script = "ulimit -Sn 32; \(Command.binary) batch list --out out --cache none --jobs 60"
        let result = try Tool.run("/bin/sh", ["-c", script], in: command.folder.path)
        #expect(result.status == 0, "\(result.errorText)")
    }

    @Test(arguments: [
        ("no/such/page.html", "No such file"), ("out", "must be a file"), ("list", "LIST name the same file"),
        ("out/manifest.jsonl", "name the same file"), ("pipe", "must be a file"),
    ])
    func aPageThatCannotBeWrittenIsToldFirst(path: String, words: String) throws {
        let command = try manyClips(1)
        try Tool.output("mkfifo", [command.folder.file("pipe")])
        let list = try command.folder.read("list")
        let result = try command.run("batch", "list", "--out", "out", "--gallery", path)
        #expect(result.status == 2)
        #expect(result.errorText.contains(words), "\(result.errorText)")
        #expect(command.covers.isEmpty)
        #expect(try command.folder.read("list") == list)
    }

    /// The page of all covers is larger than the limit on files, each cover and the report are not.
    @Test func aPageThatFailsInTheEndCostsThePageAlone() throws {
        let command = try manyClips(40)
        let script =
            "ulimit -f 150; \(Command.binary) batch list --out out --cache none --gallery page.html --json"
        let result = try Tool.run("/bin/sh", ["-c", script], in: command.folder.path)
        #expect(result.status == 1)
        #expect(result.text.contains("\"made\":40"))
        #expect(result.text.contains("\"exit\":1"))
        #expect(result.errorText.contains("40 made, 0 failed"))
        #expect(result.errorText.contains("page.html"))
        #expect(!command.folder.files.contains { $0.hasPrefix("page.html") })
    }

    @Test func aCacheThatCannotBeWrittenIsMentioned() throws {
        let command = try manyClips(2)
        let result = try command.run("batch", "list", "--out", "out", "--cache", "list")
        #expect(result.status == 0)
        #expect(result.errorText.contains("2 covers were not kept in the cache list"), "\(result.errorText)")
    }

    /// Different names for one clip, so that each is a job of its own.
    private func manyClips(_ count: Int) throws -> Command {
        let command = try Command()
        let names = (1...count).map { "clip\($0).mp4" }
        for name in names { try command.writeClips(name) }
        try command.write(names.joined(separator: "\n") + "\n", to: "list")
        return command
    }
}
