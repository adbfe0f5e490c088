import FramemillMedia
import Testing

@testable import FramemillQueue

@Suite struct HostsTests {
    private let hand = HandClock()
    private func failure(_ reason: Failure.Reason, after seconds: Int? = nil) -> Failure {
        Failure(reason, .fetch, "", retryAfterSeconds: seconds)
    }

    @Test func leavesAFailingHostAloneAndSendsOneToSee() {
        let hosts = Hosts(width: 2, clock: hand.clock)
        for _ in 0..<5 {
            #expect(hosts.enter("h") == .go)
            hosts.leave("h", failure(.timeout))
        }
        #expect(hosts.enter("h") == .wait(.seconds(30)))
        #expect(hosts.enter("other") == .go)
        hand.advance(.seconds(30))
        #expect(hosts.enter("h") == .go)
        #expect(hosts.enter("h") == .wait(.seconds(1)))
        hosts.leave("h", failure(.timeout))
        #expect(hosts.enter("h") == .wait(.seconds(60)))
        hand.advance(.seconds(60))
        #expect(hosts.enter("h") == .go)
        hosts.leave("h", nil)
        #expect(hosts.enter("h") == .go)
        #expect(hosts.enter("h") == .go)
        // Two at once, of 200 ms each: who has to wait comes back every 100 ms, or a little earlier.
        #expect(hosts.enter("h") == .wait(.milliseconds(80)))
        #expect(hosts.enter("h") == .wait(.milliseconds(160)))
    }

    @Test func takesNoBrokenFileForADeadHost() {
        let hosts = Hosts(width: 1, clock: hand.clock)
        for reason in [
            Failure.Reason.http(404), .corrupt, .notMedia, .http(403), .cancelled, .tooLarge, .empty,
        ] {
            #expect(hosts.enter("h") == .go)
            hosts.leave("h", failure(reason))
        }
        #expect(hosts.count == 0)
    }

    @Test func restsAsLongAsTheHostAsks() {
        let hosts = Hosts(width: 9, clock: hand.clock)
        for _ in 0..<5 {
            _ = hosts.enter("h")
            hosts.leave("h", failure(.http(429), after: 400))
        }
        #expect(hosts.enter("h") == .wait(.seconds(400)))
    }

    @Test func waitsNoLongerThanAnHourForAHost() {
        let hosts = Hosts(width: 9, clock: hand.clock)
        for _ in 0..<5 {
            _ = hosts.enter("h")
            hosts.leave("h", failure(.http(429), after: .max))
        }
        #expect(hosts.enter("h") == .wait(.seconds(3600)))
    }

    @Test func startsNoMoreJobsOfAHostThanItsRate() {
        let hosts = Hosts(width: 9, rate: 4, clock: hand.clock)
        #expect(hosts.enter("h") == .go)
        #expect(hosts.enter("h") == .wait(.milliseconds(250)))
        #expect(hosts.enter("h") == .wait(.milliseconds(500)))
        #expect(hosts.enter("other") == .go)
        hosts.leave("h", nil)
        // That it has ended does not let the next one in.
        #expect(hosts.enter("h") == .wait(.milliseconds(750)))
        for _ in 0..<8 {
            hand.advance(.milliseconds(250))
            #expect(hosts.enter("h") == .go)
        }
    }

    @Test func forgetsHostsThatFaredBadlyOnce() {
        let hosts = Hosts(width: 9, clock: hand.clock)
        for number in 0..<10_000 {
            _ = hosts.enter("h\(number)")
            hosts.leave("h\(number)", failure(.timeout))
            hand.advance(.seconds(1))
        }
        #expect(hosts.count < 2000)
    }

    @Test func forgetsAHostThatIsWell() {
        let hosts = Hosts(width: 9, clock: hand.clock)
        for number in 0..<1000 {
            #expect(hosts.enter("h\(number)") == .go)
            hosts.leave("h\(number)", nil)
        }
        #expect(hosts.count == 0)
        #expect(hosts.enter("") == .go)
        #expect(hosts.count == 0)
    }
}
