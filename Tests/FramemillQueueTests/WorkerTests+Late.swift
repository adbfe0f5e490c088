import Framemill
import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import FramemillQueue

extension WorkerTests {
    /// A tarpit holds all slots; whoever comes behind it is worked on all the same.
    @Test(arguments: Driver.present) func givesTheSlotOfALateJobToAnother(_ driver: Driver) async throws {
        let (place, outcomes, valve) = (try Place(driver), Record<JobOutcome>(), Valve())
        let slow = (0..<4).map { Job("https://slow.example/\($0)") }
        _ = try await place.add(slow)
        let worker = worker(place, place.hand, outcomes, change: { $0.slots = 4 }) {
            request throws(Failure) in
            if request.url.contains("slow") { await valve.wait() }
            return Self.picture()
        }
        let run = Task { await worker.run() }
        await valve.arrivals(4)
        _ = try await place.add(jobs(0..<20))
        #expect(worker.running == 4)
        place.hand.advance(.milliseconds(1001))
        await until { outcomes.count == 20 }
        #expect(worker.running == 4)
        valve.open()
        await until { outcomes.count == 24 }
        worker.stop()
        await run.value
        #expect(outcomes.all.allSatisfy { $0.event == .done && $0.tries == 1 })
    }

    /// Whoever waits for a picture need not wait for a slot first.
    @Test(arguments: Driver.present) func keepsSlotsForThoseInAHurry(_ driver: Driver) async throws {
        let (place, outcomes, valve) = (try Place(driver), Record<JobOutcome>(), Valve())
        _ = try await place.add((0..<30).map { Job("https://h\($0).example/") })
        let worker = worker(place, place.hand, outcomes, change: { $0.slots = 16 }) {
            request throws(Failure) in
            if !request.url.contains("hurry") { await valve.wait() }
            return Self.picture()
        }
        let run = Task { await worker.run() }
        await valve.arrivals(16)
        _ = try await place.add((0..<9).map { Job("https://hurry\($0).example/", priority: .interactive) })
        await until { outcomes.count == 9 }
        #expect(worker.running == 16)
        valve.open()
        await until { outcomes.count == 39 }
        worker.stop()
        await run.value
    }

    @Test func worksOnTwiceItsSlotsAtMost() async throws {
        let (place, outcomes, valve) = (try Place(.memory), Record<JobOutcome>(), Valve())
        _ = try await place.add((0..<10).map { Job("https://h\($0).example/") })
        let worker = worker(place, place.hand, outcomes, change: { $0.slots = 2 }) { _ throws(Failure) in
            await valve.wait()
            return Self.picture()
        }
        let run = Task { await worker.run() }
        await valve.arrivals(2)
        place.hand.advance(.seconds(2))
        await valve.arrivals(4)
        place.hand.advance(.seconds(2))
        // It has looked for more at least once by then.
        _ = try await place.add(Job("https://last.example/", priority: .prefetch))
        let before = worker.running
        valve.open()
        await until { outcomes.count == 11 }
        worker.stop()
        await run.value
        #expect(before == 4)
    }

    /// Every decode blocks its thread; what holds on to jobs, and what says how the worker is, does not notice.
    @Test(arguments: Driver.present) func holdsOnWhileEveryThreadThatComputesIsBlocked(_ driver: Driver)
        async throws
    {
        let (place, outcomes, valve) = (try Place(driver), Record<JobOutcome>(), Valve())
        let (decode, pulse) = (Lane("blocked", width: 8) { () }, Pulse())
        _ = try await place.add((0..<8).map { Job("https://h\($0).example/") })
        let worker = worker(
            place, place.hand, outcomes, jobs: 8,
            change: { $0.lease = .milliseconds(300) }
        ) { _ throws(Failure) in
            try await decode.run(stop: Stop()) { (_, _) throws(Failure) in valve.block() }
            return Self.picture()
        }
        let health = try HealthServer(address: "127.0.0.1", port: 0) { path in
            pulse.page(
                path, .init(running: worker.running, oldestSeconds: 0, isDraining: false, meters: [:]))
        }
        let run = Task { await worker.run() }
        await valve.arrivals(8)
        // For five times the length of a lease they stay its own.
        for _ in 0..<10 {
            place.hand.advance(.milliseconds(150))
            let wanted = place.hand.clock.now() + 300
            while try await place.list(.running).contains(where: { ($0.expires ?? 0) < wanted }) {}
        }
        let url = "http://127.0.0.1:\(health.port)/healthz"
        #expect(try Tool.run("curl", ["--silent", url]).text == "alive\n")
        valve.open()
        await run.value
        decode.close()
        #expect(outcomes.all.map(\.event) == Array(repeating: .done, count: 8))
        #expect(outcomes.all.allSatisfy { $0.tries == 1 })
    }
}
