import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// B08: many pictures of one host, which has room for four at a time.
@Suite struct HostGateTests {
    /// How many were made, and how many the host turned away.
    private func run(
        _ mode: String, count: Int = 1000, _ change: (inout Configuration) -> Void = { _ in }
    ) async throws -> (made: Int, refused: Int) {
        let bench = try FreshBench(nil, change)
        let requests = (0..<count).map {
            Request(bench.server.url("/\(mode)/4/\($0)"), priority: .backfill)
        }
        var made = 0
        for await (_, outcome) in bench.mill.covers(for: requests) {
            if case .success = outcome { made += 1 }
        }
        return (made, bench.server.log.filter { $0.hasPrefix("refused") }.count)
    }

    @Test func turnsToTheNumberThatAHostHasRoomFor() async throws {
        let (made, refused) = try await run("crowded")
        #expect(made == 1000)
        // At first two too many, and now and then one more is tried.
        #expect(refused > 0 && refused < 20)
    }

    @Test func turnsToItAlsoWhereConnectionsAreClosed() async throws {
        let (made, refused) = try await run("crowdedhard")
        #expect(made == 1000)
        #expect(refused > 0 && refused < 60)
    }

    @Test func neverExceedsWhatItIsTold() async throws {
        let (made, refused) = try await run("crowded") { $0.perHost = 4 }
        #expect(made == 1000 && refused == 0)
    }

    private func leave(_ hosts: HostGates, _ failure: Failure? = nil) {
        hosts.note(failure, of: "a")
        hosts.leave("a")
    }

    @Test func narrowsAndWidens() async {
        let (hosts, urgency) = (HostGates(width: 6), Urgency(.backfill))
        let full = Failure(.http(503), .fetch, "full")
        for _ in 0..<6 { #expect(await hosts.enter("a", urgency)) }
        leave(hosts, full)
        leave(hosts, full)
        #expect(hosts.width(of: "a") == 4)
        for _ in 0..<4 { leave(hosts) }
        // Alone it was not turned away for the others' sake.
        #expect(await hosts.enter("a", urgency))
        leave(hosts, full)
        #expect(hosts.width(of: "a") == 4 && hosts.width(of: "b") == 6)
        for _ in 0..<123 {
            #expect(await hosts.enter("a", urgency))
            leave(hosts)
        }
        #expect(hosts.width(of: "a") == 4)
        #expect(await hosts.enter("a", urgency))
        leave(hosts)
        #expect(hosts.width(of: "a") == 5)
    }

    /// One by one, each with its wait for a connection, a long list of them would take for ever.
    @Test func staysWideForAHostThatIsDown() async {
        let (hosts, urgency) = (HostGates(width: 6), Urgency(.backfill))
        for _ in 0..<6 { #expect(await hosts.enter("a", urgency)) }
        for _ in 0..<6 { leave(hosts, Failure(.unreachable, .fetch, "down")) }
        #expect(hosts.width(of: "a") == 6)
    }

    @Test func forgetsHostsAndThoseWhoLeaveTheQueue() async {
        let (hosts, urgency) = (HostGates(width: 1), Urgency(.backfill))
        #expect(await hosts.enter("a", urgency))
        let waiter = Task { await hosts.enter("a", urgency) }
        while urgency.watching < 1 { await Task.yield() }
        waiter.cancel()
        #expect(await !waiter.value)
        leave(hosts)
        #expect(hosts.count == 0 && urgency.watching == 0)
    }
}
