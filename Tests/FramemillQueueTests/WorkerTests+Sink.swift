import Framemill
import FramemillMedia
import Synchronization
import TestSupport
import Testing

@testable import FramemillQueue

extension WorkerTests {
    /// A full disk, for longer than a job has tries: nothing is buried, and the job is done once there is room.
    @Test(arguments: Driver.present) func waitsForAPlaceThatCantTakeResults(_ driver: Driver) async throws {
        let (place, outcomes) = (try Place(driver), Record<JobOutcome>())
        _ = try await place.add(jobs(0..<1))
        let full = Mutex(10)
        let worker = worker(place, place.hand, outcomes, jobs: 1, change: { $0.backoff.tries = 2 }) {
            _ throws(Failure) in
            let isFull = full.withLock { left in
                left -= 1
                return left >= 0
            }
            if isFull { throw Failure(.writeFailed, .store, "no space left on the device") }
            return Self.picture()
        }
        let run = Task { await worker.run() }
        for count in 1...10 {
            await until { outcomes.count >= count }
            place.hand.advance(.seconds(15))
        }
        await run.value
        #expect(outcomes.all.map(\.event) == Array(repeating: .back, count: 10) + [.done])
        #expect(outcomes.all.last?.tries == 1)
        #expect(outcomes.all.first?.code == "write_failed")
        #expect(try await place.stats().dead == 0)
    }
}
