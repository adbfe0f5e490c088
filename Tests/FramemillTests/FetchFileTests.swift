import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

@Suite struct FetchFileTests {
    @Test func readsFilesByPathAndByURL() async throws {
        let folder = try TemporaryFolder()
        try folder.write(pattern(0, 5000), to: "a b%20.mp4")
        let bench = try FetchBench()
        let names = [folder.file("a b%20.mp4"), "file://" + folder.file("a%20b%2520.mp4")]
        for name in names {
            let opened = try await bench.fetcher.open(
                name, limits: Limits(), stop: Stop(after: .seconds(20)), permits: bench.permits)
            let reader = try #require(opened.reader)
            #expect(reader.byteCount == 5000)
            #expect(reader.isLocal)
            #expect(try await bench.read(reader, 4000, 9999) == pattern(4000, 1000))
        }
    }

    @Test func saysWhatStandsInTheWay() async throws {
        let folder = try TemporaryFolder()
        try folder.write([], to: "empty.mp4")
        try Tool.output("mkfifo", [folder.file("pipe")])
        let bench = try FetchBench()
        for (name, reason) in [
            ("absent", Failure.Reason.notFound), ("", .notFound), ("empty.mp4", .empty), ("pipe", .notMedia),
        ] {
            let failure = await bench.failure("file://" + folder.file(name))
            #expect(failure?.reason == reason, "\(name)")
        }
    }

    @Test func keepsFilesFromThoseWhoMayNot() async throws {
        let bench = try FetchBench { $0.allowFiles = false }
        #expect(await bench.failure("file:///etc/passwd")?.reason == .badURL)
        #expect(await bench.failure("clip.mp4")?.reason == .badURL)
    }
}
