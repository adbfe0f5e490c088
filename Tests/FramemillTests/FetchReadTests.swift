import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

@Suite struct FetchReadTests {
    @Test func asksForARangeFirstAndNeverForAHead() async throws {
        let bench = try FetchBench()
        let reader = try await bench.open("/ranges/1000000/signed.mp4?sig=x")
        #expect(reader.byteCount == 1_000_000)
        #expect(try await bench.read(reader, 0, 1000) == pattern(0, 1000))
        #expect(bench.server.log.count == 1)
        #expect(bench.server.log[0].hasPrefix("GET /ranges/1000000/signed.mp4?sig=x HTTP/1.1 bytes=0-65535"))
        #expect(reader.cost == (65536, 1))
    }

    @Test func readsTheTailWithoutTheMiddle() async throws {
        let bench = try FetchBench()
        let reader = try await bench.open("/ranges/20000000/end.mp4")
        #expect(try await bench.read(reader, 19_990_000, 99_999) == pattern(19_990_000, 10_000))
        #expect(try await bench.read(reader, 100, 50) == pattern(100, 50))
        #expect(try await bench.read(reader, 20_000_000, 50) == [])
        #expect(reader.cost == (75_536, 2))
    }

    @Test func readsAheadInGrowingStepsOverOneConnection() async throws {
        let bench = try FetchBench()
        let reader = try await bench.open("/ranges/3000000/long.mp4")
        #expect(try await bench.read(reader, 0, 3_000_000) == pattern(0, 3_000_000))
        #expect(reader.cost.bytes == 3_000_000)
        #expect(reader.cost.requests < 10)
        #expect(bench.fetcher.meters.count("fetch.connections") == 1)
    }

    @Test func fetchesAnExpectedRangeInOneRequest() async throws {
        let bench = try FetchBench()
        let reader = try await bench.open("/ranges/20000000/a.mp4")
        reader.expect(60_000..<5_060_000)
        #expect(try await bench.read(reader, 60_000, 5_000_000) == pattern(60_000, 5_000_000))
        #expect(reader.cost == (5_060_000, 2))
        #expect(bench.server.log[1].contains("bytes=65536-5059999 \"v1\""))
    }

    @Test func goesOnWhereAConnectionBroke() async throws {
        let bench = try FetchBench()
        let reader = try await bench.open("/cut/400000/a.mp4")
        #expect(try await bench.read(reader, 0, 400_000) == pattern(0, 400_000))
    }

    @Test(arguments: ["/brief/95000/a.mp4", "/untold/95000/a.mp4"])
    func asksOnWhereAServerGivesLess(_ path: String) async throws {
        let bench = try FetchBench()
        let reader = try await bench.open(path)
        #expect(try await bench.read(reader, 0, 200_000) == pattern(0, 95_000))
        #expect(reader.byteCount == 95_000)
    }

    @Test(arguments: ["/toend/5000000/a.mp4", "/beyond/5000000/a.mp4", "/held/5000000/a.mp4"])
    func readsNoFurtherThanItAskedWhereAServerGivesMore(_ path: String) async throws {
        let bench = try FetchBench()
        let reader = try await bench.open(path)
        #expect(reader.byteCount == 5_000_000)
        #expect(try await bench.read(reader, 0, 1000) == pattern(0, 1000))
        #expect(try await bench.read(reader, 4_990_000, 99_999) == pattern(4_990_000, 10_000))
        #expect(reader.cost.requests == 2)
        #expect(reader.cost.bytes < 500_000)
    }

    /// The largest numbers there are: sums of them would end the process.
    @Test func refusesLengthsThatNothingHas() async throws {
        let bench = try FetchBench()
        #expect(await bench.failure("/vast/0/a.mp4")?.reason == .badResponse)
        let reader = try await bench.open("/endlesslength/0/a.mp4")
        #expect(reader.byteCount == nil)
        #expect(try await bench.read(reader, 1000, 1000) == pattern(1000, 1000))
    }

    @Test(arguments: ["/ranges/1000000/a.mp4", "/whole/1000000/a.mp4", "/untold/1000000/a.mp4"])
    func readsNothingAtTheLargestOffsets(_ path: String) async throws {
        let bench = try FetchBench()
        let reader = try await bench.open(path)
        for offset: Int64 in [.max, .max - 1, .max - 100_000] {
            #expect(try await bench.read(reader, offset, 10) == [])
            reader.expect(offset..<Int64.max)
        }
        reader.expect(0..<Int64.max)
    }

    @Test func asksNotForEverWhereNothingComes() async throws {
        let bench = try FetchBench()
        let reader = try await bench.open("/hollow/1000000/a.mp4")
        #expect(await bench.failure(reader, 500_000, 10)?.reason == .badResponse)
        #expect(bench.server.log.count == 2)
    }

    /// B39 (b) and (c): a 200 to a ranged GET is the whole from its start, never the range.
    @Test(arguments: ["/whole/5000000/a.mp4", "/chunked/5000000/a.mp4"])
    func spoolsWhereThereAreNoRanges(_ path: String) async throws {
        let bench = try FetchBench()
        let reader = try await bench.open(path)
        #expect(try await bench.read(reader, 100, 1000) == pattern(100, 1000))
        #expect(try await bench.read(reader, 4_990_000, 99_999) == pattern(4_990_000, 10_000))
        #expect(try await bench.read(reader, 200_000, 1000) == pattern(200_000, 1000))
        #expect(reader.byteCount == 5_000_000)
        #expect(reader.cost == (5_000_000, 1))
        #expect(bench.server.log.count == 1)
    }

    @Test func namesBothNumbersWhereTheSpoolIsTooSmall() async throws {
        let bench = try FetchBench()
        var limits = Limits()
        limits.sourceBytes = 1_000_000
        let reader = try await bench.open("/whole/5000000/a.mp4", limits: limits)
        #expect(try await bench.read(reader, 900_000, 100_000) == pattern(900_000, 100_000))
        let failure = await bench.failure(reader, 4_000_000, 10)
        #expect(failure?.reason == .noRange)
        #expect(failure?.message.contains("5000000") == true)
        #expect(failure?.message.contains("1000000 (Limits.sourceBytes)") == true)
        #expect(reader.cost.bytes == 1_000_000)
    }

    @Test func countsEveryRequestAgainstOneBudget() async throws {
        let bench = try FetchBench()
        var limits = Limits()
        limits.sourceBytes = 300_000
        let reader = try await bench.open("/ranges/20000000/a.mp4", limits: limits)
        let failure = await bench.failure(reader, 0, 400_000)
        #expect(failure?.reason == .tooLarge)
        #expect(reader.cost.bytes == 300_000)
        reader.expect(0..<500_000)
        #expect(await bench.failure(reader, 310_000, 10)?.reason == .tooLarge)
    }

    @Test func takesNoBytesOfAnotherVersion() async throws {
        let bench = try FetchBench()
        let reader = try await bench.open("/changed/1000000/a.mp4")
        #expect(await bench.failure(reader, 500_000, 10)?.reason == .sourceChanged)
    }

    @Test(arguments: [
        ("/ranges/0/a", Failure.Reason.empty), ("/whole/0/a", .empty), ("/chunked/0/a", .empty),
        ("/shifted/1000/a", .badResponse), ("/packed/1000/a", .badResponse), ("/status/404/a", .http(404)),
        ("/status/403/a", .http(403)), ("/status/500/a", .http(500)), ("/status/304/a", .badResponse),
        ("/nothing/0/a", .badResponse), ("/old/1000/a", .badResponse), ("/upgrade/1000/a", .badResponse),
        ("/longheader/500000/a", .badResponse), ("/manyheaders/1000/a", .badResponse),
    ])
    func saysWhatAnAnswerMeans(_ path: String, _ reason: Failure.Reason) async throws {
        let bench = try FetchBench()
        let failure = await bench.failure(path)
        #expect(failure?.reason == reason, "\(String(describing: failure))")
    }

    @Test(arguments: [429, 503])
    func keepsHowLongToWait(_ status: Int) async throws {
        let bench = try FetchBench()
        #expect(await bench.failure("/status/\(status)/a")?.retryAfterSeconds == 7)
        #expect(await bench.failure("/status/404/a")?.retryAfterSeconds == nil)
    }

    @Test(
        arguments: [
            ("120", 120), (" 7 ", 7), ("Sun, 06 Nov 1994 08:49:37 GMT", 37),
            ("Sunday, 06-Nov-94 08:50:00 GMT", 60),
            ("Sun Nov  6 08:49:00 1994", 0), ("Sat, 05 Nov 1994 00:00:00 GMT", 0), ("-5", nil), ("soon", nil),
            ("99999999999999999999999", nil),
        ] as [(String, Int?)])
    func readsBothFormsOfRetryAfter(_ text: String, _ seconds: Int?) {
        var head = ResponseHead()
        head.take("HTTP/1.1 503 Busy\r\n")
        head.take("Retry-After: \(text)\r\n")
        // 1994-11-06 08:49:00.
        #expect(head.retryAfterSeconds(now: 784_111_740) == seconds)
    }

    /// B40: the request line, byte for byte, and the same clip under each spelling.
    @Test(arguments: [
        ("a b.mp4", "a%20b.mp4", "a b.mp4"), ("100%.mp4", "100%25.mp4", "100%.mp4"),
        ("a+b.mp4", "a+b.mp4", "a+b.mp4"),
        ("3js%205.mp4", "3js%25205.mp4", "3js%25205.mp4"),
        ("片 🎬.mp4", "%e7%89%87%20%F0%9F%8E%AC.mp4", "片 🎬.mp4"),
    ])
    func sendsNamesAsGiven(_ name: String, _ encoded: String, _ raw: String) async throws {
        let folder = try TemporaryFolder()
        try folder.write(pattern(0, 999), to: name)
        let bench = try FetchBench(root: folder.path)
        for spelling in [encoded, raw] {
            let reader = try await bench.open("/file/" + spelling)
            #expect(try await bench.read(reader, 0, 999) == pattern(0, 999))
        }
        #expect(bench.server.log[0].hasPrefix("GET /file/\(encoded) HTTP/1.1"))
    }

    @Test func followsRedirectsAndStaysThere() async throws {
        let bench = try FetchBench()
        let reader = try await bench.open("/hop/3/ranges/500000/a.mp4")
        #expect(try await bench.read(reader, 400_000, 10) == pattern(400_000, 10))
        #expect(bench.server.log.count == 5)
        #expect(bench.server.log[4].hasPrefix("GET /ranges/500000/a.mp4"))
        #expect(bench.fetcher.meters.count("fetch.connections") == 1)
    }

    @Test func stopsGoingInCircles() async throws {
        let bench = try FetchBench()
        #expect(await bench.failure("/loop/0/")?.reason == .tooManyRedirects)
        #expect(bench.server.log.count == 9)
    }

    @Test func keepsToTheConnectionsPerHost() async throws {
        let bench = try FetchBench { $0.perHost = 2 }
        try await withThrowingTaskGroup { group in
            for index in 0..<40 {
                group.addTask {
                    let reader = try await bench.open("/ranges/3000/\(index)")
                    #expect(try await bench.read(reader, 0, 3000) == pattern(0, 3000))
                }
            }
            try await group.waitForAll()
        }
        #expect(bench.fetcher.meters.count("fetch.connections") <= 2)
        #expect(bench.fetcher.meters.count("fetch.requests") == 40)
    }
}
