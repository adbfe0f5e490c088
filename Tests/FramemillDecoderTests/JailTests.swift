import Foundation
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// A decoder tries to get out.
@Suite struct JailTests {
    @Test func refusesWhateverADecoderTries() throws {
        let pool = try FaultyPool.make()
        let failure = #expect(throws: Failure.self) { try pool.obey("attempts") }
        let inside = Self.lines(failure?.message ?? "")
        let outside = Self.lines(try Tool.run(FaultyPool.path("FaultDecoder"), ["attempts"]).text)
        let names = [
            "connect", "socket", "open", "open-proc", "open-nothing", "openat", "create", "stat", "fork",
            "clone", "exec", "ptrace", "kill", "signal-parent", "run-data", "io_uring",
        ]
        #expect(inside.keys.sorted() == names.sorted())
        for name in names {
            #expect(inside[name] == EPERM, "\(name)")
            // It is the walls who refuse, not the machine.
            #expect(outside[name] != nil && outside[name] != EPERM, "\(name) outside: \(outside)")
        }
    }

    @Test func leavesNothingOpenButTheLineAndTheThreeThatLeadNowhere() throws {
        let pool = try FaultyPool.make()
        // Of the kind that is inherited.
        let other = dup(1)
        defer { close(other) }
        let failure = #expect(throws: Failure.self) { try pool.obey("open") }
        #expect(failure?.message == "0 1 2 3 4")
    }

    @Test func givesItNoSecretsAndASessionOfItsOwn() throws {
        unsafe setenv("AWS_SECRET_ACCESS_KEY", "secret", 1)
        defer { unsafe unsetenv("AWS_SECRET_ACCESS_KEY") }
        let pool = try FaultyPool.make()
        _ = try pool.cover(redGIF())
        let pid = try #require(pool.processes.first)
        #expect(getsid(pid) == pid)
        // Only root may look: a decoder is closed to others of its user.
        if let words = FileManager.default.contents(atPath: "/proc/\(pid)/environ") {
            #expect(!String(decoding: words, as: UTF8.self).contains("AWS"))
        }
        let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
        #expect(status.contains("NoNewPrivs:\t1"))
        #expect(status.contains("Seccomp:\t2"))
    }

    private static func lines(_ text: String) -> [String: Int32] {
        var lines: [String: Int32] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count == 2 { lines[String(words[0])] = Int32(words[1]) }
        }
        return lines
    }
}
