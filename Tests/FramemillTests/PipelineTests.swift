import Foundation
import FramemillEngine
import FramemillImaging
import FramemillMedia
import Synchronization
import TestSupport
import Testing

@testable import Framemill

/// The whole way from a URL to a cover, over a real server.
@Suite struct PipelineTests {
    let folder: TemporaryFolder
    let server: FaultServer

    init() throws {
        folder = try TemporaryFolder()
        try Tool.output(
            "ffmpeg",
            [
                "-v", "error", "-f", "lavfi", "-i", "testsrc2=d=2:s=320x180", "-g", "25",
                folder.file("end.mp4"),
            ])
        try Tool.output(
            "ffmpeg",
            [
                "-v", "error", "-i", folder.file("end.mp4"), "-c", "copy", "-movflags", "+faststart",
                folder.file("front.mp4"),
            ])
        server = try FaultServer(root: folder.path)
    }

    func mill(
        _ renderer: any Renderer = Imaging(), _ change: (inout Configuration) -> Void = { _ in }
    ) throws -> Framemill {
        var configuration = Configuration()
        configuration.allowNet = ["127.0.0.1/32"]
        configuration.allowFiles = true
        change(&configuration)
        return try Framemill(configuration, renderer: renderer)
    }

    @Test func makesACoverOnceAndFindsItAgainInMemoryAndOnDisk() async throws {
        let first = try mill { $0.cacheDirectory = folder.file("cache") }
        let request = Request(server.url("/file/front.mp4"))
        let made = try await first.cover(for: request)
        #expect(made.origin == .made)
        #expect(made.bytes.starts(with: [0xFF, 0xD8]))
        #expect(made.facts.requests == 1)
        let again = try await first.cover(for: request)
        #expect(again.origin == .memory && again.bytes == made.bytes)
        await first.close()
        let second = try mill { $0.cacheDirectory = folder.file("cache") }
        let kept = try await second.cover(for: request)
        #expect(kept.origin == .disk && kept.bytes == made.bytes && kept.facts == made.facts)
        #expect(second.meters["made"] == nil)
    }

    /// B39
    @Test func readsAnIndexAtTheEndInFewRequests() async throws {
        let mill = try mill()
        let far = try await mill.cover(for: Request(server.url("/file/end.mp4")))
        let front = try await mill.cover(for: Request(server.url("/file/front.mp4")))
        #expect(far.bytes == front.bytes)
        #expect(far.facts.requests <= 3)
    }

    @Test func fetchesALongAnimationOnce() async throws {
        // More than the pieces of a source that are kept in memory.
        try Tool.output(
            "ffmpeg",
            [
                "-v", "error", "-f", "lavfi", "-i", "color=gray:s=640x480:r=12:d=3,noise=alls=100:allf=t",
                folder.file("noise.gif"),
            ])
        let byteCount = try folder.read("noise.gif").count
        #expect(byteCount > 10 << 20)
        var recipe = Recipe()
        recipe.box = .longestSide(16)
        recipe.format = .webp
        recipe.animated = Recipe.Animated()
        let cover = try await mill().cover(for: Request(server.url("/file/noise.gif"), recipe: recipe))
        #expect(cover.facts.animation?.frameCount == 36)
        #expect(cover.facts.bytesRead <= byteCount + byteCount / 50)
    }

    @Test func makesANewCoverWhenAFileIsOverwritten() async throws {
        let mill = try mill()
        let request = Request(folder.file("front.mp4"))
        let first = try await mill.cover(for: request)
        try Tool.output(
            "ffmpeg",
            ["-v", "error", "-y", "-f", "lavfi", "-i", "color=red:d=1:s=320x180", folder.file("front.mp4")])
        let second = try await mill.cover(for: request)
        #expect(second.origin == .made && second.bytes != first.bytes)
    }

    @Test func triesTheMirrorsInTurnAndTellsTheFirstFailure() async throws {
        let mill = try mill()
        let good = server.url("/file/front.mp4")
        let cover = try await mill.cover(
            for: Request(server.url("/status/404"), mirrors: [folder.file("no"), good]))
        #expect(cover.facts.source == .video)
        let failure = await #expect(throws: Failure.self) {
            try await mill.cover(for: Request(server.url("/status/410"), mirrors: [folder.file("no")]))
        }
        #expect(failure?.reason == .http(410))
    }

    @Test func fetchesAndDecodesOnceForManyCallersAtOnce() async throws {
        let renderer = HeldRenderer()
        let mill = try mill(renderer)
        let request = Request(server.url("/file/front.mp4"))
        let callers = (0..<100).map { _ in Task { try await mill.cover(for: request) } }
        await renderer.started()
        for caller in callers[..<50] { caller.cancel() }
        for caller in callers[..<50] {
            await #expect(throws: Failure.self) { try await caller.value }
        }
        renderer.release()
        for caller in callers[50...] { #expect(try await caller.value.bytes == [1]) }
        #expect(renderer.count == 1)
        #expect(server.log.count == 1)
    }

    @Test func freesTheSlotOfACancelledCall() async throws {
        let renderer = HeldRenderer()
        let mill = try mill(renderer) { $0.jobs = 1 }
        let stuck = Task { try await mill.cover(for: Request(folder.file("front.mp4"))) }
        await renderer.started()
        stuck.cancel()
        let failure = await #expect(throws: Failure.self) { try await stuck.value }
        #expect(failure?.reason == .cancelled)
        renderer.release()
        #expect(try await mill.cover(for: Request(folder.file("end.mp4"))).bytes == [1])
    }

    @Test func givesCoversInOrderOfCompletionEachWithItsIndex() async throws {
        let mill = try mill()
        let requests = [
            Request(server.url("/file/front.mp4")), Request(server.url("/status/404")),
            Request(folder.file("end.mp4")),
        ]
        var seen: [Int: String] = [:]
        for await (index, outcome) in mill.covers(for: requests) {
            seen[index] =
                switch outcome {
                case .success(let artifact): artifact.facts.codec
                case .failure(let failure): failure.reason.code
                }
        }
        #expect(seen == [0: "h264", 1: "http_404", 2: "h264"])
    }

    @Test func refusesALocalFileWhereFilesAreNotAllowed() async throws {
        let mill = try mill { $0.allowFiles = false }
        await #expect(throws: Failure.self) { try await mill.cover(for: Request(folder.file("front.mp4"))) }
    }

    @Test func refusesALoopbackAddressUnlessItIsAllowed() async throws {
        let mill = try mill { $0.allowNet = [] }
        let failure = await #expect(throws: Failure.self) {
            try await mill.cover(for: Request(server.url("/file/front.mp4")))
        }
        #expect(failure?.reason == .blockedAddress)
        #expect(server.log.isEmpty)
    }

    @Test func refusesWorkOnceClosed() async throws {
        let mill = try mill()
        await mill.close()
        let failure = await #expect(throws: Failure.self) {
            try await mill.cover(for: Request(folder.file("front.mp4")))
        }
        #expect(failure?.reason == .closed)
    }
}

/// Renders one byte, when the test says so.
private final class HeldRenderer: Renderer {
    private let counter = Mutex(0)
    private let began = DispatchSemaphore(value: 0)
    private let go = DispatchSemaphore(value: 0)

    var count: Int { counter.withLock { $0 } }

    /// Returns once a picture has begun.
    func started() async {
        await withCheckedContinuation { waiter in
            Thread { [began] in
                began.wait()
                waiter.resume()
            }.start()
        }
    }

    /// Lets this picture, and all that come, end.
    func release() { go.signal() }

    func render(
        _ reader: any ByteReader, recipe: Recipe, limits: Limits, crew: Crew, stop: Stop
    ) throws(Failure) -> Artifact {
        counter.withLock { $0 += 1 }
        began.signal()
        go.wait()
        go.signal()
        return Artifact(bytes: [1], facts: Facts(), origin: .made)
    }

    func probe(_ reader: any ByteReader, limits: Limits, stop: Stop) throws(Failure) -> Facts { Facts() }

    func animation(
        _ reader: any ByteReader, limits: Limits, stop: Stop
    ) throws(Failure) -> any AnimationDecoder {
        throw Failure(.notSupported, .probe, "only covers")
    }
}
