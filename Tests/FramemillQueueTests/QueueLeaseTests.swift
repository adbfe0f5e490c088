import FramemillMedia
import FramemillQueue
import TestSupport
import Testing

/// Who holds what: the same for every driver.
@Suite struct QueueLeaseTests {
    @Test(arguments: Driver.present) func handsNoJobToTwoWorkersAtOnce(_ driver: Driver) async throws {
        let place = try Place(driver)
        _ = try await place.add(jobs(0..<300))
        let (valve, taken) = (Valve(), Record<String>())
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<4 {
                let queue = try place.another()
                _ = try await queue.stats()
                group.addTask {
                    await valve.wait()
                    while case let some = try await queue.lease(7, worker: "w\(number)", for: .seconds(30)),
                        !some.isEmpty
                    {
                        for job in some { taken.note(job.lease.id) }
                    }
                }
            }
            await valve.arrivals(4)
            valve.open()
            try await group.waitForAll()
        }
        #expect(taken.count == 300)
        #expect(Set(taken.all).count == 300)
    }

    @Test(arguments: Driver.present) func handsOnWhatAVanishedWorkerHeldOnceItsLeaseIsOver(_ driver: Driver)
        async throws
    {
        let place = try Place(driver)
        let other = try place.another()
        _ = try await place.add(jobs(0..<10))
        let lost = try await place.lease(10, worker: "gone", for: .seconds(30))
        place.hand.advance(.milliseconds(29_999))
        #expect(try await other.sweep() == Swept())
        #expect(try await other.urls(10) == [])
        place.hand.advance(.milliseconds(1))
        #expect(try await other.sweep().reclaimed == 10)
        let again = try await other.lease(10, worker: "two", for: .seconds(30))
        #expect(Set(again.map(\.lease.id)) == Set(lost.map(\.lease.id)))
        #expect(again.allSatisfy { $0.tries == 2 })
    }

    @Test(arguments: Driver.present) func refusesEveryLateWordOfAFormerHolder(_ driver: Driver) async throws {
        let place = try Place(driver)
        _ = try await place.add(jobs(0..<1))
        let old = try await place.take(worker: "slow").lease
        place.hand.advance(.seconds(30))
        #expect(try await place.sweep().reclaimed == 1)
        // Nobody has it now, and it isn't the former holder's either.
        #expect(try await place.end(old, .done("")) == [old])
        let new = try await place.take(worker: "quick").lease
        #expect(new.id == old.id)
        #expect(new.token > old.token)
        for end in [
            Settlement.End.done(""), .retry(after: .zero, passing), .dead(lasting), .handedBack(after: .zero),
        ] {
            #expect(try await place.end(old, end) == [old])
        }
        #expect(try await place.extend([old, new], for: .seconds(30)) == [old])
        #expect(try await place.end(new, .done("")) == [])
        #expect(try await place.end(new, .done("")) == [new])
        #expect(try await place.stats().done == 1)
        #expect(try await place.show(old.id) == nil)
    }

    @Test(arguments: Driver.present) func keepsAJobThatIsHeldOn(_ driver: Driver) async throws {
        let place = try Place(driver)
        _ = try await place.add(jobs(0..<1))
        let lease = try await place.take().lease
        for _ in 0..<5 {
            place.hand.advance(.seconds(20))
            #expect(try await place.extend([lease], for: .seconds(30)) == [])
            #expect(try await place.sweep() == Swept())
        }
        #expect(try await place.end(lease, .done("")) == [])
    }

    @Test(arguments: Driver.present) func countsCrashesAndBuriesWhoCausesThem(_ driver: Driver) async throws {
        var rules = QueueRules()
        rules.crashes = 3
        let place = try Place(driver, rules: rules)
        _ = try await place.add(jobs(0..<1))
        for crash in 1...3 {
            #expect(try await place.take().tries == crash)
            place.hand.advance(.seconds(31))
            let swept = try await place.sweep()
            #expect([swept.reclaimed, swept.buried] == (crash < 3 ? [1, 0] : [0, 1]))
        }
        #expect(try await place.urls(1) == [])
        let dead = try await place.list(.dead)
        #expect(dead.map(\.code) == ["decoder_crashed"])
        #expect(dead.map(\.class) == ["permanent"])
        #expect(dead.first?.message?.contains("try 3 (QueueRules.crashes)") == true)
    }

    @Test(arguments: Driver.present) func countsNoTryForAHandBack(_ driver: Driver) async throws {
        let place = try Place(driver)
        _ = try await place.add(jobs(0..<1))
        for _ in 0..<12 {
            let leased = try await place.take()
            #expect(leased.tries == 1)
            #expect(try await place.end(leased.lease, .handedBack(after: .zero)) == [])
        }
        let leased = try await place.take()
        #expect(try await place.end(leased.lease, .handedBack(after: .seconds(5))) == [])
        #expect(try await place.urls(1) == [])
        place.hand.advance(.seconds(5))
        #expect(try await place.take().tries == 1)
    }

    @Test(arguments: Driver.present) func triesAgainAfterTheWait(_ driver: Driver) async throws {
        let place = try Place(driver)
        _ = try await place.add(jobs(0..<1, .interactive))
        let first = try await place.take()
        #expect(try await place.end(first.lease, .retry(after: .seconds(10), passing)) == [])
        let record = try await place.show(first.lease.id)
        #expect(record?.state == .delayed)
        #expect(record?.code == "timeout")
        #expect(record?.class == "transient")
        #expect(try await place.urls(1) == [])
        place.hand.advance(.seconds(10))
        let second = try await place.take()
        #expect(second.tries == 2)
        #expect(second.job == first.job)
    }

    @Test(arguments: Driver.present) func settlesManyInOneStep(_ driver: Driver) async throws {
        let place = try Place(driver)
        _ = try await place.add(jobs(0..<100))
        let held = try await place.lease(100, worker: "one", for: .seconds(30)).map(\.lease)
        let stranger = Lease(id: "nobody", token: 1)
        let ends = held.map { Settlement($0, .done("")) } + [Settlement(stranger, .done(""))]
        #expect(try await place.settle(ends) == [stranger])
        let stats = try await place.stats()
        #expect([Int(stats.done), stats.running, stats.waiting] == [100, 0, 0])
    }

    @Test(arguments: Driver.present) func booksWhatHappenedForACancelledTask(_ driver: Driver) async throws {
        let place = try Place(driver)
        let queue = place
        _ = try await queue.add(jobs(0..<1))
        let lease = try await queue.take().lease
        let valve = Valve()
        let task = Task {
            await valve.wait()
            return try await queue.end(lease, .done(""))
        }
        await valve.arrivals(1)
        task.cancel()
        valve.open()
        #expect(try await task.value == [])
        #expect(try await queue.stats().done == 1)
    }

    @Test(arguments: Driver.present) func refusesWorkOnceClosed(_ driver: Driver) async throws {
        let queue = try Place(driver)
        queue.close()
        await #expect(throws: Failure.self) { try await queue.stats() }
    }
}
