import FramemillMedia
import Testing

@testable import FramemillQueue

@Suite struct HostBookTests {
    private let dead = Failure(.timeout, .fetch, "no answer")
    private let gone = Failure(.http(404), .fetch, "gone")

    /// Lets jobs of one host fail, one after the other.
    private func fail(_ book: inout HostBook, _ count: Int, now: Double = 0) {
        for _ in 0..<count {
            #expect(book.admit("a", now: now) == .go)
            book.end("a", dead, now: now)
        }
    }

    @Test func limitsEachHostByItself() {
        var rules = HostRules()
        rules.concurrency = 2
        var book = HostBook(rules)
        #expect(book.admit("a", now: 0) == .go)
        #expect(book.admit("a", now: 0) == .go)
        #expect(book.admit("a", now: 0) == .wait(0.5))
        #expect(book.admit("b", now: 0) == .go)
        book.end("a", nil, now: 1)
        #expect(book.admit("a", now: 1) == .go)
    }

    @Test func leavesADeadHostAloneAndProbesItOnce() {
        var book = HostBook(HostRules())
        fail(&book, 5)
        #expect(book.admit("a", now: 0) == .wait(10))
        #expect(book.admit("a", now: 9) == .wait(1))
        #expect(book.admit("b", now: 0) == .go)
        #expect(book.open(now: 5) == 1)
        // Half open: one goes first, the others wait for what it finds.
        #expect(book.admit("a", now: 10) == .go)
        #expect(book.admit("a", now: 10) == .wait(1))
        book.end("a", dead, now: 11)
        #expect(book.admit("a", now: 12) == .wait(19))
        #expect(book.admit("a", now: 31) == .go)
        book.end("a", nil, now: 32)
        #expect(book.open(now: 32) == 0)
        for _ in 0..<6 { #expect(book.admit("a", now: 32) == .go) }
    }

    @Test func waitsNoLongerThanItsMost() {
        var book = HostBook(HostRules())
        fail(&book, 5)
        var now = 0.0
        for _ in 0..<12 {
            guard case .wait(let seconds) = book.admit("a", now: now) else { return }
            #expect(seconds <= 300)
            now += seconds
            #expect(book.admit("a", now: now) == .go)
            book.end("a", dead, now: now)
        }
        #expect(book.admit("a", now: now) == .wait(300))
    }

    @Test func waitsAsLongAsTheHostAsks() {
        var book = HostBook(HostRules())
        fail(&book, 4)
        #expect(book.admit("a", now: 0) == .go)
        book.end("a", Failure(.http(429), .fetch, "slow down", retryAfterSeconds: 60), now: 0)
        #expect(book.admit("a", now: 1) == .wait(59))
    }

    @Test func anAnswerOfAnyKindShowsThatSomebodyIsThere() {
        var book = HostBook(HostRules())
        fail(&book, 4)
        #expect(book.admit("a", now: 0) == .go)
        book.end("a", gone, now: 0)
        fail(&book, 4)
        #expect(book.admit("a", now: 0) == .go)
    }

    /// Cancelled at a shutdown, or a disk that is full: neither good nor bad for the host.
    @Test func whatStoppedOnOurSideSaysNothing() {
        var book = HostBook(HostRules())
        fail(&book, 5)
        #expect(book.admit("a", now: 10) == .go)
        book.end("a", Failure(.cancelled, .fetch, "stopped"), now: 10)
        // Still half open, and the next one is a probe again.
        #expect(book.admit("a", now: 10) == .go)
        #expect(book.admit("a", now: 10) == .wait(1))
    }

    @Test func startsNoMoreThanSoManyASecond() {
        var rules = HostRules()
        rules.perSecond = 4
        rules.concurrency = 100
        var book = HostBook(rules)
        var started = 0
        for tick in 0..<1000 where book.admit("a", now: 100 + Double(tick) / 100) == .go { started += 1 }
        // Ten seconds, and one in hand from before.
        #expect((40...45).contains(started), "\(started)")
    }

    @Test func forgetsWhoIsAskedNoMore() {
        var book = HostBook(HostRules())
        for number in 0..<10_000 {
            let host = "host-\(number)"
            #expect(book.admit(host, now: Double(number)) == .go)
            book.end(host, nil, now: Double(number))
        }
        #expect(book.count < 2500, "\(book.count)")
    }

    @Test func letsFilesPass() {
        var rules = HostRules()
        rules.concurrency = 1
        var book = HostBook(rules)
        for _ in 0..<10 { #expect(book.admit("", now: 0) == .go) }
        book.end("", dead, now: 0)
        #expect(book.count == 0)
    }
}
