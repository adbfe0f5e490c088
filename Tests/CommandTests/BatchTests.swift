import Foundation
import TestSupport
import Testing

@Suite struct BatchTests {
    @Test func makesAHundredLinesOfWhichThreeFail() throws {
        let command = try Command()
        var list = ""
        for number in 1...97 {
            try command.writeClips("\(number).mp4")
            list += "\(number).mp4\n"
        }
        try command.write("no video", to: "text.mp4")
        try command.write("", to: "empty.mp4")
        list += "text.mp4\nmissing.mp4\nempty.mp4\n"
        try command.write(list, to: "list")
        let result = try command.run("batch", "list", "--out", "out")
        #expect(result.status == 1)
        let records = try command.records()
        #expect(records.map(\.line).sorted() == Array(1...100))
        #expect(records.count { $0.code == "ok" } == 97)
        for record in records where record.code != "ok" {
            #expect(record.class == "permanent")
            #expect(record.message?.isEmpty == false)
            #expect(record.file == nil)
        }
        #expect(command.covers.count == 97)
        try expectWhole(command)
    }

    /// A failure without mirrors is no answer to a line that has some, whichever comes first.
    @Test(arguments: ["1", "8"])
    func asksTheMirrorsOfEachLine(jobs: String) throws {
        let command = try Command()
        try command.writeClips("a.mp4")
        let mirrored = #"{"url": "gone.mp4", "mirrors": ["a.mp4"]}"#
        let list = "gone.mp4\ngone.mp4\n\(mirrored)\n\(mirrored)\n"
        let result = try command.run("batch", "-", "--out", "out", "--jobs", jobs, input: list)
        #expect(result.status == 1)
        let records = try command.records().sorted { $0.line < $1.line }
        #expect(records.map(\.code) == ["not_found", "not_found", "ok", "ok"])
        #expect(Set(records.compactMap(\.file)) == Set(command.covers))
    }

    @Test func saysByItsExitCodeHowItWent() throws {
        let command = try Command()
        try command.writeClips("a.mp4")
        #expect(try command.run("batch", "-", "--out", "good", input: "a.mp4\n").status == 0)
        #expect(try command.run("batch", "-", "--out", "mixed", input: "a.mp4\nno.mp4\n").status == 1)
        #expect(try command.run("batch", "-", "--out", "bad", input: "no.mp4\n").status == 3)
        let empty = try command.run("batch", "-", "--out", "none", input: "\n# nothing\n")
        #expect(empty.status == 0)
        #expect(empty.errorText.contains("the list has no entries"))
    }

    @Test func summaryAsJSONAndNothingElseWhenQuiet() throws {
        let command = try Command()
        try command.writeClips("a.mp4")
        let result = try command.run(
            "batch", "-", "--out", "out", "--json", "--quiet", input: "a.mp4\nno.mp4\na.mp4\n")
        #expect(result.errorText.isEmpty)
        let summary = try JSONDecoder().decode(Summary.self, from: Data(result.output))
        #expect(summary == Summary(lines: 3, made: 2, failed: 1, resumed: 0, duplicates: 1, exit: 1))
    }

    @Test func namesNeverCollideNorLeaveTheDirectory() throws {
        let command = try Command()
        let long = String(repeating: "n", count: 240)
        let places = [
            "a/x/clip.mp4", "b/y/clip.mp4", "b/y/clip.webm", "b/y/clip.mp4?v=2", "-o", "\(long).mp4",
            "...mp4",
        ]
        for place in places { try command.writeClips(place) }
        try command.writeClips("new\nline.mp4")
        var list = places.joined(separator: "\n")
        list +=
            "\n{\"url\": \"new\\nline.mp4\"}\na/../../../../../../../../etc/x.mp4\n%2e%2e%2f%2e%2e%2fx.mp4\n"
        list += String(repeating: "m", count: 300) + ".mp4\na/x/clip.mp4\n"
        try command.write(list, to: "list")
        let before = Set(command.folder.files)
        let result = try command.run("batch", "list", "--out", "out", "--cache", "none")
        #expect(result.status == 1)
        let records = try command.records().sorted { $0.line < $1.line }
        #expect(
            records.map(\.code) == Array(repeating: "ok", count: 8) + Array(repeating: "not_found", count: 3)
                + ["ok"])
        #expect(Set(records.compactMap(\.file)).count == 8)
        #expect(records.first?.file == records.last?.file)
        #expect(records.last?.origin == "duplicate")
        #expect(Set(records.compactMap(\.file)) == Set(command.covers))
        for file in command.covers {
            #expect(
                file.wholeMatch(of: /[A-Za-z0-9][A-Za-z0-9._-]{0,79}-[0-9a-f]{16}\.jpg/) != nil, "\(file)")
        }
        let beside = Set(command.folder.files).subtracting(before).filter { !$0.hasPrefix("out/") }
        #expect(beside.isEmpty)
    }

    @Test func readsListsAsPeopleSaveThem() throws {
        let command = try Command()
        let names = [
            "a b.mp4", "100%.mp4", "a+b.mp4", "3js%205.mp4", "\u{6F22}\u{5B57}.mp4", "\u{1F600}.mp4",
        ]
        for name in names { try command.writeClips(name) }
        var list = "\u{FEFF}# saved on another system\r\n\r\n"
        list += names.map { "  \($0) \t\r\n" }.joined()
        list += "{\"url\": \"a b.mp4\", \"id\": 7, \"at\": \"50%\", \"mirrors\": [\"a+b.mp4\"]}\r\n"
        list += "{\"url\": \"gone.mp4\", \"id\": \"m\", \"mirrors\": [\"also-gone.mp4\", \"a+b.mp4\"]}\r\n"
        list += "{\"url\": \"a+b.mp4\", \"at\": \"noon\"}\r\n{\"url\":\r\n"
        list += "file://\(command.folder.path)/a%20b.mp4"
        try command.write(list, to: "list")
        #expect(try command.run("batch", "list", "--out", "out").status == 1)
        let records = try command.records().sorted { $0.line < $1.line }
        #expect(records.map(\.line) == Array(3...13))
        #expect(records.prefix(6).map(\.url) == names)
        #expect(records.map(\.code) == Array(repeating: "ok", count: 8) + ["bad_option", "bad_option", "ok"])
        #expect(records[6].id == "7")
        #expect(records[7].id == "m")
        #expect(records[6].file != records[0].file, "another moment is another cover")
    }

    @Test func bytesThatAreNoTextAreAFailureOfTheirLine() throws {
        let command = try Command()
        try command.writeClips("a.mp4")
        let long = Array(repeating: UInt8(ascii: "x"), count: 100_000)
        try command.folder.write([0xFF, 0x00, 0x0A] + long + Array("\na.mp4".utf8), to: "list")
        #expect(try command.run("batch", "list", "--out", "out").status == 1)
        let records = try command.records().sorted { $0.line < $1.line }
        #expect(records.map(\.code) == ["bad_url", "bad_url", "ok"])
        try command.folder.write([0xFF, 0xFE, 0x61, 0x00], to: "wide")
        #expect(try command.run("batch", "wide", "--out", "out2").errorText.contains("UTF-16"))
    }

    @Test func anOutputThatCannotBeWrittenIsToldFirst() throws {
        let command = try Command()
        try command.writeClips("a.mp4", "file")
        let result = try command.run("batch", "-", "--out", "file/out", input: "a.mp4\n")
        #expect(result.status == 2)
        #expect(result.errorText.contains("--out file/out cannot be"))
    }

    @Test func aFullDiskFailsTheLineAndLeavesNothing() throws {
        let command = try Command()
        try command.writeClips("a.mp4")
        try command.folder.write(Command.noise.get(), to: "noise.png")
        try command.write("noise.png\na.mp4\n", to: "list")
        // A limit of 16 KiB for every file stands in for a disk without room.
        let script = "ulimit -f 16; exec \"$0\" batch list --out out --cache none --format png --size 0"
        let result = try Tool.run("bash", ["-c", script, Command.binary], in: command.folder.path)
        #expect(result.status == 1, "\(result.errorText)")
        let records = try command.records().sorted { $0.line < $1.line }
        #expect(records.map(\.code) == ["write_failed", "ok"])
        #expect(records[0].class == "transient")
        #expect(command.covers == [records[1].file])
        try expectWhole(command)
    }

    @Test func equalLinesAreMadeOnceAndReportedEach() throws {
        let command = try Command()
        try command.writeClips("a.mp4")
        // Longer than the block that is read at a time.
        let list = String(repeating: "a.mp4\nno.mp4\n", count: 10_000)
        let result = try command.run(
            "batch", "-", "--out", "out", "--cache", "none", "--jobs", "3", input: list)
        #expect(result.status == 1)
        let records = try command.records()
        #expect(records.map(\.line).sorted() == Array(1...20_000))
        #expect(records.count { $0.origin == "made" } == 1)
        #expect(records.count { $0.origin == "duplicate" } == 9999)
        #expect(records.count { $0.code == "not_found" } == 10_000)
        #expect(command.covers.count == 1)
    }

    @Test func galleryHoldsEveryCoverAndEveryReason() throws {
        let command = try Command()
        try command.writeClips("a.mp4")
        let list = """
            {"url": "a.mp4", "id": "<script>alert(1)</script>"}
            {"url": "http://user:secret@nowhere.invalid/<b>.mp4?token=hidden"}
            """
        #expect(
            try command.run("batch", "-", "--out", "out", "--gallery", "page.html", input: list).status == 1)
        let page = String(decoding: try command.folder.read("page.html"), as: UTF8.self)
        #expect(page.contains("src=\"data:image/jpeg;base64,/9j/"))
        #expect(page.contains("loading=\"lazy\""))
        #expect(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;"))
        #expect(!page.contains("<script>alert"))
        #expect(!page.contains("<b>"))
        #expect(!page.contains("secret"))
        #expect(!page.contains("hidden\""))
        #expect(!page.contains("token="))
        #expect(page.hasSuffix("</html>\n"))
    }

    private struct Summary: Decodable, Equatable {
        var lines: Int
        var made: Int
        var failed: Int
        var resumed: Int
        var duplicates: Int
        var exit: Int
    }
}

/// No file of the output is empty, and none is half done.
func expectWhole(_ command: Command) throws {
    for file in command.covers {
        #expect(try command.folder.read("out/\(file)").count > 0, "\(file)")
        #expect(!file.hasSuffix(".tmp"), "\(file)")
    }
}
