import FramemillMedia
import FramemillQueue
import TestSupport
import Testing

/// Counting, listing, and what a person does by hand: the same for every driver.
@Suite struct QueueToolTests {
    @Test(arguments: Driver.present) func countsWhatIsWhere(_ driver: Driver) async throws {
        let place = try Place(driver)
        let queue = place
        _ = try await queue.add(jobs(0..<4, .interactive))
        place.hand.advance(.seconds(7))
        _ = try await queue.add(jobs(4..<6, .backfill))
        let held = try await queue.lease(3, worker: "one", for: .seconds(30))
        _ = try await queue.end(held[0].lease, .dead(lasting))
        _ = try await queue.end(held[1].lease, .retry(after: .seconds(9), passing))
        let stats = try await queue.stats()
        #expect(stats.priorities["interactive"]?.waiting == 1)
        #expect(stats.priorities["interactive"]?.oldestMilliseconds == 7000)
        #expect(stats.priorities["prefetch"] == QueueStats.Depth())
        #expect(stats.priorities["backfill"]?.waiting == 2)
        #expect(stats.priorities["backfill"]?.oldestMilliseconds == 0)
        #expect([stats.running, stats.dead, stats.delayed, stats.parked] == [1, 1, 1, 0])
    }

    @Test(arguments: Driver.present) func listsEveryStatePageByPage(_ driver: Driver) async throws {
        let queue = try Place(driver)
        let all = jobs(0..<700, .prefetch) + jobs(700..<1300)
        _ = try await queue.add(all)
        #expect(try await queue.list(.waiting).map(\.id) == all.map(\.id))
        #expect(try await queue.list(.waiting, limit: 3).map(\.id) == all.prefix(3).map(\.id))
        let held = try await queue.lease(1200, worker: "one", for: .seconds(30)).map(\.lease)
        #expect(try await queue.list(.running).count == 1200)
        #expect(try await queue.list(.running, limit: 1).first?.worker == "one")
        _ = try await queue.settle(held.map { Settlement($0, .dead(lasting)) })
        #expect(try await Set(queue.list(.dead).map(\.id)) == Set(held.map(\.id)))
        #expect(try await queue.list(.waiting).count == 100)
    }

    @Test(arguments: Driver.present) func replaysAndPurgesByClassHostAndAge(_ driver: Driver) async throws {
        let place = try Place(driver)
        let queue = place
        let (near, far) = (Job("https://near.example/1"), Job("https://FAR.example/2"))
        let young = Job("https://far.example/3")
        _ = try await queue.add([near, far])
        let held = try await queue.lease(2, worker: "one", for: .seconds(30))
        _ = try await queue.settle([
            Settlement(held[0].lease, .dead(passing)), Settlement(held[1].lease, .dead(lasting)),
        ])
        place.hand.advance(.seconds(100))
        _ = try await queue.add(young)
        _ = try await queue.end(try await queue.take().lease, .dead(lasting))
        var filter = JobFilter()
        filter.class = .transient
        #expect(try await queue.list(.dead, filter).map(\.id) == [near.id])
        #expect(try await queue.replay(filter) == 1)
        #expect(try await queue.take().tries == 1)
        filter = JobFilter()
        (filter.host, filter.olderThan) = ("far.example", .seconds(50))
        #expect(try await queue.purge(.dead, filter) == 1)
        #expect(try await queue.list(.dead).map(\.id) == [young.id])
        filter = JobFilter()
        filter.code = "http_404"
        #expect(try await queue.replay(filter) == 1)
        #expect(try await queue.urls(1) == [young.url])
        #expect(try await queue.stats().dead == 0)
    }

    @Test(arguments: Driver.present) func touchesNothingThatRunsOrWaitsByMistake(_ driver: Driver)
        async throws
    {
        let queue = try Place(driver)
        let two = jobs(0..<2)
        _ = try await queue.add(two)
        let lease = try await queue.take().lease
        #expect(try await queue.replay(two.map(\.id) + ["nobody"]) == 0)
        #expect(try await queue.purge([lease.id, "nobody"]) == 0)
        #expect(try await queue.purge([two[1].id]) == 1)
        #expect(try await queue.urls(2) == [])
        #expect(try await queue.end(lease, .done("")) == [])
    }

    @Test(arguments: Driver.present) func forgetsTheDeadAfterTheirTime(_ driver: Driver) async throws {
        let place = try Place(driver)
        var job = Job("https://example.org/1")
        job.key = "k"
        _ = try await place.add(job)
        _ = try await place.end(try await place.take().lease, .dead(lasting))
        place.hand.advance(.seconds(14 * 86400))
        _ = try await place.sweep()
        #expect(try await place.stats().dead == 1)
        place.hand.advance(.milliseconds(1))
        _ = try await place.sweep()
        #expect(try await place.stats().dead == 0)
        #expect(try await place.add(job) == .added)
    }
}
