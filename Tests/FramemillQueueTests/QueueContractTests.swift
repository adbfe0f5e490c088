import FramemillMedia
import FramemillQueue
import TestSupport
import Testing

/// What every driver does alike. Each test gets a queue of its own.
@Suite struct QueueContractTests {
    @Test(arguments: Driver.present) func handsOutWhatWasAddedOnceAndInOrder(_ driver: Driver) async throws {
        let queue = try Place(driver)
        #expect(try await queue.add(jobs(0..<3)) == [.added, .added, .added])
        #expect(try await queue.urls(2) == ["https://example.org/0.mp4", "https://example.org/1.mp4"])
        #expect(try await queue.urls(2) == ["https://example.org/2.mp4"])
        #expect(try await queue.urls(2) == [])
    }

    @Test(arguments: Driver.present) func handsOutAJobAsItWasAdded(_ driver: Driver) async throws {
        let queue = try Place(driver)
        var recipe = Recipe()
        (recipe.box, recipe.format, recipe.at) = (.size(width: 480, height: 270), .webp, .percent(50))
        var job = Job("https://example.org/ü \"x\".mp4?a=1", recipe: recipe, priority: .prefetch)
        (job.mirrors, job.key, job.data) = (["https://mirror.example/x"], "k", "two\nlines\u{0}and more")
        (job.callback, job.notAfter) = ("https://example.org/done", 2_000_000)
        _ = try await queue.add(job)
        let leased = try await queue.take()
        #expect(leased.job == job)
        #expect(leased.tries == 1)
        #expect(leased.lease.id == job.id)
    }

    @Test(arguments: Driver.present) func addsAKeyOnceWhileItsJobIsThere(_ driver: Driver) async throws {
        let queue = try Place(driver)
        var (first, second) = (Job("https://example.org/1"), Job("https://example.org/2"))
        (first.key, second.key) = ("same", "same")
        #expect(try await queue.add(first) == .added)
        #expect(try await queue.add(second) == .duplicate(of: first.id))
        #expect(try await queue.add(first) == .duplicate(of: first.id))
        let held = try await queue.take()
        #expect(try await queue.add(second) == .duplicate(of: first.id))
        _ = try await queue.end(held.lease, .dead(lasting))
        #expect(try await queue.add(second) == .duplicate(of: first.id))
        #expect(try await queue.purge([first.id]) == 1)
        #expect(try await queue.add(second) == .added)
        #expect(try await queue.end(try await queue.take().lease, .done("{}")) == [])
        #expect(try await queue.add(first) == .added)
    }

    @Test(arguments: Driver.present) func findsDuplicatesWithinOneCall(_ driver: Driver) async throws {
        let queue = try Place(driver)
        var twins = jobs(0..<2)
        for index in twins.indices { twins[index].key = "twin" }
        #expect(try await queue.add(twins) == [.added, .duplicate(of: twins[0].id)])
        #expect(try await queue.urls(5).count == 1)
    }

    @Test(arguments: Driver.present) func refusesMoreThanItMayHoldAndKeepsWhatItHas(_ driver: Driver)
        async throws
    {
        var rules = QueueRules()
        rules.depth = 1000
        let queue = try Place(driver, rules: rules)
        var refused = 0
        for start in stride(from: 0, to: 10_000, by: 500) {
            do throws(Failure) { _ = try await queue.add(jobs(start..<start + 500)) } catch {
                #expect(error.reason == .writeFailed)
                #expect(error.message.contains("1000 (QueueRules.depth)"))
                refused += 500
            }
        }
        #expect(refused == 9000)
        #expect(try await queue.urls(2000).count == 1000)
    }

    @Test(arguments: Driver.present) func goesByPriority(_ driver: Driver) async throws {
        let queue = try Place(driver)
        _ = try await queue.add(jobs(0..<1, .backfill) + jobs(1..<2, .interactive) + jobs(2..<3, .prefetch))
        let order = try await queue.lease(3, worker: "one", for: .seconds(9)).map(\.job.priority)
        #expect(order == [.interactive, .prefetch, .backfill])
    }

    @Test(arguments: Driver.present) func keepsWhatIsReservedForInteractiveJobs(_ driver: Driver) async throws
    {
        let place = try Place(driver)
        _ = try await place.add(jobs(0..<9) + jobs(9..<12, .prefetch))
        // Aged ones too.
        place.hand.advance(.seconds(100))
        func take(_ count: Int, reserved: Int) async throws -> [Priority] {
            try await place.handOut(count, reserved: reserved, worker: "one", for: .seconds(9)).map(
                \.priority)
        }
        #expect(try await take(4, reserved: 4) == [])
        #expect(try await take(4, reserved: 9) == [])
        #expect(try await take(6, reserved: 4).count == 2)
        _ = try await place.add(jobs(20..<25, .interactive))
        #expect(try await take(4, reserved: 4) == Array(repeating: .interactive, count: 4))
        let rest = try await take(4, reserved: 1)
        #expect(rest.count == 4)
        #expect(rest.count { $0 == .interactive } == 1)
    }

    @Test(arguments: Driver.present) func givesTheAgedEveryFourthTurn(_ driver: Driver) async throws {
        let place = try Place(driver)
        _ = try await place.add(jobs(0..<10, .backfill))
        place.hand.advance(.seconds(61))
        _ = try await place.add(jobs(100..<140, .interactive))
        var order: [Priority] = []
        for _ in 0..<12 { order.append(try await place.take().job.priority) }
        #expect(order.count { $0 == .backfill } == 3)
        #expect(Set(order.indices.filter { order[$0] == .backfill }.map { $0 % 4 }).count == 1)
        // The same share in one go.
        let many = try await place.lease(16, worker: "one", for: .seconds(9)).map(\.job.priority)
        #expect(many.count { $0 == .backfill } == 4)
    }

    @Test(arguments: Driver.present) func givesTheYoungNoTurnBeforeTheirTime(_ driver: Driver) async throws {
        let place = try Place(driver)
        _ = try await place.add(jobs(0..<10, .backfill))
        place.hand.advance(.seconds(59))
        _ = try await place.add(jobs(100..<140, .interactive))
        let many = try await place.lease(16, worker: "one", for: .seconds(9)).map(\.job.priority)
        #expect(many.allSatisfy { $0 == .interactive })
    }

    @Test(arguments: Driver.present) func keepsBackWhatIsNotDue(_ driver: Driver) async throws {
        let place = try Place(driver)
        var job = Job("https://example.org/later")
        job.notBefore = 1_000_010
        _ = try await place.add(job)
        #expect(try await place.urls(1) == [])
        #expect(try await place.stats().delayed == 1)
        #expect(try await place.show(job.id)?.state == .delayed)
        place.hand.advance(.milliseconds(9999))
        #expect(try await place.urls(1) == [])
        place.hand.advance(.milliseconds(1))
        #expect(try await place.list(.waiting).map(\.id) == [job.id])
        #expect(try await place.urls(1) == ["https://example.org/later"])
    }

    @Test(arguments: Driver.present) func handsOutNothingWhilePaused(_ driver: Driver) async throws {
        let queue = try Place(driver)
        _ = try await queue.add(jobs(0..<2))
        let running = try await queue.take()
        try await queue.pause(host: nil)
        #expect(try await queue.urls(5) == [])
        #expect(try await queue.stats().isPaused)
        #expect(try await queue.end(running.lease, .done("")) == [])
        _ = try await queue.add(jobs(2..<3))
        try await queue.resume(host: nil)
        #expect(try await queue.urls(5).count == 2)
    }

    @Test(arguments: Driver.present) func putsAsideTheJobsOfAPausedHost(_ driver: Driver) async throws {
        let queue = try Place(driver)
        let slow = [Job("https://User:p@Slow.Example:8443/1"), Job("https://slow.example/2")]
        _ = try await queue.add([slow[0]] + jobs(0..<1) + [slow[1]])
        try await queue.pause(host: "slow.example")
        #expect(try await queue.urls(5) == ["https://example.org/0.mp4"])
        #expect(try await queue.stats().parked == 2)
        #expect(try await queue.stats().pausedHosts == ["slow.example"])
        #expect(try await queue.list(.parked).map(\.id).sorted() == slow.map(\.id).sorted())
        try await queue.resume(host: "SLOW.example")
        #expect(try await Set(queue.urls(5)) == Set(slow.map(\.url)))
    }

    @Test(arguments: Driver.present) func buriesWhatNobodyUnderstands(_ driver: Driver) async throws {
        let place = try Place(driver)
        let text = #"{"url": "https://example.org/1", "qualty": 80}"#
        switch driver {
        case .memory: return
        case .sqlite:
            _ = try await place.stats()
            _ = try Tool.output("sqlite3", [place.path, "INSERT INTO enqueue VALUES ('\(text)')"])
        case .redis: try place.server!.tell("XADD", "framemill:backfill", "*", "job", text)
        }
        // Written by another program, at its own time.
        place.hand.advance(.seconds(1 << 40))
        #expect(try await place.urls(3) == [])
        let dead = try await place.list(.dead)
        #expect(dead.map(\.code) == ["bad_option"])
        #expect(dead.first?.message?.contains("qualty") == true)
    }

    @Test(arguments: Driver.shared) func takesJobsOfProducersInAnyLanguage(_ driver: Driver) async throws {
        let place = try Place(driver)
        let lines = [
            #"{"url":"https://example.org/1","size":320,"key":"k","priority":"prefetch"}"#,
            #"{"url":"https://example.org/2","key":"k"}"#,
            #"{"url":"https://example.org/3","id":"mine","not-before":4000000000}"#,
        ]
        _ = try await place.stats()
        for line in lines {
            switch driver {
            case .memory: return
            case .sqlite:
                _ = try Tool.output("sqlite3", [place.path, "INSERT INTO enqueue VALUES ('\(line)')"])
            case .redis: try place.server!.tell("XADD", "framemill:prefetch", "*", "job", line)
            }
        }
        // To the year 2065, which is later than whatever the clock of the machine says.
        place.hand.advance(.seconds(3_000_000_000))
        let leased = try await place.lease(5, worker: "one", for: .seconds(9))
        #expect(leased.map(\.job.url) == ["https://example.org/1"])
        #expect(leased.first?.job.recipe.box == .longestSide(320))
        #expect(leased.first?.job.priority == .prefetch)
        #expect(try await place.show("mine")?.state == .delayed)
        #expect(try await place.end(leased[0].lease, .done("")) == [])
        place.hand.advance(.seconds(1_100_000_000))
        #expect(try await place.urls(5) == ["https://example.org/3"])
    }

    /// It would wait for ever, and nobody would know why.
    @Test(arguments: Driver.shared) func buriesWhatNamesATimeThatNeverComes(_ driver: Driver) async throws {
        let place = try Place(driver)
        _ = try await place.stats()
        let line = #"{"url":"https://example.org/1","not-before":1e300}"#
        if driver == .sqlite {
            try Tool.output("sqlite3", [place.path, "INSERT INTO enqueue VALUES ('\(line)')"])
        } else {
            try place.server!.tell("XADD", "framemill:backfill", "*", "job", line)
        }
        place.hand.advance(.seconds(3_000_000_000))
        #expect(try await place.lease(5, worker: "one", for: .seconds(9)).isEmpty)
        #expect(try await place.list(.dead).first?.message?.contains("at most 1e11") == true)
    }
}
