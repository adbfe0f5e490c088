import Foundation
import FramemillMedia
import Synchronization
import TestSupport
import Testing

@testable import FramemillQueue

@Suite struct HealthServerTests {
    private func ask(_ server: HealthServer, _ path: String, _ options: String...) throws -> (
        status: String, text: String
    ) {
        // It may end with its last use, which must not be the reading of its port.
        defer { withExtendedLifetime(server) {} }
        return try ask(server.port, path, options)
    }

    private func ask(_ port: Int, _ path: String, _ options: [String]) throws -> (
        status: String, text: String
    ) {
        let answer = try Tool.run(
            "curl", ["-s", "-g", "-w", "\n%{http_code}"] + options + ["http://127.0.0.1:\(port)\(path)"])
        let parts = answer.text.split(separator: "\n", omittingEmptySubsequences: false)
        return (String(parts.last ?? ""), parts.dropLast().joined(separator: "\n"))
    }

    private func serve(address: String = "127.0.0.1") throws -> HealthServer {
        try HealthServer(address: address, port: 0) { path in
            path == "/healthz" ? .init(200, "alive\n") : nil
        }
    }

    @Test func answersWhatItKnows() throws {
        let server = try serve()
        #expect(try ask(server, "/healthz") == ("200", "alive\n"))
        #expect(try ask(server, "/healthz?verbose=1") == ("200", "alive\n"))
        #expect(try ask(server, "/other").status == "404")
        #expect(try ask(server, "/healthz", "-I").status == "200")
    }

    @Test func takesNothingFromAnybody() throws {
        let server = try serve()
        #expect(try ask(server, "/healthz", "-X", "POST", "--data", "x").status == "405")
        #expect(try ask(server, "/healthz", "-X", "DELETE").status == "405")
        // A header that is too long, and a path with what belongs into none.
        let long = String(repeating: "a", count: 100_000)
        #expect(
            try ["431", "413", "400", "000"].contains(ask(server, "/healthz", "-H", "X: \(long)").status)
        )
        #expect(try ask(server, "/%00%ff/../healthz", "--path-as-is").status == "404")
        #expect(try ask(server, "/healthz").status == "200")
    }

    @Test func listensOnSixToo() throws {
        let server = try serve(address: "::1")
        let answer = try Tool.run("curl", ["-s", "-g", "http://[::1]:\(server.port)/healthz"])
        #expect(answer.text == "alive\n")
    }

    @Test func refusesWhereItCantListen() throws {
        let server = try serve()
        for (address, port) in [("127.0.0.1", server.port), ("example.org", 0), ("127.0.0.1", 70_000)] {
            let failure = #expect(throws: Failure.self) {
                try HealthServer(address: address, port: port) { _ in nil }
            }
            #expect(failure?.reason == .badOption, "\(address) \(port)")
        }
        #expect(try ask(server, "/healthz").status == "200")
    }

    @Test func isGoneWithItsLastReference() throws {
        var server: HealthServer? = try serve()
        let port = try #require(server?.port)
        server = nil
        #expect(try ask(port, "/healthz", []).status == "000")
    }
}

@Suite struct ExpositionTests {
    @Test func readsBackInPrometheusOwnParser() throws {
        var page = Exposition()
        page.counter(
            "framemill_jobs_total", "Jobs that ended.",
            [
                ([("outcome", "made"), ("reason", "ok")], 12),
                ([("outcome", "failed"), ("reason", "a \"quoted\\ \nreason")], 0.5),
            ])
        page.gauge("framemill_up", "With a \\ and a\nline.", 1)
        let histogram = Histogram([0.1, 1])
        for value in [0.05, 0.1, 0.5, 7] { histogram.add(value) }
        page.histogram("framemill_seconds", "Seconds.", [([("stage", "decode")], histogram.counts)])
        ProcessFacts.now().write(to: &page)
        let script = """
            import sys, json
            from prometheus_client.parser import text_string_to_metric_families
            for family in text_string_to_metric_families(sys.stdin.read()):
                for s in family.samples:
                    print(json.dumps([s.name, s.labels, s.value]))
            """
        let result = try Tool.run("/usr/bin/python3", ["-c", script], input: Array(page.text.utf8))
        #expect(result.status == 0, "\(result.errorText)")
        let lines = result.text.split(separator: "\n").map(String.init)
        #expect(lines.contains(#"["framemill_jobs_total", {"outcome": "made", "reason": "ok"}, 12.0]"#))
        #expect(
            lines.contains(
                #"["framemill_jobs_total", {"outcome": "failed", "reason": "a \"quoted\\ \nreason"}, 0.5]"#))
        for (bound, count) in [("0.1", 2), ("1", 3), ("+Inf", 4)] {
            let labels = #"{"stage": "decode", "le": "\#(bound)"}"#
            #expect(lines.contains(#"["framemill_seconds_bucket", \#(labels), \#(count).0]"#))
        }
        #expect(lines.contains(#"["framemill_seconds_sum", {"stage": "decode"}, 7.65]"#))
        #expect(
            lines.contains {
                $0.hasPrefix(#"["process_resident_memory_bytes", {}, "#) && !$0.hasSuffix(" 0.0]")
            })
    }

    /// Against what the system's own tools print.
    @Test func countsThisProcess() throws {
        let facts = ProcessFacts.now()
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let threads = try #require(status.split(separator: "\n").first { $0.hasPrefix("Threads:") })
        #expect(abs(facts.threads - Int(threads.split(separator: "\t")[1])!) <= 8)
        let resident = try #require(status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") })
        let kilobytes = Int(resident.split(separator: " ").dropLast().last!)!
        #expect(abs(facts.residentBytes / 1024 - kilobytes) < kilobytes / 2)
        #expect(facts.openFiles > 2 && facts.openFiles < facts.mostFiles)
        #expect(facts.cpuSeconds > 0)
    }
}

@Suite struct ReadinessTests {
    private func troubles(_ change: (inout Readiness.Signs) -> Void, now: Double = 100) -> [String] {
        var signs = Readiness.Signs()
        change(&signs)
        return Readiness(signs, now: now, patience: 10).troubles
    }

    @Test func isReadyWhereNothingIsWrong() {
        #expect(troubles { _ in }.isEmpty)
        // Idle for as long as one likes.
        #expect(troubles { $0.lastProgress = 0 }.isEmpty)
        // Work in hand, some of it old, and other work ends.
        #expect(
            troubles {
                $0.running = 8
                $0.oldestStart = 20
                $0.lastProgress = 95
            }.isEmpty)
    }

    @Test func isRedWhereNoJobCanFinish() {
        #expect(troubles { $0.queueTrouble = "no answer" } == ["queue: no answer"])
        #expect(troubles { $0.sinkTrouble = "403" } == ["sink: 403"])
        #expect(troubles { $0.isDraining = true } == ["draining: no new jobs are taken"])
        #expect(troubles { $0.free = (5, 6) } == ["disk: 5 bytes are free, 6 must be"])
        #expect(troubles { $0.free = (6, 6) }.isEmpty)
        #expect(
            troubles { $0.deafSeconds = 11 } == [
                "queue: the read that waits for jobs has not come back for 11 s"
            ])
        #expect(troubles { $0.deafSeconds = 10 }.isEmpty)
    }

    @Test func isRedWhenAllThatIsInHandStandsStill() {
        let signs = { (signs: inout Readiness.Signs) in
            signs.running = 4
            signs.oldestStart = 89
            signs.lastProgress = 85
        }
        #expect(troubles(signs) == ["stuck: 4 jobs are in hand, and none has ended for 11 s"])
        #expect(troubles(signs, now: 99).isEmpty)
    }
}

@Suite struct ServiceManagerTests {
    /// Python plays the part of systemd.
    @Test(arguments: ["socket", "@framemill-test-\(UUID().uuidString)"]) func tellsItsManager(name: String)
        throws
    {
        let folder = try TemporaryFolder()
        let place = name.hasPrefix("@") ? name : folder.file(name)
        let script = """
            import socket, sys
            place = sys.argv[1]
            s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            s.bind("\\0" + place[1:] if place[0] == "@" else place)
            print("bound", flush=True)
            for _ in range(3): print(repr(s.recv(4096).decode()), flush=True)
            """
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: try #require(Tool.path(of: "python3")))
        process.arguments = ["-c", script, place]
        process.standardOutput = output
        try process.run()
        defer { process.terminate() }
        // Once it says anything it has bound.
        var told = output.fileHandleForReading.availableData
        let manager = ServiceManager(environment: ["NOTIFY_SOCKET": place, "WATCHDOG_USEC": "30000000"])
        #expect(manager.watchdog == .seconds(15))
        manager.ready("taking jobs")
        manager.alive()
        manager.stopping("draining")
        told += try output.fileHandleForReading.readToEnd() ?? Data()
        let expected = [
            "bound", #"'READY=1\nSTATUS=taking jobs'"#, "'WATCHDOG=1'", #"'STOPPING=1\nSTATUS=draining'"#, "",
        ]
        #expect(String(decoding: told, as: UTF8.self) == expected.joined(separator: "\n"))
    }

    @Test func isSilentWithoutOne() {
        #expect(ServiceManager(environment: [:]).watchdog == nil)
        ServiceManager(environment: ["NOTIFY_SOCKET": "relative"]).ready("x")
        ServiceManager(environment: ["NOTIFY_SOCKET": "/nowhere/at/all"]).ready("x")
        #expect(ServiceManager(environment: ["WATCHDOG_USEC": "x"]).watchdog == nil)
        // Meant for another process.
        #expect(ServiceManager(environment: ["WATCHDOG_USEC": "2000", "WATCHDOG_PID": "1"]).watchdog == nil)
    }
}
