import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// One fetch and one decode for all who want the same at one time.
@Suite struct PipelineSharingTests {
    @Test func fetchesAndDecodesOnceForAThousandCallers() async throws {
        let valve = Valve()
        let bench = try FreshBench(valve)
        let url = try bench.server.script("a", .init(body: "one"))
        let callers = (0..<1000).map { _ in Task { try await bench.cover(url).text } }
        await valve.arrivals(1)
        valve.open()
        for caller in callers { #expect(try await caller.value == "one") }
        #expect(bench.requests == 1 && bench.renderer.count == 1)
    }

    /// B42
    @Test func worksOnForThoseWhoStay() async throws {
        let valve = Valve()
        let bench = try FreshBench(valve)
        let url = try bench.server.script("a", .init(status: 503), .init(body: "one"))
        let first = Task { try await bench.cover(url).text }
        await valve.arrivals(1)
        let callers = (1..<200).map { _ in Task { try await bench.cover(url).text } }
        while try await bench.mill.waiting(for: Request(url)) < 200 { await Task.yield() }
        first.cancel()
        for caller in callers[..<99] { caller.cancel() }
        await #expect(throws: Failure.self) { try await first.value }
        for caller in callers[..<99] { await #expect(throws: Failure.self) { try await caller.value } }
        valve.open()
        for caller in callers[99...] { #expect(try await caller.value == "one") }
        // It failed once and was tried again.
        #expect(bench.requests == 2 && bench.renderer.count == 1)
    }

    @Test func asksOnceForTwoProcessesOnOneFolder() async throws {
        let folder = try TemporaryFolder()
        let valve = Valve()
        let first = try FreshBench(valve, cache: folder.path)
        // Two caches, two lock files: to the kernel the same as two processes.
        let second = try FreshBench(valve, cache: folder.path, server: first.server)
        let url = try first.server.script("a", .init(["Cache-Control": "max-age=60"], body: "one"))
        let callers = [first, second].flatMap { bench in
            (0..<20).map { _ in Task { try await bench.cover(url).text } }
        }
        await valve.arrivals(1)
        valve.open()
        for caller in callers { #expect(try await caller.value == "one") }
        #expect(first.requests == 1 && first.renderer.count + second.renderer.count == 1)
        // And later as well: what one of them confirms, the other knows.
        for bench in [first, second] { bench.time.advance(61) }
        #expect(try await first.cover(url).text == "one")
        #expect(try await second.cover(url).text == "one")
        #expect(first.requests == 2)
    }

    /// A person who joins what nobody waited for gets it in a person's time.
    @Test func goesAsSoonAsTheMostUrgentOfItsCallersWould() async throws {
        let valve = Valve()
        let bench = try FreshBench(valve) {
            $0.jobs = 1
            $0.permits = 1
        }
        let urls = try ["busy", "first", "second", "wanted"].map {
            try bench.server.script($0, .init(body: $0))
        }
        func ask(_ url: String, _ priority: Priority) -> Task<Artifact, any Error> {
            Task { try await bench.mill.cover(for: Request(url, priority: priority)) }
        }
        var tasks = [ask(urls[0], .backfill)]
        await valve.arrivals(1)
        for url in urls[1...] {
            tasks.append(ask(url, .backfill))
            while bench.mill.waitingAtTheGate < tasks.count - 1 { await Task.yield() }
        }
        let person = ask(urls[3], .interactive)
        while try await bench.mill.waiting(for: Request(urls[3])) < 2 { await Task.yield() }
        valve.open()
        for task in tasks + [person] { _ = try await task.value }
        let order = bench.server.log.compactMap { $0.split(separator: " ").dropFirst().first?.dropFirst(8) }
        #expect(order == ["busy", "wanted", "first", "second"])
    }

    @Test func waitsForALeaseUntilItsHolderIsDone() async throws {
        let folder = try TemporaryFolder()
        let first = Leases(folder: folder.path, width: 2)
        let second = Leases(folder: folder.path, width: 2)
        #expect(await first.take(key(1), within: .seconds(60)))
        #expect(await second.take(key(2), within: .seconds(60)))
        let waiter = Task { await second.take(key(1), within: .seconds(60)) }
        first.give(key(1))
        #expect(await waiter.value)
        #expect(await first.take(key(2), within: .zero) == false)
        let other = Task { await first.take(key(1), within: .seconds(60)) }
        other.cancel()
        #expect(await other.value == false)
    }

    @Test func doesWithoutALeaseWhereThereCanBeNone() async {
        #expect(await Leases(folder: "/proc/no", width: 2).take(key(1), within: .seconds(60)) == false)
    }
}
