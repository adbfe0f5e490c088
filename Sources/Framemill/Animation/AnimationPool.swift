internal import FramemillEngine
internal import FramemillMedia

/// Where the frames of one animation are decoded. All animations of one `Framemill` share the threads.
///
/// A first frame goes before all frames behind the first, whoever's they are: it has a priority, and threads, that
/// those don't have, and between two frames they hand their permits to it.
struct AnimationPool: Sendable {
    let decode: Lane<Void>
    let play: Lane<Void>
    let permits: Permits
    /// For each step, from when a thread and a permit are there for it.
    let deadline: Duration
    let windowBytes: Int
    let priority: Priority

    /// Of the frames behind the first.
    private var later: Priority { Priority(rawValue: priority.rawValue + 1) ?? priority }

    /// Decodes a first frame, or any frame alone.
    func decodeOne<Value: Sendable>(
        _ isFirst: Bool, _ body: @escaping @Sendable (Crew, Stop) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        // A frame alone may take many that come before it, so it stands back for its equals too.
        let crew = Crew(
            play, permits: permits, priority: isFirst ? priority : later, isPatient: !isFirst)
        return try await run(
            on: decode, isFirst ? priority : later, crew, atOnce: isFirst && priority == .interactive, body)
    }

    /// Decodes one window of what follows.
    func decodeMore<Value: Sendable>(
        _ body: @escaping @Sendable (Crew, Stop) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await run(on: play, later, Crew(play, permits: permits, priority: later), body)
    }

    private func run<Value: Sendable>(
        on lane: Lane<Void>, _ priority: Priority, _ crew: Crew, atOnce: Bool = false,
        _ body: @escaping @Sendable (Crew, Stop) throws(Failure) -> Value
    ) async throws(Failure) -> Value {
        try await lane.run(priority: priority, stop: Stop()) {
            [permits, deadline] _, stop throws(Failure) in
            let work = { () throws(Failure) in
                try stop.limiting(to: deadline) { stop throws(Failure) in try body(crew, stop) }
            }
            // One frame is short, and what others have in hand may take as long as it: that wait would double it.
            return atOnce
                ? try permits.holdingAtOnce(work) : try permits.holding(priority: priority, work)
        }
    }
}
