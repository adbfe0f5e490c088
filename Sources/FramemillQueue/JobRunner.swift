public import Framemill
internal import FramemillEngine

/// One job from being handed out to what is said of it.
struct JobRunner: Sendable {
    let hosts: Hosts
    let backoff: Backoff
    let sink: any Sink
    let callbacks: Callbacks?
    let clock: QueueClock
    let make: @Sendable (Request) async throws(Failure) -> Artifact

    func run(_ leased: LeasedJob) async -> (Settlement.End, JobOutcome) {
        let begun = clock.now()
        var outcome = JobOutcome(leased, begun: begun)
        switch hosts.enter(leased.job.host) {
        case .wait(let time):
            // Not all back in the same moment.
            let wait = time + .milliseconds(.random(in: 0..<500))
            (outcome.event, outcome.code, outcome.retrySeconds) = (.back, "host_busy", wait / .seconds(1))
            return (.handedBack(after: wait), outcome)
        case .go: break
        }
        let end: Settlement.End
        var hasLeft = false
        do throws(Failure) {
            let artifact = try await made(leased, now: begun)
            hosts.leave(leased.job.host, nil, took: clock.now() - begun)
            hasLeft = true
            outcome.file = try await sink.put(artifact, for: leased.job)
            (outcome.origin, outcome.facts) = (artifact.origin.rawValue, artifact.facts)
            outcome.facts?.byteCount = artifact.bytes.count
            end = .done("")
        } catch {
            // Where a picture goes says nothing of where it came from.
            if !hasLeft { hosts.leave(leased.job.host, error, took: clock.now() - begun) }
            end = self.end(after: error, leased, &outcome)
        }
        outcome.seconds = Double(clock.now() - begun) / 1000
        switch end {
        case .done:
            await call(leased.job, &outcome)
            return (.done(outcome.json), outcome)
        case .dead:
            await call(leased.job, &outcome)
            return (end, outcome)
        case .retry, .handedBack: return (end, outcome)
        }
    }

    private func made(_ leased: LeasedJob, now: Int64) async throws(Failure) -> Artifact {
        if let notAfter = leased.job.notAfter, Double(now) > notAfter * 1000 {
            throw Failure(.timeout, .queue, "nobody wants it any more: its not-after is over")
        }
        var request = leased.job.request
        // A second try is there to ask the origin, not to hear what is remembered of the first.
        request.retriesFailed = leased.tries > 1
        return try await make(request)
    }

    private func end(
        after failure: Failure, _ leased: LeasedJob, _ outcome: inout JobOutcome
    ) -> Settlement.End {
        (outcome.code, outcome.class) = (failure.reason.code, failure.reason.class.rawValue)
        outcome.message = failure.description
        if failure.reason == .cancelled || failure.reason == .closed {
            outcome.event = .back
            return .handedBack(after: .zero)
        }
        // The disk or the store for results is the operator's to mend, and would else bury a whole queue.
        if failure.reason == .writeFailed {
            let wait = Duration.seconds(10) + .milliseconds(.random(in: 0..<5000))
            (outcome.event, outcome.retrySeconds) = (.back, wait / .seconds(1))
            return .handedBack(after: wait)
        }
        // Its time does not come again.
        if failure.stage == .queue, failure.reason == .timeout {
            outcome.event = .dead
            return .dead(failure)
        }
        let chance = Double.random(in: 0..<1)
        switch backoff.next(after: failure, tries: leased.tries, chance: chance) {
        case .dead:
            outcome.event = .dead
            return .dead(failure)
        case .retry(let wait):
            (outcome.event, outcome.retrySeconds) = (.retry, wait / .seconds(1))
            return .retry(after: wait, failure)
        }
    }

    private func call(_ job: Job, _ outcome: inout JobOutcome) async {
        guard let url = job.callback else { return }
        guard let callbacks else { return outcome.callbackFailure = "callbacks are not set up here" }
        outcome.callbackFailure = await callbacks.post(outcome, to: url)
    }
}

/// Posts outcomes to the addresses that producers gave, through the same guard as everything else, signed as
/// the Standard Webhooks specification has it. Before the outcome is booked: so it is posted at least once,
/// with the job's id as `webhook-id`, and what can't be delivered in three tries is noted with the outcome.
public struct Callbacks: Sendable {
    private let webhook: Webhook
    private let limit: Duration

    /// - Parameter secret: `whsec_` and the key in base 64; `nil` sends unsigned.
    /// - Throws: `badOption`.
    public init(_ configuration: Configuration, secret: String?) throws(Failure) {
        webhook = try Webhook(try Sender(configuration), secret: secret)
        limit = configuration.limits.deadline
    }

    /// - Returns: why not, or nothing.
    func post(_ outcome: JobOutcome, to url: String) async -> String? {
        var last: Failure?
        for attempt in 0..<3 {
            do throws(Failure) {
                let body = Array(outcome.json.utf8)
                try await webhook.post(body, id: outcome.id, to: url, stop: Stop(after: limit))
                return nil
            } catch {
                last = error
                guard error.reason.class == .transient, !Task.isCancelled else { break }
                // Cancelled: the next attempt says so.
                try? await Task.sleep(for: .seconds(1 << attempt))
            }
        }
        return last?.description
    }
}

extension JobOutcome {
    init(_ leased: LeasedJob, begun: Int64) {
        let job = leased.job
        self.init(
            event: .done, id: job.id, key: job.key, url: job.shownURL, priority: job.priority.name,
            tries: leased.tries, code: "ok", waitedSeconds: Double(max(0, begun - leased.added)) / 1000,
            seconds: 0,
            data: job.data)
    }
}

extension Job {
    /// Without query, user and password.
    package var shownURL: String {
        let plain = url.prefix { $0 != "?" && $0 != "#" }
        guard let start = plain.firstRange(of: "://")?.upperBound else { return String(plain) }
        let authority = plain[start...].prefix { $0 != "/" }
        guard let at = authority.lastIndex(of: "@") else { return String(plain) }
        return String(plain[..<start] + plain[plain.index(after: at)...])
    }
}
