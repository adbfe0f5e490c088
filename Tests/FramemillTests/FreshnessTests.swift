import FramemillMedia
import Testing

@testable import Framemill

/// RFC 9111 with a clock in hand: everything was asked at 1000 and answered at 1002 unless it says otherwise.
@Suite struct FreshnessTests {
    static let date = "Sun, 06 Nov 1994 08:49:37 GMT"
    static let dateSeconds = 784_111_777

    func freshness(
        _ fields: [String: String], asked: Int = 1000, answered: Int = 1000,
        _ change: (inout FreshnessDefaults) -> Void = { _ in }
    ) -> Freshness? {
        var defaults = FreshnessDefaults()
        change(&defaults)
        return Freshness({ fields[$0] }, asked: asked, answered: answered, defaults: defaults)
    }

    @Test(arguments: [
        ("max-age=60", 60), ("MAX-AGE=60", 60), ("max-age=\"60\"", 60), ("public, max-age = 60", 60),
        ("max-age=60, max-age=5", 60), ("max-age=no", 0), ("max-age=-5", 0), ("max-age=60, no-cache", 0),
        ("no-cache=\"set-cookie, x\", max-age=60", 0), ("private, max-age=60", 60),
        ("s-maxage=9, max-age=60", 60),
        ("ext=\"a, max-age=1\", max-age=60", 60), ("max-age=99999999999999999999", 1 << 31),
    ])
    func readsTheLifetimeInCacheControl(text: String, seconds: Int) throws {
        let answer = try #require(freshness(["cache-control": text, "expires": Self.date]))
        #expect(answer.freshUntil == 1000 + seconds)
    }

    @Test func keepsNothingThatMustNotBeStored() {
        #expect(freshness(["cache-control": "no-store, max-age=60"]) == nil)
    }

    @Test func countsExpiresFromTheDateOfTheOrigin() throws {
        let now = Self.dateSeconds + 5
        let fields = ["date": Self.date, "expires": "Sunday, 06-Nov-94 08:59:37 GMT"]
        // Its clock says that the answer is 5 seconds old by now.
        #expect(try #require(freshness(fields, asked: now, answered: now)).freshUntil == now + 595)
        for text in ["0", "-1", "soon"] {
            #expect(try #require(freshness(["expires": text])).state(now: 1000) == .stale)
        }
    }

    @Test func addsWhatAnAnswerHasAgedOnItsWay() throws {
        let answer = try #require(
            freshness(["cache-control": "max-age=60", "age": "20"], asked: 1000, answered: 1003))
        #expect(answer.freshUntil == 1003 + 60 - 23)
        let old = try #require(freshness(["cache-control": "max-age=60, stale-if-error=100", "age": "90"]))
        #expect(old.state(now: 1000) == .stale)
        #expect(old.mayStandIn(now: 1069) && !old.mayStandIn(now: 1070))
    }

    @Test func isFreshUntilTheLastSecondOfItsLifetime() throws {
        let answer = try #require(freshness(["cache-control": "max-age=60, stale-while-revalidate=30"]))
        #expect(answer.state(now: 1059) == .fresh)
        #expect(answer.state(now: 1060) == .usableWhileAsking)
        #expect(answer.state(now: 1089) == .usableWhileAsking)
        #expect(answer.state(now: 1090) == .stale)
    }

    @Test func givesSilentOriginsTheDefaults() throws {
        let answer = try #require(freshness([:]) { $0.maxAge = 50 })
        #expect(answer.freshUntil == 1050 && !answer.hasValidator)
        #expect(answer.mayStandIn(now: 1049 + 604_800) && !answer.mayStandIn(now: 1050 + 604_800))
    }

    @Test(arguments: [(1000, 100), (100, 60), (100_000_000, 604_800), (-5, 60)])
    func guessesATenthOfTheTimeSinceTheLastChange(secondsBefore: Int, lifetime: Int) throws {
        let now = Self.dateSeconds + secondsBefore
        let answer = try #require(freshness(["last-modified": Self.date], asked: now, answered: now))
        #expect(answer.freshUntil == now + lifetime)
        #expect(answer.lastModified == Self.date)
    }

    @Test func asksAlwaysWhereAnyHeaderMayDecide() throws {
        let answer = try #require(freshness(["vary": "accept, *", "cache-control": "max-age=60"]))
        #expect(answer.state(now: 1000) == .stale)
    }

    @Test func letsNothingStandInThatMustBeAskedFor() throws {
        for text in ["must-revalidate, max-age=60", "no-cache"] {
            let answer = try #require(freshness(["cache-control": text]))
            #expect(!answer.mayStandIn(now: 1060) && answer.state(now: 1060) == .stale)
        }
    }

    @Test func trustsNoAnswerFromTheFuture() throws {
        let answer = try #require(freshness(["cache-control": "max-age=60"]))
        #expect(answer.state(now: 990) == .fresh)
        #expect(answer.state(now: 900) == .stale)
    }

    @Test func renewsItselfByWhatANotModifiedSays() throws {
        let old = try #require(
            freshness(["cache-control": "max-age=60", "etag": "\"a\"", "last-modified": Self.date]))
        func renewed(_ fields: [String: String]) -> Freshness? {
            old.renewed({ fields[$0] }, asked: 2000, answered: 2000, defaults: FreshnessDefaults())
        }
        let silent = try #require(renewed([:]))
        #expect(silent.freshUntil == 2060 && silent.checkedAt == 2000)
        #expect(silent.entityTag == "\"a\"" && silent.lastModified == Self.date)
        let told = try #require(renewed(["cache-control": "max-age=5", "etag": "\"b\""]))
        #expect(told.freshUntil == 2005 && told.entityTag == "\"a\"")
        #expect(renewed(["cache-control": "no-store"]) == nil)
    }
}
