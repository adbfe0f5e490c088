import FramemillMedia
import FramemillQueue
import TestSupport
import Testing

/// What can happen to Redis.
@Suite(.enabled(if: RedisServer.isInstalled)) struct RedisQueueTests {
    private func queue(_ server: RedisServer, _ place: String = "", rules: QueueRules = QueueRules()) throws
        -> RedisQueue
    {
        RedisQueue(try RedisAddress("unix://\(place)\(server.socket)"), rules: rules)
    }

    @Test(arguments: [
        ("redis://h", RedisAddress.Place.host("h", port: 6379), 0),
        ("redis://h:1/2", .host("h", port: 1), 2), ("redis://:p@h", .host("h", port: 6379), 0),
        ("redis://[::1]:7/", .host("::1", port: 7), 0), ("unix:///a/b?db=3", .socket(path: "/a/b"), 3),
    ])
    func readsAnAddress(_ text: String, _ place: RedisAddress.Place, _ database: Int) throws {
        let address = try RedisAddress(text)
        #expect(address.place == place)
        #expect(address.database == database)
    }

    @Test func readsAPasswordAndNeverShowsIt() throws {
        let address = try RedisAddress("redis://me:a%40b:c@h/1")
        #expect([address.user, address.password] == ["me", "a@b:c"])
        #expect(address.displayName == "redis://h:6379/1")
        for text in [
            "rediss://h", "redis://secret@h", "redis://:secret@h:x", "unix://:secret@a", "redis://:%zz@h",
        ] {
            let failure = #expect(throws: Failure.self) { try RedisAddress(text) }
            #expect(failure?.message.contains("secret") == false)
        }
    }

    @Test func aWrongPasswordOrDatabaseIsTheCallers() async throws {
        let server = try RedisServer()
        for (address, word) in [
            ("unix://:secret@\(server.socket)", "password"), ("unix://\(server.socket)?db=99", "database"),
        ] {
            let queue = RedisQueue(try RedisAddress(address))
            let failure = await #expect(throws: Failure.self) { try await queue.stats() }
            #expect(failure?.reason == .badOption, "\(failure?.description ?? "")")
            #expect(
                failure?.message.contains(word) == true && failure?.description.contains("secret") == false)
        }
    }

    @Test func anothersDataUnderOurNamesIsTheOperators() async throws {
        let server = try RedisServer()
        try server.tell("set", "framemill:prefetch", "hello")
        let failure = await #expect(throws: Failure.self) { try await queue(server).stats() }
        #expect(failure?.reason == .writeFailed, "\(failure?.description ?? "")")
        #expect(failure?.message.contains("another database") == true)
    }

    @Test func logsInAndChoosesItsDatabase() async throws {
        let server = try RedisServer(["--requirepass", "a@b"])
        await #expect(throws: Failure.self) { try await queue(server).stats() }
        let inside = RedisQueue(try RedisAddress("unix://:a%40b@\(server.socket)?db=3"), prefix: "other")
        _ = try await inside.add(jobs(0..<1))
        #expect(try server.tell("-a", "a@b", "--no-auth-warning", "-n", "3", "XLEN", "other:backfill") == "1")
        let wrong = RedisQueue(try RedisAddress("unix://:no@\(server.socket)"))
        let failure = await #expect(throws: Failure.self) { try await wrong.stats() }
        #expect(failure?.reason == .badOption)
    }

    @Test func goesOnAfterRedisWasKilledAndStartedAgain() async throws {
        let server = try RedisServer(["--appendonly", "yes", "--appendfsync", "always"])
        let queue = try queue(server)
        _ = try await queue.add(jobs(0..<5))
        let held = try await queue.lease(2, worker: "one", for: .seconds(30))
        server.kill()
        let failure = await #expect(throws: Failure.self) { try await queue.stats() }
        #expect(failure?.reason == .unreachable)
        #expect(failure?.reason.class == .transient)
        try server.restart()
        #expect(try await queue.settle(held.map { Settlement($0.lease, .done("")) }) == [])
        #expect(try await queue.lease(9, worker: "one", for: .seconds(30)).count == 3)
    }

    @Test func sendsAStepAgainOverANewConnection() async throws {
        let server = try RedisServer()
        let queue = try queue(server)
        _ = try await queue.add(jobs(0..<3))
        let held = try await queue.lease(1, worker: "one", for: .seconds(30))
        try server.tell("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
        #expect(try await queue.settle([Settlement(held[0].lease, .done(""))]) == [])
        try server.tell("SCRIPT", "FLUSH")
        #expect(try await queue.lease(9, worker: "one", for: .seconds(30)).count == 2)
    }

    @Test func waitsForAReplicaToBecomeTheMaster() async throws {
        let server = try RedisServer()
        let queue = try queue(server)
        _ = try await queue.add(jobs(0..<1))
        try server.tell("REPLICAOF", "127.0.0.1", "1")
        let failure = await #expect(throws: Failure.self) { try await queue.add(jobs(1..<2)) }
        #expect(failure?.reason == .unreachable)
        try server.tell("REPLICAOF", "NO", "ONE")
        #expect(try await queue.lease(9, worker: "one", for: .seconds(30)).count == 1)
    }

    @Test func refusesWhatIsAddedWhenRedisIsFull() async throws {
        let server = try RedisServer(["--maxmemory-policy", "noeviction"])
        let queue = try queue(server)
        _ = try await queue.add(jobs(0..<1))
        try server.tell("CONFIG", "SET", "maxmemory", "1")
        let failure = await #expect(throws: Failure.self) { try await queue.add(jobs(1..<2)) }
        #expect(failure?.reason == .writeFailed)
        #expect(failure?.message.contains("maxmemory") == true)
        try server.tell("CONFIG", "SET", "maxmemory", "0")
        #expect(try await queue.lease(9, worker: "one", for: .seconds(30)).count == 1)
    }

    @Test func warnsWhenJobsMayBeLost() async throws {
        let server = try RedisServer(["--maxmemory-policy", "allkeys-lru"])
        let warnings = try await queue(server).stats().warnings
        #expect(warnings.contains { $0.contains("allkeys-lru") && $0.contains("noeviction") })
        #expect(warnings.contains { $0.contains("appendonly yes") })
        let good = try RedisServer(["--appendonly", "yes"])
        #expect(try await queue(good).stats().warnings == [])
    }

    @Test func goesOnAfterEverythingWasFlushed() async throws {
        let server = try RedisServer()
        let queue = try queue(server)
        _ = try await queue.add(jobs(0..<5))
        let held = try await queue.lease(2, worker: "one", for: .seconds(30))
        try server.tell("FLUSHALL")
        #expect(try await queue.lease(9, worker: "one", for: .seconds(30)).isEmpty)
        #expect(try await queue.settle([Settlement(held[0].lease, .done(""))]).count == 1)
        _ = try await queue.sweep()
        var again = Job("https://example.org/again")
        again.id = held[1].lease.id
        _ = try await queue.add(again)
        let lease = try await queue.take().lease
        #expect(lease.token > held[1].lease.token)
        #expect(try await queue.end(held[1].lease, .done("")) == [held[1].lease])
    }

    @Test func makesAMissingGroupAnewAndHandsNothingOutTwice() async throws {
        let server = try RedisServer()
        let queue = try queue(server)
        _ = try await queue.add(jobs(0..<5))
        let held = try await queue.lease(2, worker: "one", for: .seconds(30))
        try server.tell("XADD", "framemill:backfill", "*", "job", #"{"url":"https://example.org/raw"}"#)
        try server.tell("XGROUP", "DESTROY", "framemill:backfill", "workers")
        let rest = try await queue.lease(9, worker: "two", for: .seconds(30))
        #expect(rest.count == 4)
        #expect(Set(rest.map(\.lease.id)).isDisjoint(with: held.map(\.lease.id)))
        #expect(try await queue.settle((held + rest).map { Settlement($0.lease, .done("")) }) == [])
        #expect(try server.tell("XLEN", "framemill:backfill") == "0")
    }

    @Test func losesNothingWhenTheStreamIsTrimmedByHand() async throws {
        let server = try RedisServer()
        let queue = try queue(server)
        _ = try await queue.add(jobs(0..<20))
        let held = try await queue.lease(10, worker: "one", for: .seconds(30))
        try server.tell("XTRIM", "framemill:backfill", "MAXLEN", "0")
        #expect(try await queue.lease(20, worker: "two", for: .seconds(30)).isEmpty)
        // A holder has what it needs; the others get a new place in line.
        #expect(try await queue.settle([Settlement(held[0].lease, .done(""))]) == [])
        #expect(try await queue.sweep().repaired == 10)
        #expect(try await queue.lease(20, worker: "two", for: .seconds(30)).count == 10)
    }

    @Test func acknowledgesAPlaceWithoutAJobAndCountsIt() async throws {
        let server = try RedisServer()
        var rules = QueueRules()
        rules.unleased = .zero
        let queue = try queue(server, rules: rules)
        _ = try await queue.add(jobs(0..<3))
        let held = try await queue.lease(1, worker: "one", for: .seconds(30))
        try server.tell("DEL", "framemill:job:\(held[0].lease.id)")
        try server.tell("XADD", "framemill:backfill", "*", "id", "nobody", "at", "1")
        #expect(try await queue.lease(9, worker: "one", for: .seconds(30)).count == 2)
        _ = try await queue.sweep()
        #expect(try server.tell("HGET", "framemill:counts", "bodyless") == "2")
        #expect(try server.tell("XPENDING", "framemill:backfill", "workers").hasPrefix("2\n"))
    }

    @Test func putsBackARunningJobWhoseLeaseWasDeletedByHand() async throws {
        let server = try RedisServer()
        let queue = try queue(server)
        _ = try await queue.add(jobs(0..<3))
        _ = try await queue.lease(3, worker: "one", for: .seconds(30))
        try server.tell("DEL", "framemill:running")
        #expect(try await queue.sweep().repaired == 3)
        #expect(try await queue.lease(9, worker: "two", for: .seconds(30)).count == 3)
    }

    @Test func leavesNothingBehindButResults() async throws {
        let server = try RedisServer()
        let queue = try queue(server)
        var some = jobs(0..<50)
        for index in some.indices { some[index].key = "k\(index)" }
        _ = try await queue.add(some)
        for _ in 0..<5 {
            let held = try await queue.lease(10, worker: "one", for: .seconds(30))
            _ = try await queue.settle(held.map { Settlement($0.lease, .done(#"{"width":1}"#)) })
        }
        _ = try await queue.sweep()
        let keys = try server.tell("KEYS", "*").split(separator: "\n").sorted()
        #expect(
            keys == [
                "framemill:backfill", "framemill:counts", "framemill:interactive", "framemill:prefetch",
                "framemill:results", "framemill:scan", "framemill:token", "framemill:turn",
            ])
        #expect(try server.tell("XLEN", "framemill:backfill") == "0")
        #expect(try server.tell("XLEN", "framemill:results") == "50")
    }
}
