import FramemillEngine
import FramemillMedia
import Synchronization
import TestSupport
import Testing

@Suite struct LaneTests {
    private func stop() -> Stop { Stop(after: .seconds(600)) }

    /// Counts how many were made and freed, and knows which of them it is.
    private struct Handle: ~Copyable {
        let number: Int
        private let freed: Record<Int>
        init(_ made: Record<Int>, _ freed: Record<Int>) {
            number = made.count
            self.freed = freed
            made.note(number)
        }
        deinit { freed.note(number) }
    }

    @Test func givesEachThreadOneContextAndFreesItThere() async throws {
        let (made, freed, valve) = (Record<Int>(), Record<Int>(), Valve())
        let lock = Mutex(())
        let lane = Lane<Handle>("test", width: 3) { lock.withLock { _ in Handle(made, freed) } }
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<3 {
                group.addTask { _ = try? await lane.run(stop: self.stop()) { _, _ in valve.block() } }
            }
            await valve.arrivals(3)
            valve.open()
        }
        #expect(made.count == 3)
        for _ in 0..<50 { _ = try await lane.run(stop: stop()) { handle, _ in handle.number } }
        #expect(made.count == 3)
        #expect(freed.count == 0)
        lane.close()
        lane.join()
        #expect(freed.all.sorted() == [0, 1, 2])
    }

    @Test func triesAgainToMakeAContextThatFailed() async throws {
        let tries = Record<Int>()
        let lane = Lane<Int>("test", width: 1) { () throws(Failure) -> Int in
            tries.note(1)
            if tries.count == 1 { throw Failure(.outOfMemory, .decode, "no memory for the first") }
            return tries.count
        }
        await #expect(throws: Failure(.outOfMemory, .decode, "no memory for the first")) {
            try await lane.run(stop: self.stop()) { context, _ in context }
        }
        #expect(try await lane.run(stop: stop()) { context, _ in context } == 2)
    }

    @Test func refusesWorkOnceClosed() async {
        let lane = Lane<Void>("test", width: 1) { () }
        lane.close()
        lane.close()
        await fails(.closed) { try await lane.run(stop: self.stop()) { _, _ in mustNotRun() } }
        lane.join()
    }

    @Test func finishesWhatIsQueuedWhenItCloses() async {
        let (lane, valve, ran) = (Lane<Void>("test", width: 1) { () }, Valve(), Record<Int>())
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = try? await lane.run(stop: self.stop()) { _, _ in valve.block() } }
            await valve.arrivals(1)
            for number in 0..<5 {
                group.addTask { _ = try? await lane.run(stop: self.stop()) { _, _ in ran.note(number) } }
            }
            await until { lane.queued == 5 }
            lane.close()
            valve.open()
        }
        lane.join()
        #expect(ran.all.sorted() == [0, 1, 2, 3, 4])
    }

    @Test func closesWhenNobodyHoldsItAnyMore() async throws {
        let (made, freed) = (Record<Int>(), Record<Int>())
        var lane: Lane<Handle>? = Lane<Handle>("test", width: 1) { Handle(made, freed) }
        _ = try await lane?.run(stop: stop()) { handle, _ in handle.number }
        lane = nil
        await until { freed.count == 1 }
    }

    @Test func answersACancelledQueuedJobAtOnceAndNeverRunsIt() async {
        let (lane, valve, stop) = (Lane<Void>("test", width: 1) { () }, Valve(), self.stop())
        let holder = Task { () -> Void in _ = try? await lane.run(stop: self.stop()) { _, _ in valve.block() }
        }
        await valve.arrivals(1)
        let queued = Task { () -> Failure? in
            do throws(Failure) { try await lane.run(stop: stop) { _, _ in mustNotRun() } } catch {
                return error
            }
            return nil
        }
        await until { lane.queued == 1 }
        queued.cancel()
        // The only thread is still held by the valve: nobody but the cancellation can have answered.
        #expect(await queued.value?.reason == .cancelled)
        #expect(stop.isCancelled)
        valve.open()
        await holder.value
        lane.close()
        lane.join()
    }

    @Test func neverQueuesForATaskThatIsAlreadyCancelled() async {
        let (lane, valve, gate) = (Lane<Void>("test", width: 1) { () }, Valve(), Valve())
        let holder = Task { () -> Void in _ = try? await lane.run(stop: self.stop()) { _, _ in valve.block() }
        }
        await valve.arrivals(1)
        let late = Task { () -> Void in
            await gate.wait()
            await fails(.cancelled) { try await lane.run(stop: self.stop()) { _, _ in mustNotRun() } }
            #expect(lane.queued == 0)
        }
        late.cancel()
        gate.open()
        await late.value
        valve.open()
        await holder.value
    }

    @Test func neverRunsAJobWhoseStopIsOver() async {
        let lane = Lane<Void>("test", width: 1) { () }
        let raised = stop()
        raised.raise()
        await fails(.cancelled) { try await lane.run(stop: raised) { _, _ in mustNotRun() } }
        await fails(.timeout) {
            try await lane.run(stop: Stop(after: .zero)) { _, _ in mustNotRun() }
        }
    }

    @Test func tellsARunningJobThatItWasCancelled() async {
        let (lane, valve) = (Lane<Void>("test", width: 1) { () }, Valve())
        let task = Task { () -> Void in
            await fails(.cancelled) {
                try await lane.run(stop: self.stop()) { _, stop throws(Failure) in
                    valve.block()
                    try stop.check(.decode)
                }
            }
        }
        await valve.arrivals(1)
        task.cancel()
        valve.open()
        await task.value
    }

    @Test func takesTheHigherPriorityFirst() async {
        let order = await drain([(.backfill, 3), (.prefetch, 3), (.interactive, 3)])
        #expect(order == [.interactive, .prefetch, .backfill].flatMap { [$0, $0, $0] })
    }

    @Test func letsNobodyStarve() async throws {
        // Both lower priorities have seen more than enough younger jobs arrive; more of the highest are there to go on.
        let order = await drain([(.backfill, 20), (.prefetch, 20), (.interactive, 400)])
        let share = order.prefix(160)
        #expect(share.count { $0 == .backfill } == 20)
        #expect(share.count { $0 == .prefetch } == 20)
        #expect(share.count { $0 == .interactive } == 120)
    }

    /// Queues jobs behind a closed valve, then opens it and says in which order a single thread took them.
    private func drain(_ jobs: [(priority: Priority, count: Int)]) async -> [Priority] {
        let (lane, valve, ran) = (Lane<Void>("test", width: 1) { () }, Valve(), Record<Priority>())
        await withTaskGroup(of: Void.self) { group in
            group.addTask { _ = try? await lane.run(stop: self.stop()) { _, _ in valve.block() } }
            await valve.arrivals(1)
            var queued = 0
            for (priority, count) in jobs {
                for _ in 0..<count {
                    group.addTask {
                        try? await lane.run(priority: priority, stop: self.stop()) { _, _ in
                            ran.note(priority)
                        }
                    }
                }
                queued += count
                let expected = queued
                await until { lane.queued == expected }
            }
            valve.open()
        }
        lane.close()
        lane.join()
        return ran.all
    }

    @Test func keepsNothingThatAFinishedJobHeld() async throws {
        final class Load: Sendable {}
        let lane = Lane<Void>("test", width: 1) { () }
        var load: Load? = Load()
        weak let trace = load
        try await lane.run(stop: stop()) { [load] _, _ in _ = load }
        load = nil
        // The thread lets go of the job a moment after it has answered: a second job comes after that.
        try await lane.run(stop: stop()) { _, _ in }
        #expect(trace == nil)
    }
}

/// Expects a failure for this reason.
func fails(_ reason: Failure.Reason, _ body: () async throws -> Void) async {
    do {
        try await body()
        Issue.record("should have failed: \(reason.code)")
    } catch {
        #expect((error as? Failure)?.reason == reason)
    }
}

@Sendable func mustNotRun() { Issue.record("ran") }
