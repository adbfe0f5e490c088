import Foundation
import FramemillMedia
import Glibc
import TestSupport
import Testing

@Suite struct SingleTests {
    @Test(arguments: [("x.jpg", [0xFF, 0xD8]), ("x.png", [0x89, 0x50]), ("x.webp", [0x52, 0x49])])
    func coverWritesWhatTheNameSays(name: String, magic: [UInt8]) throws {
        let command = try Command()
        try command.writeClips("a.mp4")
        let result = try command.run("cover", "a.mp4", "-o", name, "--size", "48", "--json")
        #expect(result.status == 0, "\(result.errorText)")
        #expect(try command.folder.read(name).starts(with: magic))
        let facts = try JSONDecoder().decode(Facts.self, from: Data(result.output))
        #expect((facts.width, facts.height) == (48, 32))
        #expect((facts.displayWidth, facts.displayHeight) == (96, 64))
        #expect(facts.byteCount == (try command.folder.read(name).count))
    }

    @Test func coverWritesToStandardOutput() throws {
        let command = try Command()
        try command.writeClips("a.mp4")
        let result = try command.run("cover", "a.mp4", "-o", "-", "--format", "png")
        #expect(result.status == 0)
        #expect(result.output.starts(with: [0x89, 0x50, 0x4E, 0x47]))
    }

    @Test func coverThatFailsLeavesNoFile() throws {
        let command = try Command()
        let result = try command.run("cover", "no.mp4", "-o", "x.jpg", "--json")
        #expect(result.status == 3)
        #expect(result.text.contains("\"code\":\"not_found\""))
        #expect(!command.folder.files.contains("x.jpg"))
    }

    @Test func theLoopbackIsClosedUnlessAllowed() throws {
        let command = try Command()
        let result = try command.run("cover", "http://127.0.0.1:9/v.mp4", "-o", "x.jpg", "--json")
        #expect(result.status == 3)
        #expect(result.text.contains("\"code\":\"blocked_address\""))
    }

    @Test func aSignalEndsACover() throws {
        let command = try Command()
        let server = try SilentServer()
        let run = try command.start("cover", server.url, "-o", "x.jpg", "--allow-net", "127.0.0.1/32")
        server.waitForVisitor()
        kill(run.processIdentifier, SIGINT)
        run.waitUntilExit()
        #expect(run.terminationStatus == 130)
        #expect(!command.folder.files.contains("x.jpg"))
    }

    @Test func probePrintsTheFacts() throws {
        let command = try Command()
        try command.writeClips("a.mp4")
        let result = try command.run("probe", "a.mp4", "--json")
        #expect(result.status == 0, "\(result.errorText)")
        let facts = try JSONDecoder().decode(Facts.self, from: Data(result.output))
        #expect((facts.displayWidth, facts.displayHeight) == (96, 64))
        #expect(facts.codec == "h264")
        let table = try command.run("probe", "a.mp4").text.split(separator: "\n")
        #expect(table.contains("codec          h264"), "\(table)")
        #expect(table.contains("audio          no"))
        // Of a cover, which there is none of.
        #expect(
            !table.contains { $0.hasPrefix("width") || $0.hasPrefix("format") || $0.hasPrefix("byteCount") })
    }

    /// As root, the rename of a cover would put a file in the place of `/dev/null`.
    @Test func aPipeTakesTheCoverAndStaysAPipe() throws {
        let command = try Command()
        try command.writeClips("a.mp4")
        try Tool.output("mkfifo", [command.folder.file("pipe")])
        let cat = Process()
        cat.executableURL = URL(fileURLWithPath: "/bin/cat")
        cat.arguments = [command.folder.file("pipe")]
        let output = Pipe()
        cat.standardOutput = output
        try cat.run()
        let result = try command.run("cover", "a.mp4", "-o", "pipe", "--format", "png")
        #expect(result.status == 0, "\(result.errorText)")
        let got = try output.fileHandleForReading.readToEnd() ?? Data()
        #expect(got.starts(with: [0x89, 0x50, 0x4E, 0x47]))
        var facts = stat()
        // The path lives through the call, which fills `facts`.
        #expect(unsafe stat(command.folder.file("pipe"), &facts) == 0)
        #expect(facts.st_mode & S_IFMT == S_IFIFO)
    }

    @Test func theSourceIsNeverOverwritten() throws {
        let command = try Command()
        try command.writeClips("a.mp4")
        let result = try command.run("cover", "a.mp4", "-o", "./a.mp4", "--format", "jpeg")
        #expect(result.status == 2)
        #expect(result.errorText.contains("the source itself"))
        #expect(try command.folder.read("a.mp4") == Command.clip.get())
    }

    /// An answer that is lost is no success: a full disk, and a standard output that is closed.
    @Test(arguments: [">/dev/full", ">&-"])
    func anAnswerThatIsLostIsAFailure(redirection: String) throws {
        let command = try Command()
        try command.writeClips("a.mp4")
        for words in ["probe a.mp4 --json", "cover a.mp4 -o - --format png", "--version"] {
            let script = "\(Command.binary) \(words) \(redirection)"
            let result = try Tool.run("/bin/sh", ["-c", script], in: command.folder.path)
            #expect(result.status == 3, "\(words): \(result.errorText)")
            #expect(result.errorText.contains("write_failed") || result.errorText.contains("standard output"))
        }
    }

    @Test func aFailureSaysWhatTheSystemSaid() throws {
        let result = try Command().run("probe", "no.mp4", "--json")
        #expect(result.text.contains("\"cause\":\"errno 2: No such file or directory\""))
    }
}
