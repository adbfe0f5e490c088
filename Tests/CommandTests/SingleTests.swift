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
        #expect(try command.run("probe", "a.mp4").text.contains("codec : h264"))
    }
}
