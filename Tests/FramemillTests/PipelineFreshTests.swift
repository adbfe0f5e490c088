import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// What is served without asking, what is asked, and what the answer costs.
@Suite struct PipelineFreshTests {
    let held = ["ETag": "\"a\"", "Cache-Control": "max-age=60"]

    @Test func asksNobodyWhileACoverIsFresh() async throws {
        let bench = try FreshBench()
        let url = try bench.server.script("a", .init(held, body: "one"))
        for _ in 0..<3 {
            #expect(try await bench.cover(url).text == "one")
            bench.time.advance(19.9)
        }
        #expect(bench.requests == 1 && bench.renderer.count == 1)
    }

    @Test(arguments: [true, false])
    func decodesNothingThatTheOriginConfirms(hasFolder: Bool) async throws {
        let folder = try TemporaryFolder()
        let bench = try FreshBench(cache: hasFolder ? folder.path : nil)
        let url = try bench.server.script("a", .init(held, body: "one"))
        _ = try await bench.cover(url)
        bench.time.advance(61)
        let again = try await bench.cover(url)
        #expect(again.text == "one" && !again.isStale && again.origin == .memory)
        #expect(bench.requests == 2 && bench.renderer.count == 1)
        #expect(bench.server.log.last?.contains("bytes=0-65535") == true)
        #expect(bench.server.log.last?.contains("if-none-match=\"a\"") == true)
        // And holds as long again.
        bench.time.advance(59)
        _ = try await bench.cover(url)
        #expect(bench.requests == 2)
    }

    @Test func confirmsByTheDateOfTheLastChange() async throws {
        let bench = try FreshBench()
        let headers = ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Cache-Control": "max-age=60"]
        let url = try bench.server.script("a", .init(headers, body: "one"))
        _ = try await bench.cover(url)
        bench.time.advance(61)
        _ = try await bench.cover(url)
        #expect(bench.requests == 2 && bench.renderer.count == 1)
    }

    @Test func confirmsByTheTagWhereAServerLooksAtNoCondition() async throws {
        let bench = try FreshBench()
        let url = try bench.server.script("a", .init(held, body: "one", ignores: true))
        _ = try await bench.cover(url)
        bench.time.advance(61)
        #expect(try await bench.cover(url).text == "one")
        #expect(bench.requests == 2 && bench.renderer.count == 1)
    }

    @Test func makesANewCoverOfAChangedSource() async throws {
        let bench = try FreshBench()
        let url = try bench.server.script("a", .init(held, body: "one"))
        _ = try await bench.cover(url)
        try bench.server.script("a", .init(["ETag": "\"b\"", "Cache-Control": "max-age=60"], body: "two"))
        bench.time.advance(59)
        #expect(try await bench.cover(url).text == "one")
        bench.time.advance(2)
        #expect(try await bench.cover(url).text == "two")
        #expect(bench.requests == 2 && bench.renderer.count == 2)
    }

    @Test func servesAtOnceAndAsksBehindWhereTheOriginAllowsIt() async throws {
        let valve = Valve()
        let bench = try FreshBench(valve)
        let headers = ["Cache-Control": "max-age=60, stale-while-revalidate=60"]
        let url = try bench.server.script(
            "a", .init(headers.merging(["ETag": "\"a\""]) { $1 }, body: "one"),
            .init(headers.merging(["ETag": "\"b\""]) { $1 }, body: "two"))
        let first = Task { try await bench.cover(url) }
        await valve.arrivals(1)
        // The first passes; the second is held by a valve of its own.
        valve.open()
        #expect(try await first.value.text == "one")
        bench.time.advance(61)
        let stale = try await bench.cover(url)
        #expect(stale.text == "one" && stale.isStale)
        // Joins what runs behind, or finds what it made.
        #expect(try await bench.cover(url, .within(seconds: 1)).text == "two")
        #expect(try await bench.cover(url).isStale == false)
        #expect(bench.requests == 2 && bench.renderer.count == 2)
    }

    @Test func letsTheOldCoverStandInForAnOriginThatFails() async throws {
        let bench = try FreshBench { $0.retries = 0 }
        let url = try bench.server.script("a", .init(held, body: "one"), .init(status: 500))
        _ = try await bench.cover(url)
        bench.time.advance(61)
        for _ in 0..<100 {
            let old = try await bench.cover(url)
            #expect(old.text == "one" && old.isStale)
        }
        // Known to be down, it is left alone for a while.
        #expect(bench.requests == 2)
        bench.time.advance(31)
        #expect(try await bench.cover(url).isStale)
        #expect(bench.requests == 3)
        bench.time.advance(604_800)
        #expect(await bench.failure(url)?.reason == .http(500))
        #expect(bench.renderer.count == 1)
    }

    @Test func servesNothingOldThatIsGone() async throws {
        let bench = try FreshBench()
        let url = try bench.server.script("a", .init(held, body: "one"), .init(status: 410))
        _ = try await bench.cover(url)
        bench.time.advance(61)
        for _ in 0..<3 { #expect(await bench.failure(url)?.reason == .http(410)) }
        #expect(bench.requests == 2)
    }

    @Test func keepsNothingThatMustNotBeStored() async throws {
        let bench = try FreshBench()
        let url = try bench.server.script("a", .init(["Cache-Control": "no-store"], body: "one"))
        _ = try await bench.cover(url)
        #expect(try await bench.cover(url).origin == .made)
        #expect(bench.requests == 2)
    }

    @Test func asksAsTheCallerWishes() async throws {
        let bench = try FreshBench()
        let url = try bench.server.script("a", .init(held, body: "one"))
        #expect(await bench.failure(url, .offline)?.reason == .notKept)
        #expect(bench.requests == 0)
        _ = try await bench.cover(url)
        _ = try await bench.cover(url, .onceConfirmed)
        #expect(bench.requests == 2)
        bench.time.advance(50)
        _ = try await bench.cover(url, .within(seconds: 51))
        #expect(bench.requests == 2)
        _ = try await bench.cover(url, .within(seconds: 50))
        #expect(bench.requests == 3)
        bench.time.advance(1000)
        _ = try await bench.cover(url, .within(seconds: 2000))
        let old = try await bench.cover(url, .offline)
        #expect(old.text == "one" && old.isStale)
        #expect(bench.requests == 3 && bench.renderer.count == 1)
    }

    /// Mirrors are other ways to the same bytes, and come and go: the key is that of the first URL.
    @Test func keysACoverByTheFirstOfItsPlaces() async throws {
        let bench = try FreshBench()
        let dead = try bench.server.script("dead", .init(status: 404))
        let mirrors = try ["one", "two"].map { try bench.server.script($0, .init(held, body: $0)) }
        #expect(try await bench.cover(dead, mirrors: mirrors).text == "one")
        for others in [[], [mirrors[1]], [mirrors[1], mirrors[0]]] {
            #expect(try await bench.cover(dead, mirrors: others).text == "one")
        }
        #expect(bench.requests == 2)
        // The mirror by itself is a source of its own.
        #expect(try await bench.cover(mirrors[0]).origin == .made)
        #expect(bench.requests == 3)
    }

    @Test func confirmsWithTheMirrorThatACoverIsFrom() async throws {
        let bench = try FreshBench()
        let dead = try bench.server.script("dead", .init(status: 404))
        let mirror = try bench.server.script("mirror", .init(held, body: "one"))
        _ = try await bench.cover(dead, mirrors: [mirror])
        bench.time.advance(61)
        #expect(try await bench.cover(dead, mirrors: [mirror]).text == "one")
        // The dead one is remembered, the mirror confirms.
        #expect(bench.requests == 3 && bench.renderer.count == 1)
        #expect(await bench.failure(dead) == nil)
    }
}
