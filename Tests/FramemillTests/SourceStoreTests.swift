import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// A second size of the same clip costs no network, and nothing of another version is ever mixed in.
@Suite struct SourceStoreTests {
    private let folder: TemporaryFolder
    private let held = ["ETag": "\"a\"", "Cache-Control": "max-age=60"]

    init() throws { folder = try TemporaryFolder() }

    private func bench(
        _ server: FaultServer? = nil, _ change: (inout Configuration) -> Void = { _ in }
    ) throws -> FreshBench {
        try FreshBench(cache: folder.path, server: server) {
            $0.sourceCacheBytes = 64 << 20
            change(&$0)
        }
    }

    private func cover(
        _ url: String, side: Int, _ bench: FreshBench, _ reuse: Reuse = .whileFresh
    ) async throws(Failure) -> Artifact {
        var request = Request(url)
        request.recipe.box = .longestSide(side)
        request.reuse = reuse
        return try await bench.mill.cover(for: request)
    }

    @Test func makesAnotherSizeWithoutARequest() async throws {
        let first = try bench()
        let url = try first.server.script("a", .init(held, body: "one"))
        #expect(try await cover(url, side: 100, first).text == "one")
        #expect(try await cover(url, side: 200, first).origin == .made)
        #expect(first.requests == 1 && first.renderer.count == 2)
        await first.mill.close()
        // In another process as well.
        let second = try bench(first.server)
        #expect(try await cover(url, side: 300, second).text == "one")
        #expect(first.requests == 1 && second.mill.meters["source_hit"] == 1)
        #expect(second.mill.meters["requests", default: 0] == 0)
        await second.mill.close()
    }

    @Test func keepsNothingByDefault() async throws {
        let bench = try FreshBench(cache: folder.path)
        let url = try bench.server.script("a", .init(held, body: "one"))
        for side in [100, 200] { _ = try await cover(url, side: side, bench) }
        #expect(bench.requests == 2)
        await bench.mill.close()
        #expect(!folder.files.contains { $0.hasPrefix("source") })
    }

    @Test func isConfirmedPastItsTimeAndDroppedOnceChanged() async throws {
        let bench = try bench()
        let url = try bench.server.script("a", .init(held, body: "one"))
        _ = try await cover(url, side: 100, bench)
        bench.time.advance(61)
        #expect(try await cover(url, side: 200, bench).text == "one")
        #expect(bench.requests == 2 && bench.server.log.last?.contains("if-none-match=\"a\"") == true)
        // Which makes them fresh again.
        bench.time.advance(59)
        _ = try await cover(url, side: 300, bench)
        #expect(bench.requests == 2)
        try bench.server.script("a", .init(["ETag": "\"b\"", "Cache-Control": "max-age=60"], body: "two"))
        bench.time.advance(61)
        #expect(try await cover(url, side: 400, bench).text == "two")
        #expect(try await cover(url, side: 500, bench).text == "two")
        #expect(bench.requests == 3)
        // A caller who wants to be sure asks.
        _ = try await cover(url, side: 600, bench, .onceConfirmed)
        #expect(bench.requests == 4)
        await bench.mill.close()
    }

    @Test(arguments: [
        ["Cache-Control": "max-age=60"], ["ETag": "W/\"a\"", "Cache-Control": "max-age=60"],
        ["ETag": "\"a\"", "Cache-Control": "no-store"],
    ])
    func keepsOnlyWhatABindingVersionIsKnownOf(_ headers: [String: String]) async throws {
        let bench = try bench()
        let url = try bench.server.script("a", .init(headers, body: "one"))
        for side in [100, 200] { #expect(try await cover(url, side: side, bench).text == "one") }
        #expect(bench.requests == 2 && bench.mill.meters["source_kept"] == nil)
        await bench.mill.close()
    }

    @Test func isAsFarAsItCameWhereAServerKnowsNoRanges() async throws {
        let bench = try bench()
        let headers = ["Last-Modified": "Sun, 06 Nov 1994 08:49:37 GMT", "Cache-Control": "max-age=60"]
        let url = try bench.server.script("a", .init(headers, body: "one"))
        for side in [100, 200] { #expect(try await cover(url, side: side, bench).text == "one") }
        #expect(bench.requests == 1)
        await bench.mill.close()
    }

    /// Flipped, cut or emptied: a miss.
    @Test func servesNothingThatIsDamaged() async throws {
        for damage in 0..<3 {
            let folder = try TemporaryFolder()
            let first = try FreshBench(cache: folder.path) { $0.sourceCacheBytes = 64 << 20 }
            let url = first.server.url("/ranges/30000/a")
            _ = try await cover(url, side: 100, first)
            await first.mill.close()
            let name = try #require(folder.files.first { $0.hasPrefix("source/") && $0.count > 64 })
            var bytes = try folder.read(name)
            switch damage {
            case 0: bytes[bytes.count - 100] ^= 1
            case 1: bytes.removeLast(10_000)
            default: bytes = []
            }
            try folder.write(bytes, to: name)
            let second = try FreshBench(cache: folder.path, server: first.server) {
                $0.sourceCacheBytes = 64 << 20
            }
            #expect(try await cover(url, side: 200, second).bytes == pattern(0, 100))
            #expect(first.requests == 2)
            await second.mill.close()
        }
    }

    @Test func readsBackWhatItWroteAndNothingElse() {
        let freshness = Freshness(
            entityTag: "\"a\"", lastModified: nil, checkedAt: 5, freshUntil: 6, usableUntil: 7,
            standsInUntil: 8)
        let blocks = SourceBlocks(
            total: 100, version: "\"a\"", validator: "\"a\"", freshness: freshness,
            pieces: [.init(offset: 0, bytes: [1, 2, 3]), .init(offset: 90, bytes: Array(0..<10))])
        let bytes = blocks.encoded
        #expect(SourceBlocks(decoding: bytes) == blocks)
        for count in bytes.indices { #expect(SourceBlocks(decoding: Array(bytes[..<count])) == nil) }
        #expect(SourceBlocks(decoding: bytes + [0]) == nil)
        var late = blocks
        late.pieces[1].offset = 91
        #expect(SourceBlocks(decoding: late.encoded) == nil)
    }

    /// A whole download goes on from the first bytes; where the source has changed since, it starts anew.
    @Test(arguments: [false, true]) func resumesAWholeDownload(hasChanged: Bool) async throws {
        let bench = try bench()
        let path = hasChanged ? "/changed/200000/a" : "/ranges/200000/a"
        let url = bench.server.url(path)
        _ = try await cover(url, side: 100, bench)
        let store = try #require(SourceStore(bench.configuration, .nothing, Meters()))
        let blocks = try #require(await store.blocks(of: url))
        #expect(blocks.pieces.reduce(0) { $0 + $1.bytes.count } == 65536 && blocks.total == 200_000)
        let fetch = try FetchBench(server: bench.server)
        let opened = try await fetch.fetcher.open(
            url, blocks: blocks, trusts: true, limits: Limits(), stop: Stop(after: .seconds(60)),
            permits: fetch.permits)
        let reader = try #require(opened.reader)
        reader.expect(0..<200_000)
        if hasChanged {
            #expect(await fetch.failure(reader, 0, 200_000)?.reason == .sourceChanged)
        } else {
            #expect(try await fetch.read(reader, 0, 200_000) == pattern(0, 200_000))
            #expect(reader.cost.bytes == 200_000 - 65536)
            #expect(bench.server.log.last?.contains("bytes=65536-") == true)
        }
        store.close()
        await bench.mill.close()
    }

    @Test func startsAnewByItselfWhereTheSourceHasChanged() async throws {
        let bench = try bench { $0.retries = 0 }
        let url = bench.server.url("/changed/200000/a")
        _ = try await cover(url, side: 100, bench)
        bench.renderer.readsUpTo(200_000)
        #expect(try await cover(url, side: 200, bench).bytes == pattern(0, 200_000))
        #expect(bench.mill.meters["source_dropped"] == 1)
        await bench.mill.close()
    }

    @Test func staysWithinItsBoundForSeveralProcesses() async throws {
        let limit = 2 << 20
        let first = try bench { $0.sourceCacheBytes = Int64(limit) }
        let second = try bench(first.server) { $0.sourceCacheBytes = Int64(limit) }
        for number in 0..<60 {
            let bench = number % 2 == 0 ? first : second
            _ = try await cover(first.server.url("/ranges/60000/\(number)"), side: 100, bench)
            let held = folder.files.filter { $0.hasPrefix("source/") }.reduce(0) { total, name in
                total + ((try? folder.read(name).count) ?? 0)
            }
            #expect(held <= limit + 70_000)
        }
        for bench in [first, second] { await bench.mill.close() }
        #expect(first.requests == 60)
    }
}
