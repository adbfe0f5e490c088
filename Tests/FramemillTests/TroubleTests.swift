import FramemillMedia
import Testing

@testable import Framemill

/// B08: how long each failure is remembered, and what is tried again at once.
@Suite struct TroubleTests {
    func trouble(
        _ reason: Failure.Reason, told: Int? = nil, after earlier: Trouble? = nil,
        freshness: Freshness? = nil,
        chance: Double = 0.5
    ) -> Trouble? {
        Trouble(
            Failure(reason, .fetch, "no", retryAfterSeconds: told), after: earlier, freshness: freshness,
            limits: "a", now: 1000, chance: chance)
    }

    @Test(
        arguments: [
            (Failure.Reason.http(404), nil, 86_400), (.http(410), nil, 604_800),
            (.tooManyRedirects, nil, 86_400),
            (.http(403), nil, 600), (.http(429), 7, 7), (.http(503), 100, 100), (.http(503), nil, 30),
            (.http(429), 9_999_999, 86_400), (.timeout, nil, 30), (.dns, nil, 30), (.http(500), nil, 30),
        ] as [(Failure.Reason, Int?, Int)])
    func remembersAnOriginForAsLongAsItsFailureLasts(reason: Failure.Reason, told: Int?, seconds: Int) throws
    {
        let trouble = try #require(self.trouble(reason, told: told, chance: told == nil ? 0.5 : 0))
        #expect(trouble.until == 1000 + seconds)
        #expect(trouble.holds(nil, now: 999 + seconds, limits: "a"))
        #expect(!trouble.holds(nil, now: 1000 + seconds, limits: "a"))
        #expect(!trouble.holds(nil, now: 1001, limits: "b"))
    }

    @Test func asksABotBlockLessAndLess() throws {
        var last = trouble(.http(403))
        var times: [Int] = []
        for _ in 0..<3 {
            times.append(try #require(last?.until) - 1000)
            last = trouble(.http(403), after: last)
        }
        #expect(times == [600, 3600, 86_400])
        #expect(last?.tries == 4)
    }

    @Test func spreadsWhatFailedTogetherButNeverBeforeItsTime() throws {
        for reason in [Failure.Reason.http(404), .http(403), .timeout] {
            let early = try #require(self.trouble(reason, chance: 0)?.until)
            let late = try #require(self.trouble(reason, chance: 1)?.until)
            #expect(late > early)
        }
        #expect(try #require(self.trouble(.http(429), told: 60, chance: 1)?.until) > 1060)
    }

    @Test func remembersWhatTheBytesAreForAsLongAsTheyHold() throws {
        #expect(trouble(.corrupt) == nil)
        let fields = ["cache-control": "max-age=60", "etag": "\"a\""]
        let freshness = Freshness({ fields[$0] }, asked: 1000, answered: 1000, defaults: FreshnessDefaults())
        let trouble = try #require(self.trouble(.corrupt, freshness: freshness))
        #expect(trouble.until == nil)
        #expect(trouble.holds(freshness, now: 1059, limits: "a"))
        #expect(!trouble.holds(freshness, now: 1060, limits: "a"))
    }

    @Test func remembersNothingThatIsNotTheSources() {
        for reason: Failure.Reason in [
            .cancelled, .closed, .outOfMemory, .internalError, .badURL, .blockedAddress,
        ] {
            #expect(trouble(reason) == nil)
        }
    }

    @Test func tellsThatItIsRemembered() throws {
        let told = try #require(self.trouble(.http(503), told: 60, chance: 0)).told(now: 1010)
        #expect(told.reason == .http(503) && told.retryAfterSeconds == 50)
        #expect(told.memory == Failure.Memory(ageSeconds: 10, leftSeconds: 50, tries: 1))
        #expect("\(told)" == "http_503: no; remembered from 10 s ago, failed 1x, asked again in 50 s")
    }

    @Test(
        arguments: [
            (Failure.Reason.http(404), nil, 1, nil), (.corrupt, nil, 1, nil), (.cancelled, nil, 1, nil),
            (.http(403), nil, 1, 4), (.http(403), nil, 2, nil), (.tls, nil, 2, nil),
            (.http(500), nil, 1, 0.4),
            (.dns, nil, 3, 1.6), (.dns, nil, 4, nil), (.http(429), 3, 1, 3.25), (.sourceChanged, nil, 1, 0),
        ] as [(Failure.Reason, Int?, Int, Double?)])
    func triesAgainOnlyWhatMayPass(reason: Failure.Reason, told: Int?, tries: Int, wait: Double?) {
        let failure = Failure(reason, .fetch, "no", retryAfterSeconds: told)
        #expect(Retry.wait(after: failure, tries: tries, most: 3, chance: 0.5) == wait)
    }
}
