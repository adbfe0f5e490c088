import Foundation
import TestSupport
import Testing

/// `framemill cache` where there is no cache, where it is not one, and where others change it meanwhile.
@Suite struct CacheFaultTests {
    private let command: Command
    private static let actions = [
        ["stat"], ["verify"], ["trim"], ["list"], ["purge", "--all"], ["get", "a"],
    ]

    init() throws { command = try Command() }

    private func run(_ words: [String], on cache: String) throws -> Tool.Result {
        try command.run(["cache"] + words + ["--cache", cache])
    }

    @Test(arguments: actions) func saysThatThereIsNoCache(_ words: [String]) throws {
        try command.write("a file", to: "file")
        try command.write("somebody's own", to: "mine/text")
        for cache in ["nowhere", "/dev/null", "file", "file/below", "mine"] {
            let result = try run(words, on: cache)
            #expect(result.status == 3 && result.errorText.contains("there is no cache in \(cache)"))
        }
        #expect(try run(words, on: "").status == 2)
        #expect(command.folder.files.sorted() == ["file", "mine/text"])
    }

    /// Another program's file by that name: what is in it is no cover, and nobody hangs or crashes.
    @Test(arguments: actions) func survivesAnIndexThatIsNone(_ words: [String]) throws {
        try command.write(String(repeating: "no database at all ", count: 1000), to: "kept/index.sqlite")
        let result = try run(words, on: "kept")
        #expect([0, 1, 3].contains(result.status) && !result.errorText.contains("Fatal"))
        #expect(try run(["verify"], on: "kept").status == 0)
        try command.writeClips("clip.mp4")
        #expect(try command.run("cover", "clip.mp4", "-o", "a.jpg", "--cache", "kept").status == 0)
        #expect(try run(["stat"], on: "kept").text.hasPrefix("entries=1 "))
    }

    /// As of a variable that is not set: the start of every URL.
    @Test func takesNothingForNoChoice() throws {
        try command.writeClips("clip.mp4")
        #expect(try command.run("cover", "clip.mp4", "-o", "a.jpg", "--cache", "kept").status == 0)
        for option in ["--prefix", "--url", "--host", "--class", "--engine-version"] {
            #expect(try run(["purge", option, ""], on: "kept").status == 2)
        }
        #expect(try run(["stat"], on: "kept").text.hasPrefix("entries=1 "))
    }

    /// B29: of two processes that write one key again and again, one may write no file as large as the entry.
    @Test func keepsWholeBytesWhenOneOfTwoWritersFails() throws {
        try command.folder.write(Command.noise.get(), to: "noise.png")
        func writer(_ limit: String, _ out: String) -> String {
            """
            (\(limit); for round in 1 2 3 4 5 6 7 8; do
                \(Command.binary) cover noise.png -o - --refresh --format png --cache kept || echo failed
            done) | cat > \(out) &
            """
        }
        // 64 KiB a file, and a write beyond that fails instead of ending the program.
        let script = writer("trap '' XFSZ; ulimit -f 64", "tight") + "\n" + writer("true", "free") + "\nwait"
        #expect(try Tool.run("bash", ["-c", script], in: command.folder.path).status == 0)
        let alone = try command.run("cover", "noise.png", "-o", "-", "--format", "png").output
        #expect(alone.count > 65536)
        let all = Array(repeatElement(alone, count: 8).joined())
        #expect(try command.folder.read("tight") == all && command.folder.read("free") == all)
        let verified = try run(["verify"], on: "kept")
        #expect(verified.status == 0 && verified.text.contains("bad=0"))
        let hit = try command.run(
            "cover", "noise.png", "-o", "-", "--format", "png", "--cache", "kept", "--offline")
        #expect(hit.status == 0 && hit.output == alone)
        #expect(!command.folder.files.contains { $0.contains(".part-") })
    }

    /// B53: a batch goes on while its cache is emptied, over and over.
    @Test func emptiesACacheThatABatchUses() throws {
        try command.writeClips("clip.mp4")
        let server = try FaultServer(root: command.folder.path)
        let lines = (0..<120).map { server.url("/file/clip.mp4?\($0)") }
        try command.write(lines.joined(separator: "\n"), to: "list")
        let batch = try command.start(
            "batch", "list", "--out", "out", "--cache", "kept", "--allow-net", "127.0.0.1/32",
            "--source-cache",
            "1000000")
        var purged = 0
        while batch.isRunning {
            for words in [["purge", "--all"], ["verify"], ["trim", "--max-bytes", "1"], ["list"]] {
                let result = try run(words + ["--json"], on: "kept")
                // Not there yet, or without an index for a moment.
                #expect([0, 3].contains(result.status), "\(words): \(result.errorText)")
                if words[0] == "purge", result.status == 0 { purged += 1 }
            }
        }
        batch.waitUntilExit()
        #expect(batch.terminationStatus == 0 && purged > 0)
        #expect(try command.records().filter { $0.code == "ok" }.count == 120)
        #expect(command.covers.count == 120)
        let verdict = try run(["verify"], on: "kept")
        #expect(verdict.status == 0 && verdict.text.hasPrefix("bad=0 "))
    }

    @Test func looksAtKeptSourcesToo() throws {
        try command.writeClips("clip.mp4")
        let server = try FaultServer(root: command.folder.path)
        for size in ["64", "32"] {
            let result = try command.run(
                "cover", server.url("/file/clip.mp4"), "--size", size, "-o", "a.jpg", "--cache", "kept",
                "--source-cache", "1000000", "--allow-net", "127.0.0.1/32")
            #expect(result.status == 0)
        }
        // A second size of the same clip: no request.
        #expect(server.log.filter { $0.hasPrefix("GET") }.count == 1)
        let totals = try JSONSerialization.jsonObject(with: Data(run(["stat", "--json"], on: "kept").output))
        let numbers = try #require(totals as? [String: Any])
        #expect(numbers["entries"] as? Int == 2 && numbers["sourceEntries"] as? Int == 1)
        #expect(try run(["verify"], on: "kept").text.hasPrefix("bad=0 checked=3 "))
        #expect(try run(["purge", "--host", "127.0.0.1"], on: "kept").text == "purged=3\n")
        #expect(try run(["stat"], on: "kept").text.contains(" source_bytes="))
    }
}
