import Foundation
import FramemillBorder
import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// Decoders that say what can't be: each is refused and ended, and costs one job.
@Suite struct NonsenseTests {
    /// Speaks Python behind a right greeting, with `say(kind, *fields)` and `raw(bytes)`.
    private static let frame = """
        #!/usr/bin/python3
        import signal, socket, struct
        line = socket.socket(fileno=3)
        def raw(data):
            try: line.sendall(data)
            except OSError: pass
        def field(value):
            if isinstance(value, int): return struct.pack('<q', value)
            return struct.pack('<q', len(value)) + value
        def message(kind, *values):
            payload = b''.join(map(field, values))
            return struct.pack('<IBBBB', len(payload), kind, 0, 0, 0) + payload
        def say(kind, *values): raw(message(kind, *values))
        HELLO, READ, EXPECT, CORES, LENGTH, FRAME, PATCH, PIXELS, RESULT, FAILURE = range(16, 26)
        colours = bytes(1024)
        def hello(version=\(Border.version)): say(HELLO, \(Border.magic), version)

        """

    /// What it says, and what is thought of it.
    static let scripts: [(name: String, script: String, reason: Failure.Reason)] = [
        ("goes at once", "", .internalError),
        ("greets and goes", "hello()", .decoderCrashed),
        ("greets wrongly", "say(HELLO, 5, 1)", .decoderCrashed),
        ("is of another version", "hello(99)", .decoderCrashed),
        ("says a letter", "raw(b'x'); line.shutdown(2)", .internalError),
        ("breaks off", "hello(); raw(message(READ, 0, 0, 10)[:-3]); line.shutdown(2)", .decoderCrashed),
        (
            "announces 4 GiB", "hello(); raw(struct.pack('<IBBBB', 0xffffffff, RESULT, 0, 0, 0))",
            .decoderCrashed
        ),
        ("has no such kind", "hello(); say(99)", .decoderCrashed),
        ("fills the gap", "hello(); raw(struct.pack('<IBBBB', 0, RESULT, 1, 0, 0))", .decoderCrashed),
        ("speaks as a parent", "hello(); say(1)", .decoderCrashed),
        ("asks for another source", "hello(); say(READ, 7, 0, 10)", .decoderCrashed),
        ("asks for what is before", "hello(); say(READ, 0, -1, 10)", .decoderCrashed),
        ("asks for what is far", "hello(); say(READ, 0, 1 << 62, 10)", .decoderCrashed),
        ("asks for nothing", "hello(); say(READ, 0, 0, 0)", .decoderCrashed),
        ("asks for too much", "hello(); say(READ, 0, 0, 1 << 40)", .decoderCrashed),
        ("asks for more behind", "hello(); say(READ, 0, 0, 10, 5)", .decoderCrashed),
        ("expects backwards", "hello(); say(EXPECT, 0, 10, 5)", .decoderCrashed),
        ("gives a frame unasked", "hello(); say(FRAME, 64, 0, 0, 1, 4, 4, 0)", .decoderCrashed),
        ("gives pixels unasked", "hello(); say(PIXELS, 10)", .decoderCrashed),
        ("gives nothing", "hello(); say(RESULT)", .decoderCrashed),
        ("gives junk", "hello(); say(RESULT, b'junk' * 100)", .decoderCrashed),
        ("fails with junk", "hello(); say(FAILURE, b'no_such_reason', b'decode')", .decoderCrashed),
        (
            "blames the network",
            "hello(); say(FAILURE, b'http_404', b'fetch', b'gone', 0, 0, 0)", .decoderCrashed
        ),
        (
            "says that it was cancelled",
            "hello(); say(FAILURE, b'cancelled', b'decode', b'so it is', 0, 0, 0)", .decoderCrashed
        ),
        (
            "asks and does not listen",
            "hello()\nwhile True: line.sendall(message(READ, 0, 0, 10) * 1000)", .decoderCrashed
        ),
        ("says nothing", "signal.pause()", .timeout),
        ("greets and says nothing", "hello(); signal.pause()", .timeout),
        ("expects for ever", "hello()\nwhile True: line.sendall(message(EXPECT, 0, 0, 10))", .timeout),
        ("fails rightly", "hello(); say(FAILURE, b'corrupt', b'decode', b'so it is', 0, 0, 0)", .corrupt),
    ]

    @Test(arguments: scripts)
    func refusesOneThat(name: String, script: String, reason: Failure.Reason) throws {
        let folder = try TemporaryFolder()
        let path = try folder.write(Array((Self.frame + script + "\n").utf8), to: "decoder")
        unsafe chmod(path, 0o700)
        let pool = try FaultyPool.make { ($0.executable, $0.grace) = (path, .milliseconds(50)) }
        let limit: Duration = reason == .timeout ? .milliseconds(500) : .seconds(60)
        let failure = #expect(throws: Failure.self) { try pool.cover(redGIF(), Stop(after: limit)) }
        #expect(failure?.reason == reason, "\(name): \(failure?.description ?? "")")
        if reason != .corrupt { #expect(pool.processes.isEmpty) }
    }

    /// Frames that are not those of the animation, or not in their order.
    @Test(arguments: [
        "say(FRAME, 144, 0, 100, 1, 9, 4, 0)", "say(FRAME, 128, 1, 100, 1, 8, 4, 0)",
        "say(FRAME, 128, 5, 100, 1, 8, 4, 0)", "say(FRAME, 128, 0, 7, 1, 8, 4, 0)",
        "say(FRAME, 7, 0, 100, 1, 8, 4, 0)", "say(FRAME, 1 << 40, 0, 100, 1, 8, 4, 0)",
        "say(FRAME, 1 << 20, 0, 100, 1, 1 << 40, 1 << 40, 0)", "say(RESULT)",
        // Parts, bytes, index, whether indices; colours; pixels; interlaced, opaque, alone, whole, last.
        "say(PATCH, 32, 32, 1, 1, colours, 32, 0, 1, 0, 1, 0)",
        "say(PATCH, 32, 32, 0, 1, b'', 32, 0, 1, 0, 1, 0)",
        "say(PATCH, 32, 32, 0, 1, colours[1:], 32, 0, 1, 0, 1, 0)",
        "say(PATCH, 31, 32, 0, 1, colours, 32, 0, 1, 0, 1, 0)",
        "say(PATCH, 33, 33, 0, 1, colours, 33, 0, 1, 0, 1, 0)",
        "say(PATCH, 32, 32, 0, 0, b'', 32, 0, 1, 0, 1, 0)",
        "say(PATCH, 0, 0, 0, 1, colours, -1, 0, 1, 0, 1, 0)",
        "say(PATCH, 1 << 20, 1 << 50, 0, 1, colours, 1 << 50, 0, 1, 0, 1, 0)",
        "say(PATCH, 32, 32, 0, 1, colours, 32, 2, 1, 0, 1, 0)",
    ])
    func refusesFramesThatAreNot(script: String) throws {
        let (decoder, folder) = try decoder("hello(); \(script)")
        var place = AnimationPlace()
        let failure = #expect(throws: Failure.self) {
            try decoder.frames(from: &place, windowBytes: 1, crew: .alone, stop: Stop(after: .seconds(60)))
        }
        #expect(failure?.reason == .decoderCrashed, "\(failure?.description ?? "")")
        #expect(place.next == 0)
        withExtendedLifetime(folder) {}
    }

    /// An animation of two frames of 8 x 4, which is read by whoever says this.
    private func decoder(_ script: String) throws -> (RemoteAnimation, TemporaryFolder) {
        let folder = try TemporaryFolder()
        let path = try folder.write(Array((Self.frame + script + "\n").utf8), to: "decoder")
        unsafe chmod(path, 0o700)
        let pool = try FaultyPool.make { $0.executable = path }
        var facts = AnimationFacts(container: "gif", width: 8, height: 4, plays: 1)
        facts.frames = (0..<2).map { _ in
            FrameFacts(rawDelay: 0, left: 0, top: 0, width: 8, height: 4, disposal: .keep, blend: .over)
        }
        return (RemoteAnimation(facts, pool, MemoryReader(redGIF()), Limits(), session: 1), folder)
    }

    /// A good one among these, so that it is the others who are refused and not all.
    @Test func drawsAPatchThatIs() throws {
        let script =
            "hello(); say(PATCH, 32, 32, 0, 1, b'\\1\\2\\3\\4' * 256, 32, 0, 1, 0, 1, 0); say(RESULT)"
        let (decoder, folder) = try decoder(script)
        var place = AnimationPlace()
        let frames = try decoder.frames(
            from: &place, windowBytes: 1, crew: .alone, stop: Stop(after: .seconds(60)))
        #expect(
            frames.map(\.bitmap.pixels) == [
                Array(repeatElement([1, 2, 3, 4] as [UInt8], count: 32).joined())
            ])
        #expect(place.next == 1)
        withExtendedLifetime(folder) {}
    }
}
