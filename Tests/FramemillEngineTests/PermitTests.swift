import FramemillEngine
import FramemillMedia
import Synchronization
import TestSupport
import Testing

@Suite struct PermitTests {
    /// One permit, two threads: the first waits for bytes, and the second computes meanwhile.
    @Test func aThreadThatWaitsLetsAnotherCompute() async throws {
        let (permits, lane) = (Permits(count: 1), Lane<Void>("test", width: 2) { () })
        let (bytes, order) = (Valve(), Record<String>())
        let slow = Task {
            try await lane.run(stop: Stop(after: .seconds(600))) { _, _ in
                permits.holding {
                    permits.lending { bytes.block() }
                    order.note("slow")
                }
            }
        }
        await bytes.arrivals(1)
        try await lane.run(stop: Stop(after: .seconds(600))) { _, _ in permits.holding { order.note("quick") }
        }
        bytes.open()
        try await slow.value
        #expect(order.all == ["quick", "slow"])
    }

    @Test func neverMoreComputeThanThereArePermits() async {
        let (permits, lane) = (Permits(count: 2), Lane<Void>("test", width: 8) { () })
        let load = Load()
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<200 {
                group.addTask {
                    try? await lane.run(stop: Stop(after: .seconds(600))) { _, _ in
                        permits.holding {
                            permits.lending {}
                            load.add(1)
                            load.add(-1)
                        }
                    }
                }
            }
        }
        #expect(load.now == 0)
        #expect((1...2).contains(load.most))
    }

    /// One permit, held by work that nobody waits for: the frame that somebody waits for runs beside it, and the other
    /// stands back at its next part until that has ended.
    @Test func whoMustNotWaitIsPaidByWhoCan() async throws {
        let (permits, lane) = (Permits(count: 1), Lane<Void>("test", width: 3) { () })
        let (part, frame, order) = (Valve(), Valve(), Record<String>())
        let stop = Stop(after: .seconds(600))
        let slow = Task {
            try await lane.run(stop: stop) { _, _ in
                permits.holding(priority: .backfill) {
                    part.block()
                    permits.giveWay(.backfill)
                    order.note("the rest")
                }
            }
        }
        await part.arrivals(1)
        let quick = Task {
            try await lane.run(stop: stop) { _, _ in
                permits.holdingAtOnce {
                    frame.block()
                    order.note("frame")
                }
            }
        }
        // It has begun although the permit is held.
        await frame.arrivals(1)
        #expect(permits.isWanted(before: .backfill))
        part.open()
        while permits.waiting == 0 { await Task.yield() }
        frame.open()
        try await quick.value
        try await slow.value
        #expect(order.all == ["frame", "the rest"])
        #expect(!permits.isWanted(before: .backfill))
        // All is paid: one is free, and no more than one.
        permits.holding { #expect(permits.waiting == 0) }
    }

    @Test func givesThePermitBackWhenTheBodyThrows() {
        let permits = Permits(count: 1)
        let failure = Failure(.corrupt, .decode, "broken")
        #expect(throws: failure) { try permits.holding { () throws(Failure) in throw failure } }
        #expect(throws: failure) {
            try permits.holding { () throws(Failure) in
                try permits.lending { () throws(Failure) in throw failure }
            }
        }
        // Would hang for ever had one been lost.
        #expect(permits.holding { 1 } == 1)
    }

    @Test func hasAtLeastOne() {
        #expect(Permits(count: 0).count == 1)
    }
}

/// How many are inside, and how many were at most.
private final class Load: Sendable {
    private struct Count {
        var now = 0
        var most = 0
    }
    private let count = Mutex(Count())

    func add(_ step: Int) {
        count.withLock { count in
            count.now += step
            count.most = max(count.most, count.now)
        }
    }
    var now: Int { count.withLock { $0.now } }
    var most: Int { count.withLock { $0.most } }
}
