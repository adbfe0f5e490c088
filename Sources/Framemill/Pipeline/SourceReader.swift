// One source, read with a thread and a permit: its places in turn, each as often as makes sense, within one deadline.
//
// The deadline counts what a job does and what an origin makes it wait for, not the queues at the gates, that of its host
// and that of all: a long queue fails nobody. A job that waits for another try has left the gates, so that others are
// worked on meanwhile.

internal import FramemillEngine
internal import FramemillMedia

struct SourceReader: Sendable {
    let configuration: Configuration
    let clock: WallClock
    let fetcher: Fetcher
    let holds = HostHolds()
    let hosts: HostGates
    /// `nil` where no bytes of sources are kept.
    let sources: SourceStore?
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
        _ places: inout [Candidate], _ urgency: Urgency,
        _ work: @escaping @Sendable (any ByteReader, Stop) throws(Failure) -> Value
    ) async throws(Failure) -> Outcome<Value> {
        var left = configuration.limits.deadline
        while true {
            var wait = Double.infinity
            for index in places.indices where places[index].isOpen {
                // A copy, so that the array is not held open across an `await`.
                var place = places[index]
                let outcome = await attempt(&place, &left, urgency, work)
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
        _ place: inout Candidate, _ left: inout Duration, _ urgency: Urgency,
        _ work: @escaping @Sendable (any ByteReader, Stop) throws(Failure) -> Value
    ) async -> Result<Value?, Failure> {
        let origin = Location.origin(of: place.url)
        if let origin, await !hosts.enter(origin, urgency) { return .failure(Self.leftTheQueue) }
        defer { if let origin { hosts.leave(origin) } }
        // Asked only now: others may have been told so while this one waited.
        if let failure = holds.failure(for: place.url, now: clock.now()) { return .failure(failure) }
        let outcome = await admitted(&place, &left, urgency, work)
        if let origin { hosts.note(outcome.failure, of: origin) }
        return outcome
    }

    private func admitted<Value: Sendable>(
        _ place: inout Candidate, _ left: inout Duration, _ urgency: Urgency,
        _ work: @escaping @Sendable (any ByteReader, Stop) throws(Failure) -> Value
    ) async -> Result<Value?, Failure> {
        guard await gate.enter(urgency) else { return .failure(Self.leftTheQueue) }
        let start = ContinuousClock.now
        defer {
            gate.leave()
            left -= start.duration(to: .now)
        }
        let stop = Stop(after: left)
        var blocks = await sources?.blocks(of: place.url)
        while true {
            do throws(Failure) {
                return .success(try await once(&place, blocks, stop, urgency, work))
            } catch {
                if blocks != nil, error.reason == .sourceChanged {
                    // Since they were kept: all of it is fetched.
                    await sources?.drop(place.url)
                    blocks = nil
                    continue
                }
                place.tries += 1
                holds.note(error, of: place.url, now: clock.now())
                return .failure(error)
            }
        }
    }

    private func once<Value: Sendable>(
        _ place: inout Candidate, _ blocks: SourceBlocks?, _ stop: Stop, _ urgency: Urgency,
        _ work: @escaping @Sendable (any ByteReader, Stop) throws(Failure) -> Value
    ) async throws(Failure) -> Value? {
        let trusts = blocks.map { place.trusts($0, now: clock.seconds) } ?? false
        let opened = try await fetcher.open(
            place.url, unless: place.known, blocks: blocks, trusts: trusts, limits: configuration.limits,
            stop: stop, permits: permits, urgency: urgency)
        place.take(opened, configuration.freshness)
        guard let reader = opened.reader else { return nil }
        if blocks != nil, place.known == nil, let store = opened.store, !store.usesBlocks {
            // Of another version than the one that answered now.
            await sources?.drop(place.url)
        }
        let keeps = sources != nil && place.freshness != nil
        let (value, news) = try await decode.run(urgency: urgency, stop: stop) {
            [permits, store = opened.store] _, stop throws(Failure) in
            let value = try permits.holding(urgency: urgency) { () throws(Failure) in try work(reader, stop) }
            return (value, keeps ? store?.kept() : nil)
        }
        if trusts, reader.cost.requests == 0 { meters.add("source_hit") }
        if var news, let freshness = place.freshness {
            news.freshness = freshness
            await sources?.keep(news, of: place.url)
        }
        return value
    }

    private static var leftTheQueue: Failure {
        Failure(.cancelled, .input, "cancelled while it waited for its turn")
    }
}

extension Result where Failure == FramemillMedia.Failure {
    fileprivate var failure: Failure? {
        if case .failure(let failure) = self { failure } else { nil }
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
