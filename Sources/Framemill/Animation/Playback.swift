// One playing of an animation: a step on the pool decodes a window of frames while the consumer works on those of the
// window before. The first window is one frame. Bounded by bytes: the frames that wait, those in the making with all
// that they need, and the canvas between them stay within the budget, or are one frame where that is more.

internal import FramemillEngine
internal import FramemillMedia

/// Not `Sendable`: one consumer, one call at a time.
final class Playback {
    private struct Step: Sendable {
        var frames: [AnimationFrame]
        var place: AnimationPlace
    }

    private let decoder: any AnimationDecoder
    private let pool: AnimationPool
    private let canvasBytes: Int
    private let frameCount: Int
    private var place = AnimationPlace()
    private var ready: ArraySlice<AnimationFrame> = []
    /// Doesn't hold the playback, which would otherwise live for as long as its last step.
    private var step: Task<Result<Step, Failure>, Never>?
    private var hasBegun = false
    private var hasEnded = false

    init(_ decoder: any AnimationDecoder, _ pool: AnimationPool) {
        self.decoder = decoder
        self.pool = pool
        let facts = decoder.facts
        canvasBytes = facts.canvasBytes
        frameCount = facts.frameCount
    }

    deinit { step?.cancel() }

    func next() async throws(Failure) -> AnimationFrame? {
        if hasEnded { return nil }
        if Task.isCancelled { throw end(Failure(.cancelled, .decode, "cancelled by the caller")) }
        if ready.isEmpty {
            guard let step = step ?? start() else { return nil }
            let outcome = await withTaskCancellationHandler {
                await step.value
            } onCancel: {
                step.cancel()
            }
            self.step = nil
            switch outcome {
            case .success(let done):
                place = done.place
                ready = done.frames[...]
            case .failure(let failure): throw end(failure)
            }
        }
        guard let frame = ready.popFirst() else {
            hasEnded = true
            return nil
        }
        // An empty slice still holds the frames it once had.
        if ready.isEmpty { ready = [] }
        if step == nil, isRoom { _ = start() }
        return frame
    }

    private func end(_ failure: Failure) -> Failure {
        step?.cancel()
        (step, ready, hasEnded) = (nil, [], true)
        return failure
    }

    /// What the next window may take: the budget less the canvas it is drawn on and the frames that wait.
    private var free: Int { pool.windowBytes - canvasBytes * (1 + ready.count) }

    /// Whether the next window is worth a step by now: half the budget, or if that is more a frame for each core with
    /// its undrawn pixels. A consumer that is behind finds the other half ready.
    private var isRoom: Bool {
        if ready.isEmpty { return true }
        let most = pool.windowBytes - canvasBytes
        return free >= min(most, max(most / 2, pool.permits.count * canvasBytes * 2)) && free > canvasBytes
    }

    private func start() -> Task<Result<Step, Failure>, Never>? {
        guard place.next < frameCount else { return nil }
        let (decoder, pool, place) = (decoder, pool, place)
        let bytes = hasBegun ? max(1, free) : 1
        let body: @Sendable (Crew, Stop) throws(Failure) -> Step = { crew, stop throws(Failure) in
            var place = place
            let frames = try decoder.frames(from: &place, windowBytes: bytes, crew: crew, stop: stop)
            return Step(frames: frames, place: place)
        }
        let isFirst = !hasBegun
        hasBegun = true
        let step = Task<Result<Step, Failure>, Never> {
            do throws(Failure) {
                return .success(
                    isFirst ? try await pool.decodeOne(true, body) : try await pool.decodeMore(body))
            } catch {
                return .failure(error)
            }
        }
        self.step = step
        return step
    }
}
