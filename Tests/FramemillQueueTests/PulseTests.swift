import FramemillMedia
import TestSupport
import Testing

@testable import FramemillQueue

@Suite struct PulseTests {
    private let start = ContinuousClock.now

    private func moment(running: Int = 0, oldest: Double = 0, isDraining: Bool = false) -> Pulse.Moment {
        Pulse.Moment(
            running: running, oldestSeconds: oldest, isDraining: isDraining,
            meters: ["hit_memory": 3, "hit_disk": 2, "fetch.requests": 7])
    }

    private func outcome(_ event: JobOutcome.Event, _ code: String = "ok") -> JobOutcome {
        JobOutcome(
            event: event, id: "1", url: "https://example.org/a", priority: "prefetch", tries: 1, code: code,
            waitedSeconds: 2, seconds: 0.3)
    }

    @Test func countsWhatEndedAndHow() throws {
        let pulse = Pulse(now: start)
        for (event, code) in [
            (JobOutcome.Event.done, "ok"), (.done, "ok"), (.dead, "http_404"), (.back, "host_busy"),
        ] {
            pulse.note(outcome(event, code))
        }
        var stats = QueueStats()
        stats.priorities["prefetch"] = .init()
        stats.priorities["prefetch"]?.waiting = 5
        stats.dead = 1
        pulse.note(.success(stats))
        let text = try #require(pulse.page("/metrics", moment(running: 2, oldest: 1.5), now: start)).text
        for line in [
            #"framemill_jobs_total{event="done",reason="ok"} 2"#,
            #"framemill_jobs_total{event="dead",reason="http_404"} 1"#,
            #"framemill_jobs_total{event="back",reason="host_busy"} 1"#,
            // What was put off was not worked on.
            "framemill_job_seconds_count 3", "framemill_jobs_running 2",
            "framemill_oldest_running_seconds 1.5",
            "framemill_ready 1", #"framemill_queue_waiting{priority="prefetch"} 5"#,
            #"framemill_queue_jobs{state="dead"} 1"#, #"framemill_cache_hits_total{level="memory"} 3"#,
            #"framemill_events_total{event="fetch.requests"} 7"#,
        ] {
            #expect(text.split(separator: "\n").contains(Substring(line)), "\(line)")
        }
        let parse =
            "import sys; from prometheus_client.parser import text_string_to_metric_families as f; list(f(sys.stdin.read()))"
        #expect(try Tool.run("/usr/bin/python3", ["-c", parse], input: Array(text.utf8)).status == 0)
    }

    @Test func isRedWhileNothingEnds() {
        let pulse = Pulse(now: start)
        let later = start + .seconds(9)
        func status(_ moment: Pulse.Moment) -> Int? { pulse.page("/readyz", moment, now: later)?.status }
        #expect(status(moment()) == 200)
        #expect(status(moment(running: 4, oldest: 7)) == 200)
        #expect(status(moment(running: 4, oldest: 9)) == 503)
        #expect(pulse.page("/healthz", moment(running: 4, oldest: 9), now: later)?.status == 200)
        // Put off is no progress, done is.
        pulse.note(outcome(.back, "host_busy"), now: later)
        #expect(status(moment(running: 4, oldest: 9)) == 503)
        pulse.note(outcome(.done), now: later)
        #expect(status(moment(running: 4, oldest: 9)) == 200)
        #expect(status(moment(isDraining: true)) == 503)
    }

    @Test func isRedWhileTheDiskIsNearlyFull() throws {
        let pulse = Pulse(floorBytes: 100)
        func page(_ path: String) throws -> HealthServer.Page { try #require(pulse.page(path, moment())) }
        #expect(try page("/readyz").status == 200)
        pulse.note(freeBytes: 99)
        #expect(try page("/readyz").text == "disk: 99 bytes are free, 100 must be\n")
        #expect(try page("/metrics").text.contains("\nframemill_disk_free_bytes 99\n"))
        pulse.note(freeBytes: 100)
        #expect(try page("/readyz").status == 200)
        #expect(try #require(DiskSpace.freeBytes(at: "/")) > 0)
        #expect(DiskSpace.freeBytes(at: "/nowhere/at/all") == nil)
    }

    @Test func isRedWhileQueueOrSinkFail() {
        let pulse = Pulse(now: start)
        func status() -> Int? { pulse.page("/readyz", moment(), now: start)?.status }
        pulse.note(.failure(Failure(.unreachable, .queue, "no answer")))
        #expect(status() == 503)
        pulse.note(.success(QueueStats()))
        #expect(status() == 200)
        pulse.note(outcome(.retry, "write_failed"))
        #expect(status() == 503)
        pulse.note(outcome(.done))
        #expect(status() == 200)
    }
}
