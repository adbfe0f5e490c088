import FramemillImaging
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// How long sources last, against ffprobe, and what it costs to know.
@Suite struct DurationTests {
    let folder: TemporaryFolder
    let server: FaultServer

    init() throws {
        folder = try TemporaryFolder()
        server = try FaultServer(root: folder.path)
    }

    private func mill() throws -> Framemill {
        var configuration = Configuration()
        configuration.allowNet = ["127.0.0.1/32"]
        configuration.allowFiles = true
        return try Framemill(configuration, renderer: Imaging())
    }

    private func make(_ name: String, _ arguments: [String]) throws {
        try Tool.output("ffmpeg", ["-v", "error", "-y"] + arguments + [folder.file(name)])
    }

    private func ffprobe(_ name: String) throws -> Double {
        let words = try Tool.output(
            "ffprobe",
            ["-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0", folder.file(name)])
        return try #require(Double(String(decoding: words, as: UTF8.self).filter { !$0.isWhitespace }))
    }

    /// Transport streams say nothing of their length: a probe reads the tail, a cover saves the request.
    @Test func readsTheTailOfAStreamOnlyWhenAskedForFacts() async throws {
        try make(
            "clip.ts", ["-f", "lavfi", "-i", "testsrc2=d=40:s=640x360", "-c:v", "mpeg2video", "-b:v", "2M"])
        let duration = try ffprobe("clip.ts")
        let mill = try mill()
        let near = try await mill.probe(Request(folder.file("clip.ts")))
        #expect(abs((near.duration ?? 0) - duration) < 0.05)
        let far = try await mill.probe(Request(server.url("/file/clip.ts")))
        #expect(abs((far.duration ?? 0) - duration) < 0.05)
        #expect(far.durationText == "0:40" || far.durationText == "0:39")
        let cover = try await mill.cover(for: Request(server.url("/file/clip.ts"))).facts
        #expect(cover.duration == nil)
        #expect(cover.requests < far.requests)
        // Of some 10 MB: the head that libav wants to see, and the tail.
        #expect(far.bytesRead < 3 << 20)
        #expect(near.bytesRead < 3 << 20)
    }

    /// With the length in the first frame, estimated by the bit rate, and from an index.
    @Test(
        arguments: [
            ("xing.mp3", ["-b:a", "128k"]), ("plain.mp3", ["-b:a", "128k", "-write_xing", "0"]),
            ("song.m4a", ["-c:a", "aac"]),
        ] as [(String, [String])])
    func saysHowLongASongWithAPictureLasts(_ name: String, _ codec: [String]) async throws {
        try make("art.jpg", ["-f", "lavfi", "-i", "testsrc2=s=300x300", "-frames:v", "1"])
        try make(
            name,
            [
                "-f", "lavfi", "-i", "sine=d=42", "-i", folder.file("art.jpg"), "-map", "0", "-map", "1",
                "-c:v",
                "copy", "-disposition:v:0", "attached_pic",
            ] + codec)
        let duration = try ffprobe(name)
        let mill = try mill()
        for url in [folder.file(name), server.url("/file/\(name)")] {
            let facts = try await mill.probe(Request(url))
            #expect(facts.source == .attached)
            #expect(abs((facts.duration ?? 0) - duration) < 0.05, "\(url)")
            #expect(facts.durationText == "0:42")
        }
    }

    /// libav reads the head, jumps to the index at the end and comes back; each byte counts once.
    @Test func countsEachByteOfAFileOnce() async throws {
        try make("end.mp4", ["-f", "lavfi", "-i", "testsrc2=d=1:s=320x180"])
        let size = Int64(try folder.read("end.mp4").count)
        let facts = try await mill().cover(for: Request(folder.file("end.mp4"))).facts
        #expect(facts.bytesRead <= size)
        #expect(facts.bytesRead > size / 4)
    }
}
