import FramemillMedia
import TestSupport
import Testing

@testable import FramemillEngine

/// Who joins work that waits makes it as urgent as he is, in every queue that it may stand in.
@Suite struct UrgencyTests {
    @Test func takesTheMostUrgentFirstAndOfTheseTheFirst() {
        var turns = Turns<String>()
        for (name, priority) in [
            ("c", Priority.backfill), ("b", .prefetch), ("a", .interactive), ("d", .backfill),
        ] {
            turns.append(name, priority)
        }
        #expect((0..<5).map { _ in turns.take() } == ["a", "b", "c", "d", nil])
    }

    @Test func standsWhereItWouldIfItHadComeAsUrgent() {
        var turns = Turns<Int>()
        // Enough that the queue is compacted in between.
        let numbers = (0..<300).map { turns.append($0, $0 % 3 == 0 ? .backfill : .interactive) }
        for number in stride(from: 0, to: 300, by: 3) { turns.raise(numbers[number], to: .interactive) }
        #expect(turns.mostUrgent == .interactive && turns.count == 300)
        #expect((0..<300).map { _ in turns.take() } == Array(0..<300))
        // Neither again, nor for who has gone.
        turns.raise(numbers[0], to: .interactive)
        #expect(turns.take() == nil && turns.remove(numbers[7]) == nil)
    }

    @Test func neverLowers() {
        var turns = Turns<Int>()
        let first = turns.append(1, .interactive)
        turns.append(2, .prefetch)
        turns.raise(first, to: .backfill)
        #expect(turns.take() == 1)
        let urgency = Urgency(.prefetch)
        urgency.raise(to: .backfill)
        #expect(urgency.priority == .prefetch)
        urgency.raise(to: .interactive)
        #expect(urgency.priority == .interactive)
    }

    @Test func forgetsThoseWhoLeaveAtOnce() {
        var turns = Turns<Int>()
        let numbers = (0..<1000).map { turns.append($0, .prefetch) }
        for number in numbers where number != 500 { #expect(turns.remove(number) == number) }
        #expect(turns.count == 1 && turns.take() == 500 && turns.mostUrgent == nil)
    }

    @Test func movesForwardAtTheGate() async {
        let (gate, order) = (Gate(width: 1), Record<String>())
        _ = await gate.enter()
        let wish = Urgency(.backfill)
        await withTaskGroup(of: Void.self) { group in
            for (number, urgency) in [Urgency(.backfill), Urgency(.prefetch), wish].enumerated() {
                group.addTask {
                    _ = await gate.enter(urgency)
                    order.note(["backfill", "prefetch", "raised"][number])
                    gate.leave()
                }
                await until { gate.waiting == number + 1 }
            }
            wish.raise(to: .interactive)
            gate.leave()
        }
        #expect(order.all == ["raised", "prefetch", "backfill"])
        #expect(wish.watching == 0)
    }

    @Test func movesForwardInALane() async throws {
        let (lane, order, valve) = (Lane<Void>("test", width: 1) { () }, Record<String>(), Valve())
        defer { lane.close() }
        let wish = Urgency(.backfill)
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await lane.run(stop: Stop()) { _, _ in valve.block() } }
            await valve.arrivals(1)
            for (number, urgency) in [Urgency(.backfill), Urgency(.prefetch), wish].enumerated() {
                group.addTask {
                    try await lane.run(urgency: urgency, stop: Stop()) { _, _ in
                        order.note(["backfill", "prefetch", "raised"][number])
                    }
                }
                await until { lane.queued == number + 1 }
            }
            wish.raise(to: .interactive)
            valve.open()
            try await group.waitForAll()
        }
        #expect(order.all == ["raised", "prefetch", "backfill"])
        #expect(wish.watching == 0)
    }

    @Test func movesForwardAmongThoseWhoWantToCompute() async throws {
        let (lane, order, valve) = (Lane<Void>("test", width: 4) { () }, Record<String>(), Valve())
        defer { lane.close() }
        let (permits, wish) = (Permits(count: 1), Urgency(.backfill))
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await lane.run(stop: Stop()) { _, _ in permits.holding { valve.block() } } }
            await valve.arrivals(1)
            for (number, urgency) in [Urgency(.backfill), Urgency(.prefetch), wish].enumerated() {
                group.addTask {
                    try await lane.run(urgency: urgency, stop: Stop()) { _, _ in
                        permits.holding(urgency: urgency) {
                            order.note(["backfill", "prefetch", "raised"][number])
                        }
                    }
                }
                await until { permits.waiting == number + 1 }
            }
            wish.raise(to: .interactive)
            #expect(permits.isWanted(before: .prefetch))
            valve.open()
            try await group.waitForAll()
        }
        #expect(order.all == ["raised", "prefetch", "backfill"])
        #expect(wish.watching == 0)
    }

    @Test func isRaisedByWhoeverJoins() async throws {
        let (work, valve, seen) = (InFlight<String, Int>(), Valve(), Record<Urgency>())
        let first = Task {
            try await work.value(for: "key", priority: .backfill) { urgency in
                seen.note(urgency)
                await valve.wait()
                return 1
            }
        }
        await valve.arrivals(1)
        #expect(seen.all.map(\.priority) == [.backfill])
        for (count, priority) in [(2, Priority.prefetch), (3, .backfill), (4, .interactive)] {
            Task { try await work.value(for: "key", priority: priority) { _ in 2 } }
            await until { work.waiting(for: "key") == count }
            await until { seen.all[0].priority == (count == 4 ? .interactive : .prefetch) }
        }
        valve.open()
        #expect(try await first.value == 1)
    }

    @Test func letsInMoreOnceItIsWiderAndFewerOnceItIsNarrower() async {
        let gate = Gate(width: 3)
        for _ in 0..<3 { _ = await gate.enter() }
        let waiters = (0..<3).map { _ in Task { await gate.enter() } }
        await until { gate.waiting == 3 }
        gate.resize(to: 2)
        gate.leave()
        #expect(gate.waiting == 3 && gate.inside == 2)
        gate.leave()
        await until { gate.waiting == 2 }
        gate.resize(to: 4)
        for waiter in waiters { #expect(await waiter.value) }
        #expect(gate.inside == 4 && gate.width == 4)
    }
}
