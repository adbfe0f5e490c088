// What a worker says of itself: it is told of every outcome and of how the queue answered, and makes the pages of
// `HealthServer` out of that. It asks nobody, so a page is there at once, whatever hangs.

package import FramemillMedia
internal import Synchronization

package final class Pulse: Sendable {
    /// What only the worker's owner can tell at the moment of asking.
    package struct Moment: Sendable {
        package var running: Int
        /// For how long the oldest job has been in hand, in seconds.
        package var oldestSeconds: Double
        package var isDraining: Bool
        /// For how long nobody listened for new jobs.
        package var deafSeconds: Double
        /// `Framemill.meters`.
        package var meters: [String: Int]

        package init(
            running: Int, oldestSeconds: Double, isDraining: Bool, deafSeconds: Double = 0,
            meters: [String: Int]
        ) {
            self.running = running
            self.oldestSeconds = oldestSeconds
            self.isDraining = isDraining
            self.deafSeconds = deafSeconds
            self.meters = meters
        }
    }

    private struct Ended: Hashable {
        var event: String
        var reason: String
    }
    private struct State {
        var ended: [Ended: Int] = [:]
        var stages: [String: Double] = [:]
        var bytesRead = 0
        var lastEnd: ContinuousClock.Instant
        var queueTrouble: String?
        var sinkTrouble: String?
        var stats = QueueStats()
        var freeBytes: Int?
    }
    private let state: Mutex<State>
    private let floorBytes: Int
    private let work = Histogram()
    private let wait = Histogram([0.01, 0.1, 1, 10, 60, 600, 3600, 86400])

    /// Without an outcome for so long while jobs are in hand, the worker is stuck: longer than nearly every job, and so
    /// short that the page is red within ten seconds.
    package static let patience = 8.0

    /// - Parameter floorBytes: with less than this free where results go, no job can finish.
    package init(floorBytes: Int = 0, now: ContinuousClock.Instant = .now) {
        self.floorBytes = floorBytes
        state = Mutex(State(lastEnd: now))
    }

    package func note(_ outcome: JobOutcome, now: ContinuousClock.Instant = .now) {
        // A job that was put off because its host is busy was not worked on.
        let wasWork = outcome.event != .back
        state.withLock { state in
            state.ended[Ended(event: outcome.event.rawValue, reason: outcome.code), default: 0] += 1
            for (stage, milliseconds) in outcome.facts?.milliseconds ?? StageTimes() {
                state.stages[stage, default: 0] += milliseconds / 1000
            }
            if outcome.origin == "made" { state.bytesRead += Int(outcome.facts?.bytesRead ?? 0) }
            if wasWork { state.lastEnd = now }
            if outcome.code == Failure.Reason.writeFailed.code {
                state.sinkTrouble = outcome.message ?? outcome.code
            } else if outcome.event == .done {
                state.sinkTrouble = nil
            }
        }
        if wasWork { work.add(outcome.seconds) }
        if outcome.event == .done || outcome.event == .dead { wait.add(outcome.waitedSeconds) }
    }

    /// How the queue answered when it was last asked.
    package func note(_ answer: Result<QueueStats, Failure>) {
        state.withLock { state in
            switch answer {
            case .success(let stats): (state.stats, state.queueTrouble) = (stats, nil)
            case .failure(let failure): state.queueTrouble = failure.description
            }
        }
    }

    /// What is free where results go.
    package func note(freeBytes: Int?) { state.withLock { $0.freeBytes = freeBytes } }

    /// The answer to GET `path`; `nil` where there is none.
    package func page(
        _ path: String, _ moment: Moment, now: ContinuousClock.Instant = .now
    ) -> HealthServer.Page? {
        switch path {
        case "/healthz": HealthServer.Page(200, "alive\n")
        case "/readyz": readiness(moment, now).page
        case "/metrics": HealthServer.Page(200, metrics(moment, now), type: Exposition.type)
        default: nil
        }
    }

    private func readiness(_ moment: Moment, _ now: ContinuousClock.Instant) -> Readiness {
        var signs = Readiness.Signs()
        (signs.running, signs.isDraining) = (moment.running, moment.isDraining)
        signs.deafSeconds = moment.deafSeconds
        let seconds = state.withLock { state in
            signs.free = state.freeBytes.map { ($0, floorBytes) }
            (signs.queueTrouble, signs.sinkTrouble) = (state.queueTrouble, state.sinkTrouble)
            return state.lastEnd.duration(to: now) / .seconds(1)
        }
        // On a clock that shows 0 now.
        (signs.lastProgress, signs.oldestStart) = (-seconds, -moment.oldestSeconds)
        return Readiness(signs, now: 0, patience: Self.patience)
    }

    private func metrics(_ moment: Moment, _ now: ContinuousClock.Instant) -> String {
        let state = state.withLock { $0 }
        var page = Exposition()
        page.counter(
            "framemill_jobs_total", "Jobs that ended here, by how (event) and why (reason).",
            state.ended.sorted { ($0.key.event, $0.key.reason) < ($1.key.event, $1.key.reason) }
                .map { ([("event", $0.key.event), ("reason", $0.key.reason)], Double($0.value)) })
        page.histogram("framemill_job_seconds", "Time that a job took here.", [([], work.counts)])
        page.histogram(
            "framemill_job_wait_seconds", "Time from being added to being handed out.", [([], wait.counts)])
        page.counter(
            "framemill_stage_seconds_total", "Time by stage of making a picture.",
            state.stages.sorted { $0.key < $1.key }.map { ([("stage", $0.key)], $0.value) })
        page.counter(
            "framemill_source_bytes_total", "Bytes read of the sources of pictures that were made.",
            Double(state.bytesRead))
        page.gauge("framemill_jobs_running", "Jobs in hand here.", Double(moment.running))
        page.gauge(
            "framemill_oldest_running_seconds", "For how long the oldest of them has been.",
            moment.oldestSeconds)
        page.gauge(
            "framemill_ready", "Whether jobs can finish, as /readyz says.",
            readiness(moment, now).isReady ? 1 : 0)
        let depths = state.stats.priorities.sorted { $0.key < $1.key }
        page.gauge(
            "framemill_queue_waiting", "Jobs that wait in the queue.",
            depths.map { ([("priority", $0.key)], Double($0.value.waiting)) })
        page.gauge(
            "framemill_queue_oldest_seconds", "How long the oldest of them has waited.",
            depths.map { ([("priority", $0.key)], Double($0.value.oldestMilliseconds) / 1000) })
        page.gauge(
            "framemill_queue_jobs", "Other jobs of the queue, by state.",
            [
                ([("state", "delayed")], Double(state.stats.delayed)),
                ([("state", "running")], Double(state.stats.running)),
                ([("state", "dead")], Double(state.stats.dead)),
                ([("state", "parked")], Double(state.stats.parked)),
            ])
        page.counter(
            "framemill_cache_hits_total", "Pictures that were there already, by level of the cache.",
            ["memory", "disk"].map { ([("level", $0)], Double(moment.meters["hit_\($0)"] ?? 0)) })
        page.counter(
            "framemill_events_total", "What else is counted, as in Framemill.meters.",
            moment.meters.sorted { $0.key < $1.key }.map { ([("event", $0.key)], Double($0.value)) })
        if let free = state.freeBytes {
            page.gauge("framemill_disk_free_bytes", "Free where results go.", Double(free))
        }
        ProcessFacts.now().write(to: &page)
        return page.text
    }
}
