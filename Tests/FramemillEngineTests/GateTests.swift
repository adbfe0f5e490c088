import FramemillEngine
import TestSupport
import Testing

@Suite struct GateTests {
    @Test func letsInAsManyAsItIsWideAndNoMore() async {
        let gate = Gate(width: 2)
        #expect(await gate.enter())
        #expect(await gate.enter())
        let third = Task { await gate.enter() }
        await until { gate.waiting == 1 }
        gate.leave()
        #expect(await third.value)
        #expect(gate.waiting == 0)
    }

    @Test func servesFirstComeFirst() async {
        let (gate, order) = (Gate(width: 1), Record<Int>())
        _ = await gate.enter()
        await withTaskGroup(of: Void.self) { group in
            for number in 0..<200 {
                group.addTask {
                    _ = await gate.enter()
                    order.note(number)
                    gate.leave()
                }
                await until { gate.waiting == number + 1 }
            }
            gate.leave()
        }
        #expect(order.all == Array(0..<200))
    }

    @Test func forgetsACancelledWaiter() async {
        let gate = Gate(width: 1)
        _ = await gate.enter()
        let waiters = (0..<300).map { _ in Task { await gate.enter() } }
        await until { gate.waiting == 300 }
        for waiter in waiters { waiter.cancel() }
        for waiter in waiters { #expect(await !waiter.value) }
        #expect(gate.waiting == 0)
        #expect(gate.remembered == 0)
        // The place was not given to any of them.
        let next = Task { await gate.enter() }
        await until { gate.waiting == 1 }
        gate.leave()
        #expect(await next.value)
    }

    @Test func turnsAwayATaskThatIsAlreadyCancelled() async {
        let (gate, valve) = (Gate(width: 1), Valve())
        let task = Task {
            await valve.wait()
            return await gate.enter()
        }
        task.cancel()
        valve.open()
        #expect(await !task.value)
        #expect(gate.remembered == 0)
        #expect(await gate.enter())
    }

    @Test func keepsNothingOfThoseCancelledAroundTheirAdmission() async {
        let gate = Gate(width: 1)
        for _ in 0..<2000 {
            _ = await gate.enter()
            let task = Task { await gate.enter() }
            await until { gate.waiting == 1 }
            // Cancellation races with admission: whichever wins, the books must balance.
            async let cancelled: Void = task.cancel()
            gate.leave()
            await cancelled
            if await task.value { gate.leave() }
        }
        #expect(gate.remembered == 0)
        #expect(await gate.enter())
    }
}
