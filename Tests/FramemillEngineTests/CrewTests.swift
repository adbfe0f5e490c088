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

    /// What the caller does for itself ends only once another thread has begun with the parts.
    @Test func othersBeginWithThePartsWhileTheCallerDoesItsOwn() async throws {
        let (permits, lane) = (Permits(count: 2), Lane<Void>("test", width: 2) { () })
        let (valve, order) = (Valve(), Record<String>())
        try await lane.run(stop: Stop()) { _, _ in
            permits.holding {
                let made = Crew(lane, permits: permits).each(1) { _ in
                    order.note("part")
                    valve.open()
                } meanwhile: {
                    valve.block()
                    order.note("own")
                    return 7
                }
                #expect(made == 7)
            }
        }
        #expect(order.all == ["part", "own"])
    }

    /// With one core, with no free thread, and with nobody to ask: all of it is done, by the caller.
    @Test func theCallerDoesItsOwnAndThePartsWhereNobodyHelps() async throws {
        let (permits, lane) = (Permits(count: 2), Lane<Void>("test", width: 2) { () })
        let valve = Valve()
        let other = Task { try await lane.run(stop: Stop()) { _, _ in valve.block() } }
        await valve.arrivals(1)
        try await lane.run(stop: Stop()) { _, _ in
            permits.holding {
                for crew in [Crew(lane, permits: permits), Crew(lane, permits: Permits(count: 1)), .alone] {
                    let order = Record<Int>()
                    crew.each(3) {
                        order.note($0)
                    } meanwhile: {
                        order.note(-1)
                    }
                    #expect(order.all.sorted() == [-1, 0, 1, 2])
                    crew.each(0) {
                        order.note($0)
                    } meanwhile: {
                        order.note(-1)
                    }
                    #expect(order.count == 5)
                }
            }
        }
        valve.open()
        try await other.value
    }

    @Test func aPartThatFailsComesBeforeTheCallersOwnFailure() throws {
        let bad = Failure(.corrupt, .encode, "part")
        #expect {
            try Crew.alone.map(2) { (index) throws(Failure) in
                if index == 1 { throw bad }
            } meanwhile: { () throws(Failure) in
                throw Failure(.noFrames, .decode, "own")
            }
        } throws: { error in
            (error as? Failure)?.reason == .corrupt
        }
        let made = try Crew.alone.map(2) { (index) throws(Failure) in
            index * 2
        } meanwhile: { () throws(Failure) in
            throw Failure(.noFrames, .decode, "own")
        }
        #expect(made.parts == [0, 2])
        #expect(throws: Failure.self) { try made.own.get() }
    }

    /// The other core is taken when the work begins, and comes free while the first part is done.
    @Test func asksForHelpOnceACoreComesFree() async throws {
        let (permits, lane) = (Permits(count: 2), Lane<Void>("test", width: 3) { () })
        let (taken, first, pair) = (Valve(), Valve(), Valve())
        let other = Task { try await lane.run(stop: Stop()) { _, _ in permits.holding { taken.block() } } }
        await taken.arrivals(1)
        let work = Task {
            try await lane.run(stop: Stop()) { _, _ in
                permits.holding {
                    Crew(lane, permits: permits).each(3) { part in part == 0 ? first.block() : pair.block() }
                }
            }
        }
        await first.arrivals(1)
        // Whoever was asked at the start finds no core, and leaves.
        await until { lane.queued == 0 }
        taken.open()
        try await other.value
        first.open()
        await pair.arrivals(2)
        pair.open()
        try await work.value
    }

    /// Two cores; the caller is through with its parts and waits for the last one, which another thread has in hand.
    @Test func lendsItsPermitWhileItWaitsForAPart() async throws {
        let (permits, lane) = (Permits(count: 2), Lane<Void>("test", width: 3) { () })
        let (begun, held, order) = (Valve(), Valve(), Record<String>())
        let work = Task {
            try await lane.run(stop: Stop()) { _, _ in
                permits.holding {
                    Crew(lane, permits: permits).each(1) { _ in
                        begun.open()
                        held.block()
                        order.note("part")
                    } meanwhile: {
                        begun.block()
                    }
                }
            }
        }
        await held.arrivals(1)
        try await lane.run(stop: Stop()) { _, _ in permits.holding { order.note("another job") } }
        held.open()
        try await work.value
        #expect(order.all == ["another job", "part"])
    }

    /// Part of a part: threads that help may ask for help, and none waits for another that waits for it.
    @Test func partsMayHaveParts() async throws {
        let (permits, lane) = (Permits(count: 2), Lane<Void>("test", width: 4) { () })
        let parts = Record<Int>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    try await lane.run(stop: Stop()) { _, _ in
                        permits.holding {
                            let crew = Crew(lane, permits: permits)
                            crew.each(20) { outer in
                                crew.each(20) { parts.note(outer * 20 + $0) }
                                permits.lending {}
                            }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(parts.all.sorted() == (0..<400).flatMap { Array(repeating: $0, count: 8) })
        #expect(permits.waiting == 0)
    }
}
