import FramemillEngine
import FramemillMedia
import Glibc
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

    /// Jobs that hold the only permit one after the other, each begun when the one before waits for it; `first` has
    /// it, in the middle of its work, while they come.
    private func order(
        _ jobs: [(name: String, priority: Priority)],
        first: @escaping @Sendable (Permits, Record<String>) -> Void,
        during: @escaping @Sendable (String, Permits) -> Void = { _, _ in }
    ) async throws -> [String] {
        let (permits, lane) = (Permits(count: 1), Lane<Void>("test", width: jobs.count + 1) { () })
        let (valve, order) = (Valve(), Record<String>())
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await lane.run(stop: Stop()) { _, _ in
                    permits.holding(priority: .prefetch) {
                        valve.block()
                        first(permits, order)
                    }
                }
            }
            await valve.arrivals(1)
            for (place, job) in jobs.enumerated() {
                group.addTask {
                    try await lane.run(stop: Stop()) { _, _ in
                        permits.holding(priority: job.priority) {
                            during(job.name, permits)
                            order.note(job.name)
                        }
                    }
                }
                await until { permits.waiting == place + 1 }
            }
            valve.open()
            try await group.waitForAll()
        }
        #expect(permits.waiting == 0)
        return order.all
    }

    @Test func goesByPriorityAndThenByArrival() async throws {
        let order = try await order([
            ("c1", .backfill), ("b1", .prefetch), ("a1", .interactive), ("c2", .backfill),
            ("a2", .interactive),
            ("b2", .prefetch),
        ]) { _, order in order.note("first") }
        #expect(order == ["first", "a1", "a2", "b1", "b2", "c1", "c2"])
    }

    @Test func lendingTakesItBackInTurn() async throws {
        let (lent, jobs) = (Valve(), [("c", Priority.backfill), ("b", .prefetch), ("a", .interactive)])
        let order = try await order(jobs) { permits, order in
            permits.lending(priority: .prefetch) { lent.block() }
            order.note("back")
        } during: { name, permits in
            // Goes on once the lender waits for its turn again, beside the two that are behind "a".
            if name == "a" {
                lent.open()
                while permits.waiting < 3 { sched_yield() }
            }
        }
        #expect(order == ["a", "b", "back", "c"])
    }

    @Test func givesWayToWhoIsMoreUrgentAndToNobodyElse() async throws {
        let order = try await order([("c", .backfill), ("b", .prefetch), ("a", .interactive)]) {
            permits, order in
            order.note("before")
            permits.giveWay(.prefetch)
            order.note("after")
            permits.giveWay(.prefetch)
            order.note("later")
        }
        // "b" has waited longer than the one that gives way, and "c" is less urgent.
        #expect(order == ["before", "a", "b", "after", "later", "c"])
    }

    @Test func givesWayToEqualsIfAsked() async throws {
        let order = try await order([("c", .backfill), ("b", .prefetch)]) { permits, order in
            permits.giveWay(.prefetch)
            order.note("mine")
            permits.giveWay(.prefetch, orEqual: true)
            order.note("then")
            permits.giveWay(.prefetch, orEqual: true)
            order.note("last")
        }
        #expect(order == ["mine", "b", "then", "last", "c"])
    }

    /// A waiter who has seen 64 younger ones arrive goes before them once.
    @Test func letsNobodyStarve() async throws {
        let jobs = [("old", Priority.prefetch)] + (0..<70).map { ("young \($0)", Priority.interactive) }
        let order = try await order(jobs) { _, _ in }
        #expect(order.firstIndex(of: "old")! < 4)
    }

    @Test func aPermitThatIsHeldIsNotFree() async throws {
        _ = try await order([("a", .interactive)]) { permits, _ in
            permits.holdingIfFree { Issue.record("none is free") }
        }
        let count = Record<Int>()
        Permits(count: 1).holdingIfFree { count.note(1) }
        #expect(count.count == 1)
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
