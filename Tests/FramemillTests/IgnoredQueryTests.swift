import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// Links that differ in their signature alone are one source to the cache, where that is asked for.
@Suite struct IgnoredQueryTests {
    private func reduced(_ url: String, _ names: [String] = [], _ presets: [QueryPreset] = []) throws
        -> String
    {
        Request(url).identity(try IgnoredQuery(names, presets))
    }

    @Test func leavesEveryParameterWhereNothingIsIgnored() throws {
        let url = "http://h/v?X-Amz-Signature=1&utm_source=a&sig=2"
        #expect(try reduced(url) == url)
        #expect(Configuration().ignoredQuery.isEmpty && Configuration().ignoredQueryPresets.isEmpty)
    }

    @Test(arguments: [
        ("http://h/v?a=1&sig=2&b=3", "http://h/v?a=1&b=3"), ("http://h/v?sig=2", "http://h/v"),
        ("http://h/v?sig", "http://h/v"), ("http://h/v?sig=1&sig=2&a", "http://h/v?a"),
        // In its case, whole, and only in the query.
        ("http://h/v?Sig=2", "http://h/v?Sig=2"), ("http://h/v?sign=2", "http://h/v?sign=2"),
        ("http://h/sig=1/v?a=sig", "http://h/sig=1/v?a=sig"), ("http://h/v?a=1&tag_x=2", "http://h/v?a=1"),
        ("http://h/v?b=2&a=1", "http://h/v?b=2&a=1"), ("/folder/v?sig=1", "/folder/v?sig=1"),
    ])
    func dropsWhatIsNamed(_ url: String, _ expected: String) throws {
        #expect(try reduced(url, ["sig", "tag_*"]) == expected)
    }

    @Test(arguments: [
        (
            QueryPreset.aws,
            "X-Amz-Algorithm=A&X-Amz-Credential=K%2F2026&X-Amz-Date=2026&X-Amz-Expires=9&X-Amz-SignedHeaders=host"
                + "&X-Amz-Security-Token=t&X-Amz-Signature=ab&versionId=7", "versionId=7"
        ),
        (.aws, "AWSAccessKeyId=K&Expires=1&Signature=s&partNumber=2", "partNumber=2"),
        (.google, "X-Goog-Algorithm=A&X-Goog-Date=1&X-Goog-Signature=s&generation=7", "generation=7"),
        (.google, "GoogleAccessId=a&Expires=1&Signature=s&id=1", "id=1"),
        (
            .azure, "sv=2022-11-02&ss=b&srt=o&sp=r&st=1&se=2&spr=https&sr=b&sig=x%3D&snapshot=7",
            "snapshot=7"
        ),
        (.cloudfront, "id=5&Expires=1&Signature=s~_&Key-Pair-Id=K", "id=5"),
        (.cloudfront, "Policy=p&id=5&Signature=s&Key-Pair-Id=K", "id=5"),
        (.campaign, "v=1&utm_source=a&utm_medium=b&gclid=c&fbclid=d", "v=1"),
    ])
    func knowsTheParametersOfSignedLinks(_ preset: QueryPreset, _ query: String, _ rest: String) throws {
        #expect(try reduced("https://h/v?\(query)", [], [preset]) == "https://h/v?\(rest)")
        #expect(try reduced("https://h/v?\(query)") == "https://h/v?\(query)")
    }

    @Test(arguments: ["", "*", "a=b", "a&b", "a*b", "?a", "a b"])
    func refusesWhatIsNoName(_ name: String) {
        #expect(throws: Failure.self) { try IgnoredQuery([name]) }
    }

    @Test func answersANewLinkToTheSameBytesAndFetchesWholeLinks() async throws {
        let bench = try FreshBench { $0.ignoredQuery = ["sig"] }
        let url = try bench.server.script("a?id=1&sig=1", .init(["Cache-Control": "max-age=60"], body: "one"))
        let next = url.replacing("sig=1", with: "sig=2")
        let other = try bench.server.script("a?id=2&sig=1", .init(body: "two"))
        #expect(try await bench.cover(url).text == "one")
        #expect(try await bench.cover(next).text == "one")
        #expect(bench.requests == 1)
        #expect(bench.server.log.last?.hasPrefix("GET /origin/a?id=1&sig=1 ") == true)
        #expect(try await bench.cover(other).text == "two")
        // Past its time the new link is asked, not the old one.
        try bench.server.script("a?id=1&sig=2", .init(body: "three"))
        bench.time.advance(61)
        #expect(try await bench.cover(next).text == "three")
        #expect(bench.server.log.last?.hasPrefix("GET /origin/a?id=1&sig=2 ") == true)
    }

    @Test func tellsLinksApartByDefault() async throws {
        let bench = try FreshBench()
        for number in 1...2 {
            let url = try bench.server.script("a?sig=\(number)", .init(body: "\(number)"))
            #expect(try await bench.cover(url).text == "\(number)")
        }
        #expect(bench.requests == 2)
    }

    /// A signature that has run out says nothing of the next one.
    @Test func remembersARefusalForItsOwnLinkOnly() async throws {
        let bench = try FreshBench {
            $0.ignoredQuery = ["sig"]
            $0.retries = 0
        }
        let old = try bench.server.script("a?sig=1", .init(status: 403))
        let new = try bench.server.script("a?sig=2", .init(body: "one"))
        #expect(await bench.failure(old)?.reason == .http(403))
        #expect(await bench.failure(old)?.memory != nil)
        #expect(bench.requests == 1)
        #expect(try await bench.cover(new).text == "one")
        // And now the old link is answered too.
        #expect(try await bench.cover(old).text == "one")
        #expect(bench.requests == 2)
    }

    @Test func asksByItsOwnLinkWhereTheOneItWaitedForIsRefused() async throws {
        let bench = try FreshBench {
            $0.ignoredQuery = ["sig"]
            $0.retries = 0
        }
        try bench.server.script("a?sig=1", .init(status: 403))
        try bench.server.script("a?sig=2", .init(body: "one"))
        let (old, new) = (
            bench.server.url("/gated/origin/a?sig=1"), bench.server.url("/gated/origin/a?sig=2")
        )
        let first = Task { await bench.failure(old) }
        await bench.server.log(with: "GET /gated/origin/a?sig=1")
        let second = Task { try await bench.cover(new).text }
        while try await bench.mill.waiting(for: Request(new)) < 2 { await Task.yield() }
        bench.server.openGate()
        #expect(await first.value?.reason == .http(403))
        #expect(try await second.value == "one")
        #expect(bench.requests == 2)
    }
}
