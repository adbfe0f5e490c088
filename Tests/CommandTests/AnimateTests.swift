import Foundation
import FramemillMedia
import TestSupport
import Testing

@Suite struct AnimateTests {
    private static let gif = DrawnGIF.bytes(
        width: 60, height: 40, loop: 0,
        [
            .init(0, delay: 7, at: (left: 0, top: 0, width: 60, height: 40)),
            .init(1, delay: 20, at: (left: 10, top: 10, width: 20, height: 20)),
            .init(2, delay: 100, at: (left: 30, top: 10, width: 20, height: 20)),
        ])

    @Test func writesAnAnimation() throws {
        let command = try Command()
        try command.folder.write(Self.gif, to: "a.gif")
        let result = try command.run("animate", "a.gif", "-o", "a.webp", "--size", "30", "--json")
        #expect(result.status == 0, "\(result.errorText)")
        let facts = try JSONDecoder().decode(Facts.self, from: Data(result.output))
        #expect(facts.animation == Facts.Animation(frameCount: 3, plays: 0, duration: 1.27))
        #expect((facts.width, facts.height, facts.format) == (30, 20, "webp"))
        let judge = try AnimationJudge(try command.folder.read("a.webp"))
        #expect((judge.width, judge.height, judge.delays) == (30, 20, [70, 200, 1000]))
        // Nothing beside it: it was written under another name and renamed.
        #expect(command.folder.files.filter { !$0.hasPrefix("cache/") } == ["a.gif", "a.webp"])
    }

    @Test func writesToStandardOutput() throws {
        let command = try Command()
        try command.folder.write(Self.gif, to: "a.gif")
        let result = try command.run("animate", "a.gif", "-o", "-", "--lossless", "--max-frames", "2")
        #expect(result.status == 0)
        #expect(try AnimationJudge(result.output).delays == [70, 200])
    }

    @Test func thatFailsLeavesNoFile() throws {
        let command = try Command()
        try command.write("no picture", to: "a.gif")
        let result = try command.run("animate", "a.gif", "-o", "a.webp", "--json")
        #expect(result.status == 3)
        #expect(result.text.contains("\"code\":\"not_media\""))
        #expect(!command.folder.files.contains("a.webp"))
    }

    @Test func batchMakesWhatMovesMove() throws {
        let command = try Command()
        try command.folder.write(Self.gif, to: "a.gif")
        try command.folder.write(Command.noise.get(), to: "b.png")
        let list = "a.gif\nb.png\n"
        let result = try command.run("batch", "-", "--out", "out", "--animated", "--size", "30", input: list)
        #expect(result.status == 0, "\(result.errorText)")
        let records = try command.records()
        #expect(Set(records.map { $0.facts?.animation?.frameCount }) == [3, nil])
        #expect(command.covers.count == 2)
        #expect(command.covers.allSatisfy { $0.hasSuffix(".webp") })
        let again = try command.run("batch", "-", "--out", "new", "--animated", "--size", "30", input: list)
        #expect(again.status == 0)
        #expect(try command.records("new/manifest.jsonl").map(\.origin) == ["disk", "disk"])
        // The same source with another recipe is another cover.
        let still = try command.run("batch", "-", "--out", "still", "--size", "30", input: "a.gif\n")
        #expect(still.status == 0)
        #expect(try command.records("still/manifest.jsonl").map(\.origin) == ["made"])
    }

    @Test(arguments: [
        (["animate", "a.gif", "-o", "a.gif"], "let a.gif end in .webp"),
        (["animate", "a.gif"], "where should the animation go"),
        (["animate", "a.gif", "-o", "a.webp", "--max-fps", "0"], "--max-fps 0 is not understood"),
        (["animate", "a.gif", "-o", "a.webp", "--max-frames", "0"], "--max-frames 0 is not understood"),
        (["animate", "a.gif", "-o", "a.webp", "--duration", "0"], "--duration 0 is not understood"),
        (["animate", "a.gif", "-o", "a.webp", "--format", "webp"], "--format is no option"),
        (["batch", "list", "--lossless"], "it goes with --animated"),
        (["batch", "list", "--animated", "--format", "png"], "written as WebP, not as png"),
    ])
    func refusesWhatCanNotBe(_ words: [String], _ saying: String) throws {
        let command = try Command()
        try command.folder.write(Self.gif, to: "a.gif")
        try command.write("a.gif\n", to: "list")
        let result = try Tool.run(Command.binary, words, in: command.folder.path)
        #expect(result.status == 2)
        #expect(result.errorText.contains(saying), "\(result.errorText)")
        #expect(!command.folder.files.contains("a.webp"))
    }
}
