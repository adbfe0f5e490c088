import Framemill
import FramemillMedia
import Synchronization
import TestSupport
import Testing

@testable import FramemillQueue

/// A worker over each driver, making pictures that cost nothing.
@Suite struct WorkerTests {
    typealias Make = @Sendable (Request) async throws(Failure) -> Artifact

    func worker(
        _ queue: any JobQueue, _ hand: HandClock, _ outcomes: Record<JobOutcome>, jobs: Int? = nil,
        change: (inout Worker.Options) -> Void = { _ in }, _ make: @escaping Make
    ) -> Worker {
        var options = Worker.Options(name: "tested")
        options.jobs = jobs
        options.slots = 8
        change(&options)
        return Worker(queue, options, clock: hand.clock, report: { outcomes.note($0) }, make: make)
    }

    static func picture() -> Artifact { Artifact(bytes: [1, 2, 3], facts: Facts(), origin: .made) }

    @Test(arguments: Driver.present) func makesEveryJobOnceAndSaysSo(_ driver: Driver) async throws {
        let (place, outcomes, made) = (try Place(driver), Record<JobOutcome>(), Record<String>())
        let all = (0..<100).map { Job("https://h\($0).example/a.mp4?token=secret") }
        _ = try await place.add(all)
        let worker = worker(place, place.hand, outcomes, jobs: 100) { request throws(Failure) in
            made.note(request.url)
            return Self.picture()
        }
        await worker.run()
        #expect(made.all.sorted() == all.map(\.url).sorted())
        #expect(outcomes.all.map(\.id).sorted() == all.map(\.id).sorted())
        #expect(outcomes.all.allSatisfy { $0.event == .done && $0.code == "ok" && $0.facts?.byteCount == 3 })
        #expect(outcomes.all.allSatisfy { !$0.json.contains("secret") })
        let stats = try await place.stats()
        #expect([stats.waiting, stats.running, Int(stats.done)] == [0, 0, 100])
        #expect(worker.running == 0)
    }

    @Test(arguments: Driver.present) func triesAgainWhatMayPassAndBuriesTheRest(_ driver: Driver) async throws
    {
        let (place, outcomes) = (try Place(driver), Record<JobOutcome>())
        _ = try await place.add([Job("https://a.example/busy"), Job("https://b.example/gone")])
        let tries = Mutex<[String: Int]>([:])
        let worker = worker(place, place.hand, outcomes) { request throws(Failure) in
            let count = tries.withLock { tries in
                tries[request.url, default: 0] += 1
                return tries[request.url]!
            }
            #expect(request.retriesFailed == (count > 1))
            if request.url.hasSuffix("gone") { throw lasting }
            if count < 3 { throw Failure(.http(429), .fetch, "slow down", retryAfterSeconds: 3) }
            return Self.picture()
        }
        let run = Task { await worker.run() }
        for count in 2...4 {
            await until { outcomes.count >= count }
            place.hand.advance(.seconds(60))
        }
        worker.stop()
        await run.value
        let busy = outcomes.all.filter { $0.url.hasSuffix("busy") }
        #expect(busy.map(\.event) == [.retry, .retry, .done])
        #expect(busy.map(\.tries) == [1, 2, 3])
        #expect(busy[0].retrySeconds.map { $0 >= 3 } == true)
        let gone = outcomes.all.filter { $0.url.hasSuffix("gone") }
        #expect(gone.map(\.event) == [.dead])
        #expect(gone.map(\.class) == ["permanent"])
        #expect(try await place.list(.dead).map(\.code) == ["http_404"])
    }

    @Test(arguments: Driver.present) func letsWhatRunsFinishOnceToldToStop(_ driver: Driver) async throws {
        let (place, outcomes, valve) = (try Place(driver), Record<JobOutcome>(), Valve())
        _ = try await place.add(jobs(0..<3))
        let worker = worker(place, place.hand, outcomes, change: { $0.slots = 2 }) { _ throws(Failure) in
            await valve.wait()
            return Self.picture()
        }
        let run = Task { await worker.run() }
        await valve.arrivals(2)
        worker.stop()
        valve.open()
        await run.value
        #expect(outcomes.all.map(\.event) == [.done, .done])
        #expect(try await place.stats().waiting == 1)
    }

    @Test(arguments: Driver.present) func handsBackWhatOutlivesTheGrace(_ driver: Driver) async throws {
        let (place, outcomes, valve) = (try Place(driver), Record<JobOutcome>(), Valve())
        _ = try await place.add(jobs(0..<1))
        for _ in 0..<5 {
            let worker = worker(place, place.hand, outcomes, change: { $0.grace = .zero }) {
                _ throws(Failure) in
                await valve.wait()
                return Self.picture()
            }
            let run = Task { await worker.run() }
            await until { worker.running == 1 }
            worker.stop()
            // Although its job does not end.
            await run.value
        }
        #expect(outcomes.all.map(\.event) == Array(repeating: .back, count: 5))
        #expect(try await place.list(.waiting).map(\.tries) == [0])
        valve.open()
    }

    @Test(arguments: Driver.present) func isRefusedWhatItMadeAfterItsLease(_ driver: Driver) async throws {
        let (place, outcomes, valve) = (try Place(driver), Record<JobOutcome>(), Valve())
        _ = try await place.add(jobs(0..<1))
        let worker = worker(place, place.hand, outcomes, jobs: 1) { _ throws(Failure) in
            await valve.wait()
            return Self.picture()
        }
        let run = Task { await worker.run() }
        await valve.arrivals(1)
        // Stopped for longer than its lease, as by SIGSTOP; another takes over.
        place.hand.advance(.seconds(31))
        let other = try place.another()
        #expect(try await other.sweep().reclaimed == 1)
        let lease = try await other.take(worker: "other").lease
        valve.open()
        await run.value
        #expect(outcomes.all.map(\.event) == [.refused])
        #expect(try await other.end(lease, .done("")) == [])
        #expect(try await other.stats().done == 1)
    }

    @Test(arguments: Driver.present) func leavesWhatNobodyWantsAnyMore(_ driver: Driver) async throws {
        let (place, outcomes) = (try Place(driver), Record<JobOutcome>())
        var job = Job("https://example.org/late")
        job.notAfter = 999_999
        _ = try await place.add(job)
        let worker = worker(place, place.hand, outcomes, jobs: 1) { _ throws(Failure) in
            Issue.record("it was made")
            return Self.picture()
        }
        await worker.run()
        #expect(outcomes.all.map(\.code) == ["timeout"])
        #expect(try await place.list(.dead).map(\.id) == [job.id])
    }

    @Test(.enabled(if: RedisServer.isInstalled)) func worksOnAfterRedisWasGone() async throws {
        let (place, outcomes, troubles) = (try Place(.redis), Record<JobOutcome>(), Record<Failure>())
        let worker = Worker(
            place, Worker.Options(name: "tested"), clock: place.hand.clock, report: { outcomes.note($0) },
            trouble: { troubles.note($0) }
        ) { _ throws(Failure) in Self.picture() }
        let run = Task { await worker.run() }
        _ = try await place.add(jobs(0..<1))
        await until { outcomes.count == 1 }
        place.server!.kill()
        await until { troubles.count > 0 }
        #expect(troubles.all.allSatisfy { $0.reason == .unreachable })
        try place.server!.restart()
        _ = try await place.add(jobs(1..<2))
        await until { outcomes.count == 2 }
        worker.stop()
        await run.value
        #expect(outcomes.all.map(\.event) == [.done, .done])
    }

    @Test func givesNoHostMoreThanItsShare() async throws {
        let (place, outcomes, valve) = (try Place(.memory), Record<JobOutcome>(), Valve())
        let other = Job("https://other.example/1")
        _ = try await place.add(jobs(0..<20) + [other])
        let active = Mutex((now: 0, most: 0))
        let worker = worker(place, place.hand, outcomes, change: { $0.perHost = 2 }) {
            request throws(Failure) in
            guard request.url != other.url else { return Self.picture() }
            active.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
            await valve.wait()
            active.withLock { $0.now -= 1 }
            return Self.picture()
        }
        let run = Task { await worker.run() }
        // The other host's job comes through although the first fills what it may.
        await until { outcomes.all.contains { $0.id == other.id } }
        #expect(active.withLock { $0.now } == 2)
        valve.open()
        while outcomes.all.count(where: { $0.event == .done }) < 21 {
            place.hand.advance(.seconds(2))
            await Task.yield()
        }
        worker.stop()
        await run.value
        #expect(active.withLock { $0.most } == 2)
        #expect(try await place.stats().done == 21)
    }

    @Test(arguments: Driver.shared) func hearsOfJobsThatAnotherProcessAdds(_ driver: Driver) async throws {
        let place = try Place(driver)
        let other = try place.another()
        _ = try await other.stats()
        let (heard, start) = (Record<Void>(), ContinuousClock.now)
        let ear = Task {
            // Longer than the test may take, so that only an arrival ends it.
            while ContinuousClock.now < start + .seconds(60) {
                let begin = ContinuousClock.now
                try await place.arrival(within: .seconds(2))
                if ContinuousClock.now - begin < .seconds(1) { return heard.note(()) }
            }
        }
        while heard.count == 0 {
            _ = try await other.add(jobs(0..<1))
            await Task.yield()
        }
        try await ear.value
        #expect(heard.count == 1)
    }
}
