import FramemillEngine
import FramemillMedia
import Testing

@Suite struct StopTests {
    @Test func saysNothingWhileThereIsTime() throws {
        let stop = Stop(after: .seconds(600))
        try stop.check(.fetch)
        #expect(!stop.isOver)
        #expect(!stop.isCancelled)
        #expect(stop.remaining > .seconds(500))
    }

    @Test func namesTheStageThatFoundItCancelled() {
        let stop = Stop(after: .seconds(600))
        stop.raise()
        stop.raise()
        #expect(stop.isOver)
        #expect(stop.isCancelled)
        #expect(throws: Failure(.cancelled, .decode, "cancelled by the caller")) { try stop.check(.decode) }
    }

    @Test func isOverOnceItsTimeHasPassed() {
        let stop = Stop(after: .zero)
        #expect(stop.isOver)
        #expect(!stop.isCancelled)
        #expect(stop.remaining == .zero)
        #expect(throws: Failure.self) { try stop.check(.fetch) }
        do throws(Failure) { try stop.check(.fetch) } catch { #expect(error.reason == .timeout) }
    }

    @Test func cancelledWinsOverLate() {
        let stop = Stop(after: .seconds(-5))
        stop.raise()
        do throws(Failure) { try stop.check(.fetch) } catch { #expect(error.reason == .cancelled) }
        #expect(stop.remaining == .zero)
    }
}
