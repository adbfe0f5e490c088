import Foundation
import FramemillMedia
import Glibc
import TestSupport
import Testing

@Suite struct ResumeTests {
    private static let net = "127.0.0.1/32"

    @Test func aKilledRunGoesOnWhereItStopped() throws {
        let command = try Command()
        let server = try SilentServer()
        try command.writeClips("a.mp4", "b.mp4", "c.mp4")
        // One job at a time, so the third line is asked for only when the first two are in the manifest.
        try command.write("a.mp4\nb.mp4\n\(server.url)\nc.mp4\n", to: "list")
        let run = try command.start("batch", "list", "--out", "out", "--jobs", "1", "--allow-net", Self.net)
        server.waitForVisitor()
        kill(run.processIdentifier, SIGKILL)
        run.waitUntilExit()
        #expect(try command.records().map(\.line) == [1, 2])
        // What a kill in the middle of a write leaves behind.
        let whole = try command.folder.read("out/manifest.jsonl")
        try command.folder.write(whole + Array("{\"code\":\"o".utf8), to: "out/manifest.jsonl")
        try command.write("half", to: "out/.framemill-\(run.processIdentifier)-9.tmp")
        let result = try command.run(
            "batch", "list", "--out", "out", "--deadline", "0.2", "--allow-net", Self.net, "--json")
        #expect(result.status == 1)
        #expect(result.text.contains("\"resumed\":2"))
        let records = try command.records()
        #expect(records.map(\.line).sorted() == [1, 2, 3, 4])
        #expect(Array(try command.folder.read("out/manifest.jsonl").prefix(whole.count)) == whole)
        #expect(command.covers.count == 3)
        try expectWhole(command)
    }

    @Test(arguments: [SIGINT, SIGTERM])
    func aSignalEndsTheRunInGoodOrder(signal: Int32) throws {
        let command = try Command()
        let server = try SilentServer()
        try command.writeClips("a.mp4", "c.mp4")
        try command.write("a.mp4\nno.mp4\n\(server.url)\nc.mp4\n", to: "list")
        let run = try command.start(
            "batch", "list", "--out", "out", "--jobs", "1", "--allow-net", Self.net, "--gallery", "page.html")
        server.waitForVisitor()
        kill(run.processIdentifier, signal)
        run.waitUntilExit()
        #expect(run.terminationReason == .exit)
        #expect(run.terminationStatus == 130)
        #expect(try command.records().map(\.code) == ["ok", "not_found"])
        #expect(command.covers.count == 1)
        #expect(String(decoding: try command.folder.read("page.html"), as: UTF8.self).hasSuffix("</html>\n"))
    }

    @Test func aSignalEndsTheWaitForASlowList() throws {
        let command = try Command()
        let pipe = Pipe()
        let run = Process()
        run.executableURL = URL(fileURLWithPath: Command.binary)
        run.arguments = ["batch", "-", "--out", command.folder.file("out"), "--cache", "none", "--quiet"]
        run.standardInput = pipe
        try run.run()
        // More than a pipe holds: once it is written, the command has read some of it and waits for more.
        pipe.fileHandleForWriting.write(Data(repeating: UInt8(ascii: "\n"), count: 1 << 20))
        kill(run.processIdentifier, SIGTERM)
        run.waitUntilExit()
        #expect(run.terminationStatus == 130)
    }

    @Test func nothingIsDoneTwice() throws {
        let command = try Command()
        try command.writeClips("a.mp4", "b.mp4")
        try command.write("a.mp4\nno.mp4\nb.mp4\n", to: "list")
        #expect(try command.run("batch", "list", "--out", "out").status == 1)
        let first = try command.folder.read("out/manifest.jsonl")
        let again = try command.run("batch", "list", "--out", "out", "--json")
        #expect(again.status == 1)
        #expect(again.text.contains("\"resumed\":3"))
        #expect(try command.folder.read("out/manifest.jsonl") == first)
    }

    @Test func failedLinesRunAgainWhenAsked() throws {
        let command = try Command()
        try command.writeClips("a.mp4")
        try command.write("a.mp4\nlate.mp4\nno.mp4\n", to: "list")
        #expect(try command.run("batch", "list", "--out", "out").status == 1)
        try command.writeClips("late.mp4")
        #expect(try command.run("batch", "list", "--out", "out").status == 1)
        #expect(try command.records().count { $0.code == "ok" } == 1)
        let result = try command.run("batch", "list", "--out", "out", "--retry-failed", "--json")
        #expect(result.text.contains("\"resumed\":1"))
        let records = try command.records().sorted { $0.line < $1.line }
        #expect(records.map(\.line) == [1, 2, 3])
        #expect(records.map(\.code) == ["ok", "ok", "not_found"])
    }

    @Test func aCoverThatIsGoneIsMadeAgain() throws {
        let command = try Command()
        try command.writeClips("a.mp4", "b.mp4")
        try command.write("a.mp4\nb.mp4\n", to: "list")
        #expect(try command.run("batch", "list", "--out", "out").status == 0)
        let covers = command.covers
        try FileManager.default.removeItem(atPath: command.folder.file("out/\(covers[0])"))
        try command.folder.write([], to: "out/\(covers[1])")
        #expect(try command.run("batch", "list", "--out", "out").status == 0)
        #expect(command.covers == covers)
        #expect(try command.records().map(\.line).sorted() == [1, 2])
        try expectWhole(command)
    }

    @Test func anotherListOrRecipeTakesTheLinesOver() throws {
        let command = try Command()
        try command.writeClips("a.mp4", "b.mp4", "c.mp4")
        try command.write("a.mp4\nb.mp4\nc.mp4\n", to: "list")
        #expect(try command.run("batch", "list", "--out", "out").status == 0)
        try command.write("# shorter\nb.mp4\n", to: "list")
        #expect(try command.run("batch", "list", "--out", "out").status == 0)
        #expect(try command.records().map(\.url) == ["b.mp4"])
        #expect(try command.records().map(\.line) == [2])
        #expect(try command.run("batch", "list", "--out", "out", "--format", "png").status == 0)
        #expect(try command.records().map { $0.facts?.format } == ["png"])
    }

    @Test func aFileThatIsNoManifestIsLeftAlone() throws {
        let command = try Command()
        try command.writeClips("a.mp4")
        try command.write("a.mp4\n", to: "list")
        let result = try command.run("batch", "list", "--out", "out", "--manifest", "list")
        #expect(result.status == 2)
        #expect(result.errorText.contains("is no manifest of framemill"))
        #expect(try command.folder.read("list") == Array("a.mp4\n".utf8))
    }

    @Test func twoRunsNeverShareAManifest() throws {
        let command = try Command()
        let server = try SilentServer()
        try command.write("\(server.url)\n", to: "list")
        let run = try command.start("batch", "list", "--out", "out", "--allow-net", Self.net)
        server.waitForVisitor()
        let second = try command.run("batch", "list", "--out", "out")
        #expect(second.status == 2)
        #expect(second.errorText.contains("another framemill batch is writing"))
        kill(run.processIdentifier, SIGKILL)
        run.waitUntilExit()
    }
}
