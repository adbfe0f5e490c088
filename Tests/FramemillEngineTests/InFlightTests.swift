import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@Suite struct InFlightTests {
    private typealias Work = InFlight<String, Int>

    /// Starts callers of one key and returns once all of them wait.
    private func callers(
        _ count: Int, of work: Work, _ make: @escaping @Sendable () async throws(Failure) -> Int
    ) async -> [Task<Result<Int, Failure>, Never>] {
        let before = work.waiting(for: "key")
        let tasks = (0..<count).map { _ in
            Task { () -> Result<Int, Failure> in
                do throws(Failure) { return .success(try await work.value(for: "key", make)) } catch {
                    return .failure(error)
                }
            }
        }
        await until { work.waiting(for: "key") == before + count }
        return tasks
    }

    @Test func makesOneValueForTwoHundredCallers() async throws {
        let (work, valve, made) = (Work(), Valve(), Record<Int>())
        let tasks = await callers(200, of: work) {
            made.note(1)
            await valve.wait()
            return 7
        }
        valve.open()
        for task in tasks { #expect(try await task.value.get() == 7) }
        #expect(made.count == 1)
        #expect(work.count == 0)
        #expect(work.remembered == 0)
    }

    /// B42: half give up, the first caller among them.
    @Test func goesOnWhileAnybodyWaits() async throws {
        let (work, valve, made) = (Work(), Valve(), Record<Int>())
        let make: @Sendable () async throws(Failure) -> Int = {
            made.note(1)
            await valve.wait()
            return Task.isCancelled ? -1 : 7
        }
        let first = await callers(1, of: work, make)
        let tasks = first + (await callers(199, of: work, make))
        for index in stride(from: 0, to: 200, by: 2) { tasks[index].cancel() }
        for index in stride(from: 0, to: 200, by: 2) {
            await fails(.cancelled) { _ = try await tasks[index].value.get() }
        }
        #expect(work.waiting(for: "key") == 100)
        valve.open()
        for index in stride(from: 1, to: 200, by: 2) { #expect(try await tasks[index].value.get() == 7) }
        #expect(made.count == 1)
    }

    @Test func stopsWhenTheLastOneLeaves() async throws {
        let (work, valve, ends) = (Work(), Valve(), Record<Bool>())
        let tasks = await callers(3, of: work) {
            await valve.wait()
            ends.note(Task.isCancelled)
            return 1
        }
        for task in tasks { task.cancel() }
        for task in tasks { _ = await task.value }
        #expect(work.count == 0)
        valve.open()
        await until { ends.count == 1 }
        #expect(ends.all == [true])
    }

    @Test func forgetsAFailure() async throws {
        let (work, tries) = (Work(), Record<Int>())
        let make: @Sendable () async throws(Failure) -> Int = { () throws(Failure) -> Int in
            tries.note(1)
            if tries.count == 1 { throw Failure(.http(503), .fetch, "busy") }
            return 5
        }
        await fails(.http(503)) { _ = try await work.value(for: "key", make) }
        #expect(try await work.value(for: "key", make) == 5)
        #expect(tries.count == 2)
    }

    @Test func aLateEndDoesNotHitANewerComputation() async throws {
        let (work, old, new) = (Work(), Valve(), Valve())
        let ended = Record<Int>()
        let first = await callers(1, of: work) {
            await old.wait()
            defer { ended.note(1) }
            return 1
        }
        first[0].cancel()
        _ = await first[0].value
        let second = await callers(1, of: work) {
            await new.wait()
            return 2
        }
        old.open()
        await until { ended.count == 1 }
        // The old one has its value by now and tries to hand it out; the new one must still be there, and be right.
        for _ in 0..<100 { await Task.yield() }
        #expect(work.waiting(for: "key") == 1)
        new.open()
        #expect(try await second[0].value.get() == 2)
    }

    @Test func keepsKeysApart() async throws {
        let work = Work()
        #expect(try await work.value(for: "a") { 1 } == 1)
        #expect(try await work.value(for: "b") { 2 } == 2)
        #expect(work.count == 0)
    }

    @Test func keepsNothingOfThoseCancelledAroundTheirAnswer() async {
        let work = Work()
        for _ in 0..<1000 {
            let valve = Valve()
            let tasks = await callers(2, of: work) {
                await valve.wait()
                return 1
            }
            async let cancelled: Void = tasks[0].cancel()
            valve.open()
            await cancelled
            for task in tasks { _ = await task.value }
        }
        #expect(work.remembered == 0)
        #expect(work.count == 0)
    }
}
