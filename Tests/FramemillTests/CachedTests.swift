import Foundation
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// What memory answers at once, and what it leaves to the call that may ask.
@Suite struct CachedTests {
    let held = ["ETag": "\"a\"", "Cache-Control": "max-age=60"]

    @Test func givesAtOnceWhatIsFresh() async throws {
        let bench = try FreshBench()
        let request = Request(try bench.server.script("a", .init(held, body: "one")))
        #expect(bench.mill.cached(request) == nil)
        _ = try await bench.mill.cover(for: request)
        let cached = try #require(bench.mill.cached(request))
        #expect(cached.text == "one" && cached.origin == .memory && !cached.isStale)
        #expect(bench.mill.meters["hit_memory"] == 1)
        _ = try await bench.mill.cover(for: request)
        #expect(bench.mill.meters["hit_memory"] == 2)
        #expect(bench.requests == 1)
    }

    @Test func givesNothingThatTheSourceMustBeAskedFor() async throws {
        let bench = try FreshBench()
        var request = Request(try bench.server.script("a", .init(held, body: "one")))
        _ = try await bench.mill.cover(for: request)
        request.reuse = .onceConfirmed
        #expect(bench.mill.cached(request) == nil)
        request.reuse = .within(seconds: 30)
        bench.time.advance(29)
        #expect(bench.mill.cached(request) != nil)
        bench.time.advance(2)
        #expect(bench.mill.cached(request) == nil)
        request.reuse = .whileFresh
        #expect(bench.mill.cached(request) != nil)
        bench.time.advance(30)
        #expect(bench.mill.cached(request) == nil)
        request.recipe.box = .longestSide(100)
        #expect(bench.mill.cached(request) == nil)
    }

    @Test func findsASourceByEverySpelling() async throws {
        let bench = try FreshBench()
        let url = try bench.server.script("a", .init(held, body: "one"))
        _ = try await bench.mill.cover(for: Request(url))
        for spelling in [url + "#t=1", url.replacingOccurrences(of: "http:", with: "HTTP:"), " " + url] {
            #expect(bench.mill.cached(Request(spelling))?.text == "one", "\(spelling)")
        }
        #expect(bench.mill.cached(Request("http://")) == nil)
        #expect(bench.mill.cached(Request("")) == nil)
    }

    @Test func seesThatAFileWasOverwritten() async throws {
        let folder = try TemporaryFolder()
        let bench = try FreshBench { $0.allowFiles = true }
        let path = folder.file("a")
        try Data("one".utf8).write(to: URL(fileURLWithPath: path))
        _ = try await bench.mill.cover(for: Request(path))
        #expect(bench.mill.cached(Request(path))?.text == "one")
        try Data("three".utf8).write(to: URL(fileURLWithPath: path))
        #expect(bench.mill.cached(Request(path)) == nil)
        let strict = try FreshBench()
        #expect(strict.mill.cached(Request(path)) == nil)
    }

    @Test func givesNothingOnceClosed() async throws {
        let bench = try FreshBench()
        let request = Request(try bench.server.script("a", .init(held, body: "one")))
        _ = try await bench.mill.cover(for: request)
        await bench.mill.close()
        #expect(bench.mill.cached(request) == nil)
    }

    @Test func sharesBytesAndChangesCopiesAlone() {
        let original = picture(1)
        var copy = original
        copy.facts.byteCount = 7
        copy.bytes[0] = 99
        copy.isStale = true
        #expect(copy.facts.byteCount == 7 && copy.bytes[0] == 99 && copy.facts.container == "test-1")
        #expect(original.bytes == picture(1).bytes && original.facts == picture(1).facts && !original.isStale)
    }
}
