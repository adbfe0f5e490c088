import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// A better part of the engine makes its own results anew, and no others.
@Suite struct EngineVersionTests {
    private static let sources = ["gif", "webp", "apng", "jpeg", "mov"]
    private static let held = ["Cache-Control": "max-age=1000000", "ETag": "\"a\""]

    private static func better(_ part: EngineVersions.Part) -> EngineVersions {
        var engine = EngineVersions()
        engine[part] += 1
        return engine
    }

    /// Makes a still and a moving result of each kind of source, and meets one failure of the bytes, one of the origin.
    private func fill(_ bench: FreshBench) async throws -> [Request] {
        var requests: [Request] = []
        for name in Self.sources {
            let url = try bench.server.script(name, .init(Self.held, body: "\(name) picture"))
            requests.append(Request(url))
            requests.append(Request(url))
            requests[requests.count - 1].recipe.animated = .init()
        }
        requests.append(Request(try bench.server.script("bad", .init(Self.held, body: "bad"))))
        requests.append(Request(try bench.server.script("gone", .init(status: 404))))
        for request in requests { _ = try? await bench.mill.cover(for: request) }
        return requests
    }

    /// What each request is answered with: `made` where somebody was asked for it.
    private func made(_ requests: [Request], by bench: FreshBench) async -> [String] {
        var names: [String] = []
        for request in requests {
            let before = bench.requests
            _ = try? await bench.mill.cover(for: request)
            guard bench.requests > before else { continue }
            let name = request.url.split(separator: "/").last.map(String.init) ?? ""
            names.append(request.recipe.animated == nil ? name : name + "-animation")
        }
        return names
    }

    @Test(arguments: [
        (EngineVersions.Part.gif, ["gif", "gif-animation", "bad"]),
        (.webp, ["webp", "webp-animation", "bad"]), (.apng, ["apng", "apng-animation", "bad"]),
        (.still, ["jpeg", "jpeg-animation", "bad"]), (.video, ["mov", "mov-animation", "bad"]),
        (
            .animation,
            ["gif-animation", "webp-animation", "apng-animation", "jpeg-animation", "mov-animation", "bad"]
        ),
    ])
    func makesAnewWhatABetterPartGives(_ part: EngineVersions.Part, _ expected: [String]) async throws {
        let folder = try TemporaryFolder()
        let old = try FreshBench(cache: folder.path)
        let requests = try await fill(old)
        await old.mill.close()
        // The same engine in another process makes nothing anew.
        let same = try FreshBench(cache: folder.path, server: old.server)
        #expect(await made(requests, by: same).isEmpty)
        await same.mill.close()
        let new = try FreshBench(cache: folder.path, server: old.server, engine: Self.better(part))
        #expect(await made(requests, by: new) == expected)
        await new.mill.close()
        // What was made anew is kept, and the old engine takes it.
        for engine in [Self.better(part), .current] {
            let next = try FreshBench(cache: folder.path, server: old.server, engine: engine)
            #expect(await made(requests, by: next).isEmpty)
            await next.mill.close()
        }
    }

    @Test func purgesByClassAndVersion() async throws {
        let folder = try TemporaryFolder()
        let bench = try FreshBench(cache: folder.path)
        _ = try await fill(bench)
        await bench.mill.close()
        let disk = DiskCache(folder: folder.path, bytes: 1 << 30, meters: Meters())
        func count(_ name: String?, _ version: String? = nil) throws -> Int {
            var (filter, count) = (CacheFilter(), 0)
            (filter.engineClass, filter.engineVersion) = (name, version)
            try disk.list(filter, stop: Stop(after: .seconds(60))) { _ in count += 1 }
            return count
        }
        #expect(try count(nil) == 12 && count("gif") == 1 && count("gif-animation", "1.1") == 1)
        #expect(try count("refused", "1.1.1.1.1.1") == 1 && count("network") == 1 && count("gif", "2") == 0)
        var filter = CacheFilter()
        filter.engineClass = "gif"
        #expect(disk.purge(filter, stop: Stop(after: .seconds(60))) == 1)
        filter.engineClass = nil
        filter.engineVersion = "1.1"
        #expect(disk.purge(filter, stop: Stop(after: .seconds(60))) == 5)
        #expect(try count(nil) == 6)
    }

    @Test func takesWhatALaterVersionMadeAndNothingWithoutAClass() {
        func isOlder(_ name: String, _ version: String) -> Bool {
            EngineVersions.current.isOlder(
                CacheRecord(key: key(1), engineClass: name, engineVersion: version))
        }
        #expect(!isOlder("gif", "1") && !isOlder("gif", "7") && isOlder("gif", "0") && isOlder("gif", ""))
        #expect(!isOlder("jxl", "1") && isOlder("", "1"))
        #expect(!isOlder("gif-animation", "1.2") && isOlder("gif-animation", "2.0"))
        #expect(isOlder("gif-animation", "1"))
    }
}
