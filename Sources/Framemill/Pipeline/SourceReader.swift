// One source, read with a thread and a permit: its places in turn, each as often as makes sense, within one deadline.
//
// The deadline counts what a job does and what an origin makes it wait for, not the queue at the gate: a long queue
// fails nobody. A job that waits for another try has left the gate, so that others are worked on meanwhile.

internal import FramemillEngine
internal import FramemillMedia

struct SourceReader: Sendable {
    let configuration: Configuration
    let clock: WallClock
    let fetcher: Fetcher
    let holds = HostHolds()
    let gate: Gate
    let permits: Permits
    let decode: Lane<Void>
    let meters: Meters

    enum Outcome<Value: Sendable>: Sendable {
        case read(Value, place: Int)
        /// Still what was known of it.
        case confirmed(place: Int)
    }

    /// What `work` makes of the first place that gives something. What came of each place is in `places` afterwards.
    /// - Throws: the failure of the first place, since that is the one that was asked for.
    func read<Value: Sendable>(
        _ places: inout [Candidate], priority: Priority,
        _ work: @escaping @Sendable (any ByteReader, Stop) throws(Failure) -> Value
    ) async throws(Failure) -> Outcome<Value> {
        var left = configuration.limits.deadline
        while true {
            var wait = Double.infinity
            for index in places.indices where places[index].isOpen {
                // A copy, so that the array is not held open across an `await`.
                var place = places[index]
                let outcome = await attempt(&place, &left, priority, work)
                places[index] = place
                switch outcome {
                case .success(let value?): return .read(value, place: index)
                case .success(nil): return .confirmed(place: index)
                case .failure(let failure):
                    if [.cancelled, .closed].contains(failure.reason) { throw failure }
                    places[index].fail(failure)
                    if left <= .zero { throw places[0].failure ?? failure }
                    let next = Retry.wait(
                        after: failure, tries: place.tries, most: configuration.retries,
                        chance: clock.chance())
                    places[index].isOpen = next != nil
                    wait = min(wait, next ?? .infinity)
                }
            }
            guard wait < left / .seconds(1) else {
                throw places[0].failure ?? Failure(.internalError, .fetch, "there was no source to ask")
            }
            meters.add("fetch.waits")
            guard await clock.wait(wait) else {
                throw Failure(.cancelled, .fetch, "cancelled while it waited for another try")
            }
            left -= .seconds(wait)
        }
    }

    /// `nil` where the place still is what was known of it.
    private func attempt<Value: Sendable>(
        _ place: inout Candidate, _ left: inout Duration, _ priority: Priority,
        _ work: @escaping @Sendable (any ByteReader, Stop) throws(Failure) -> Value
    ) async -> Result<Value?, Failure> {
        if let failure = holds.failure(for: place.url, now: clock.now()) { return .failure(failure) }
        guard await gate.enter() else {
            return .failure(Failure(.cancelled, .input, "cancelled while it waited for its turn"))
        }
        let start = ContinuousClock.now
        defer {
            gate.leave()
            left -= start.duration(to: .now)
        }
        let stop = Stop(after: left)
        do throws(Failure) {
            let opened = try await fetcher.open(
                place.url, unless: place.known, limits: configuration.limits, stop: stop, permits: permits,
                priority: priority)
            place.take(opened.answer, configuration.freshness, confirms: opened.reader == nil)
            guard let reader = opened.reader else { return .success(nil) }
            return .success(
                try await decode.run(priority: priority, stop: stop) { [permits] _, stop throws(Failure) in
                    try permits.holding(priority: priority) { () throws(Failure) in try work(reader, stop) }
                })
        } catch {
            place.tries += 1
            holds.note(error, of: place.url, now: clock.now())
            return .failure(error)
        }
    }
}

extension Configuration {
    /// What is assumed of origins that say nothing.
    var freshness: FreshnessDefaults {
        var defaults = FreshnessDefaults()
        defaults.maxAge = Int(assumedMaxAge.components.seconds)
        defaults.staleWhileRevalidate = Int(staleWhileRevalidate.components.seconds)
        defaults.staleIfError = Int(staleIfError.components.seconds)
        return defaults
    }
}
