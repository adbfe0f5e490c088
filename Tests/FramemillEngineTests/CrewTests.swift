import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@Suite struct CrewTests {
    @Test(arguments: [1, 2, 4])
    func doesEachPartOnce(width: Int) async throws {
        let (permits, lane) = (Permits(count: width), Lane<Void>("test", width: 4) { () })
        let parts = Record<Int>()
        try await lane.run(stop: Stop()) { _, _ in
            permits.holding {
                Crew(lane, permits: permits).each(1000) { parts.note($0) }
                #expect(parts.count == 1000)
            }
        }
        #expect(parts.all.sorted() == Array(0..<1000))
        #expect(permits.waiting == 0)
    }

    @Test func worksOnTwoPartsAtOnce() async throws {
        let (permits, lane) = (Permits(count: 2), Lane<Void>("test", width: 2) { () })
        let valve = Valve()
        let work = Task {
            try await lane.run(stop: Stop()) { _, _ in
                permits.holding { Crew(lane, permits: permits).each(2) { _ in valve.block() } }
            }
        }
        await valve.arrivals(2)
        valve.open()
        try await work.value
    }

    /// The caller works on alone while the other thread is taken.
    @Test func waitsForNobodyWhoHasNotBegun() async throws {
        let (permits, lane) = (Permits(count: 2), Lane<Void>("test", width: 2) { () })
        let (valve, parts) = (Valve(), Record<Int>())
        let other = Task { try await lane.run(stop: Stop()) { _, _ in valve.block() } }
        await valve.arrivals(1)
        try await lane.run(stop: Stop()) { _, _ in
            permits.holding { Crew(lane, permits: permits).each(10) { parts.note($0) } }
        }
        #expect(parts.all == Array(0..<10))
        valve.open()
        try await other.value
    }

    @Test func standsBackBetweenPartsForWhoIsMoreUrgent() async throws {
        let (permits, lane) = (Permits(count: 1), Lane<Void>("test", width: 3) { () })
        let (valve, order) = (Valve(), Record<String>())
        let work = Task {
            try await lane.run(stop: Stop()) { _, _ in
                permits.holding(priority: .backfill) {
                    Crew(lane, permits: permits, priority: .backfill).each(3) { part in
                        if part == 1 { valve.block() }
                        order.note("part \(part)")
                    }
                }
            }
        }
        await valve.arrivals(1)
        let urgent = Task {
            try await lane.run(stop: Stop()) { _, _ in permits.holding { order.note("urgent") } }
        }
        await until { permits.waiting == 1 }
        valve.open()
        _ = try await (work.value, urgent.value)
        #expect(order.all == ["part 0", "part 1", "urgent", "part 2"])
    }
}
