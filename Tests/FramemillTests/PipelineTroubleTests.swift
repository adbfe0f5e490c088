import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// B08, over a real server: what is tried again and when, and what is remembered.
@Suite struct PipelineTroubleTests {
    @Test func asksADeadLinkOnce() async throws {
        let folder = try TemporaryFolder()
        let bench = try FreshBench(cache: folder.path)
        let url = bench.server.url("/status/404")
        for _ in 0..<10_000 { #expect(await bench.failure(url)?.reason == .http(404)) }
        #expect(bench.requests == 1)
        bench.time.advance(100)
        #expect(await bench.failure(url)?.memory?.ageSeconds == 100)
        // Another process on the same folder remembers as well.
        let other = try FreshBench(cache: folder.path, server: bench.server)
        #expect(await other.failure(url)?.memory?.tries == 1)
        #expect(bench.requests == 1)
        // A day, a tenth less by chance.
        bench.time.advance(86_400 * 0.9)
        #expect(await bench.failure(url)?.memory == nil)
        #expect(bench.requests == 2)
    }

    @Test func waitsAsLongAsItIsTold() async throws {
        let bench = try FreshBench()
        let busy = FaultServer.Answer(status: 429, ["Retry-After": "3"])
        let url = try bench.server.script("a", busy, busy, .init(body: "one"))
        #expect(try await bench.cover(url).text == "one")
        #expect(bench.time.waits == [3, 3] && bench.requests == 3)
    }

    @Test func triesAgainWhatMayPass() async throws {
        for status in [503, 500, 502, 504, 408, 425, 403] {
            let bench = try FreshBench()
            let url = try bench.server.script("a", .init(status: status), .init(body: "one"))
            #expect(try await bench.cover(url).text == "one", "\(status)")
            #expect(bench.requests == 2 && bench.time.waits.count == 1)
        }
    }

    @Test func triesABotBlockSeldomAndLater() async throws {
        let bench = try FreshBench()
        let url = bench.server.url("/status/403")
        let failure = await bench.failure(url)
        #expect(failure?.reason == .http(403) && failure?.reason.class == .transient)
        #expect(bench.requests == 2 && bench.time.waits == [3])
        #expect(await bench.failure(url)?.memory != nil)
        #expect(bench.requests == 2)
    }

    @Test func triesNothingAgainThatIsGoneOrBroken() async throws {
        let bench = try FreshBench()
        for status in [404, 410, 401] {
            #expect(await bench.failure(bench.server.url("/status/\(status)"))?.reason == .http(status))
        }
        let bad = try bench.server.script("bad", .init(body: "bad"))
        for _ in 0..<3 { #expect(await bench.failure(bad)?.reason == .corrupt) }
        #expect(bench.requests == 4 && bench.renderer.count == 1 && bench.time.waits.isEmpty)
    }

    @Test func tellsTheWaitThatDoesNotFitAndLeavesTheHostAlone() async throws {
        let bench = try FreshBench()
        let url = try bench.server.script("a", .init(status: 503, ["Retry-After": "100"]))
        let other = try bench.server.script("b", .init(body: "two"))
        let failure = await bench.failure(url)
        #expect(failure?.retryAfterSeconds == 100 && failure?.reason.class == .transient)
        #expect(await bench.failure(url)?.retryAfterSeconds == 100)
        let held = await bench.failure(other)
        #expect(held?.reason == .http(503) && held?.retryAfterSeconds == 100)
        #expect(bench.requests == 1 && bench.time.waits.isEmpty)
        bench.time.advance(101)
        #expect(try await bench.cover(other).text == "two")
    }

    @Test func remembersAShortTimeWhatMayPass() async throws {
        let bench = try FreshBench { $0.retries = 0 }
        let url = try bench.server.script("a", .init(status: 500), .init(body: "one"))
        #expect(await bench.failure(url)?.reason == .http(500))
        #expect(await bench.failure(url)?.memory?.tries == 1)
        bench.time.advance(31)
        #expect(try await bench.cover(url).text == "one")
        #expect(bench.requests == 2)
    }

    @Test func asksAgainAtOnceForWhoeverWishes() async throws {
        let bench = try FreshBench()
        let url = try bench.server.script("a", .init(status: 404), .init(body: "one"))
        #expect(await bench.failure(url)?.reason == .http(404))
        var request = Request(url)
        request.retriesFailed = true
        #expect(try await bench.mill.cover(for: request).text == "one")
        #expect(try await bench.cover(url).text == "one")
        #expect(bench.requests == 2)
    }

    @Test func remembersBrokenBytesUntilTheyChange() async throws {
        let bench = try FreshBench()
        let headers = ["ETag": "\"a\"", "Cache-Control": "max-age=60"]
        let url = try bench.server.script("a", .init(headers, body: "bad"))
        #expect(await bench.failure(url)?.memory == nil)
        #expect(await bench.failure(url)?.memory != nil)
        #expect(bench.requests == 1)
        bench.time.advance(61)
        // Confirmed: neither sent nor decoded again.
        #expect(await bench.failure(url)?.reason == .corrupt)
        #expect(bench.requests == 2 && bench.renderer.count == 1)
        #expect(await bench.failure(url)?.reason == .corrupt)
        #expect(bench.requests == 2)
        try bench.server.script("a", .init(["ETag": "\"b\""], body: "good"))
        bench.time.advance(61)
        #expect(try await bench.cover(url).text == "good")
    }

    @Test func asksAgainUnderOtherLimits() async throws {
        let folder = try TemporaryFolder()
        let bench = try FreshBench(cache: folder.path)
        let url = bench.server.url("/status/404")
        _ = await bench.failure(url)
        let patient = try FreshBench(cache: folder.path, server: bench.server) {
            $0.limits.deadline = .seconds(60)
        }
        #expect(await patient.failure(url)?.memory == nil)
        #expect(bench.requests == 2)
    }
}
