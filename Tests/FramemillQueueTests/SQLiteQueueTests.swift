import FramemillMedia
import FramemillQueue
import Foundation
import TestSupport
import Testing

/// What can happen to the file.
@Suite struct SQLiteQueueTests {
    @Test func keepsJobsForTheNextProcess() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("q")
        let first = SQLiteQueue(path)
        _ = try await first.add(jobs(0..<3))
        _ = try await first.take()
        first.close()
        #expect(try await SQLiteQueue(path).urls(9).count == 2)
    }

    @Test func refusesAFileThatIsSomethingElse() async throws {
        let folder = try TemporaryFolder()
        let text = try folder.write(Array("a list of urls, which is no database at all".utf8), to: "urls.txt")
        var failure = await #expect(throws: Failure.self) { try await SQLiteQueue(text).stats() }
        #expect(failure?.reason == .badOption)
        let other = folder.file("other.sqlite")
        try Tool.output("sqlite3", [other, "CREATE TABLE people(name)"])
        failure = await #expect(throws: Failure.self) { try await SQLiteQueue(other).stats() }
        #expect(failure?.reason == .badOption)
        #expect(try Tool.run("sqlite3", [other, ".tables"]).text == "people\n")
    }

    @Test func saysThatTheFolderIsMissing() async throws {
        let folder = try TemporaryFolder()
        let queue = SQLiteQueue(folder.file("no/q"))
        let failure = await #expect(throws: Failure.self) { try await queue.stats() }
        #expect(failure?.reason == .writeFailed)
        #expect(failure?.cause?.contains("no/q") == true)
    }

    @Test func saysThatItsFileWasRemovedOrReplaced() async throws {
        let folder = try TemporaryFolder()
        let path = folder.file("q")
        let queue = SQLiteQueue(path)
        _ = try await queue.add(jobs(0..<1))
        try FileManager.default.moveItem(atPath: path, toPath: path + ".old")
        var failure = await #expect(throws: Failure.self) { try await queue.stats() }
        #expect(failure?.reason == .writeFailed)
        #expect(failure?.message.contains("removed or replaced") == true)
        let other = SQLiteQueue(path)
        _ = try await other.add(jobs(1..<2))
        failure = await #expect(throws: Failure.self) {
            try await queue.handOut(1, worker: "", for: .seconds(9))
        }
        #expect(failure?.message.contains("removed or replaced") == true)
        #expect(try await other.stats().waiting == 1)
    }

    @Test func makesNoFileWhereOneMustBeThere() async throws {
        let folder = try TemporaryFolder()
        let failure = await #expect(throws: Failure.self) {
            try await SQLiteQueue(folder.file("q"), mustExist: true).stats()
        }
        #expect(failure?.reason == .notFound)
        #expect(folder.files.isEmpty)
    }

    /// Whatever writes the rows, by any of the ways.
    @Test func countsWhatIsWrittenByHand() async throws {
        let place = try Place(.sqlite)
        _ = try await place.add(jobs(0..<5) + jobs(5..<6, .interactive))
        func sql(_ text: String) throws { try Tool.output("sqlite3", [place.path, text]) }
        try sql(
            #"INSERT INTO enqueue(job) VALUES ('{"url": "u"}'), ('{"url": "v", "priority": "prefetch"}')"#)
        try sql("DELETE FROM job WHERE number <= 2; UPDATE job SET priority = 1 WHERE number = 3")
        try sql("UPDATE job SET state = 2 WHERE number = 4")
        let stats = try await place.stats()
        let waiting = Priority.allCases.map { stats.priorities[$0.name]?.waiting }
        #expect(waiting == [1, 1, 1])
        // The clock of the test stands long before that of the trigger.
        #expect((stats.delayed, stats.dead, stats.running) == (2, 1, 0))
    }

    @Test func putsBackARunningJobWhoseLeaseWasDeletedByHand() async throws {
        let place = try Place(.sqlite)
        _ = try await place.add(jobs(0..<1))
        _ = try await place.take()
        try Tool.output("sqlite3", [place.path, "UPDATE job SET expires = NULL"])
        #expect(try await place.sweep().reclaimed == 1)
        #expect(try await place.take().tries == 2)
    }

    @Test func keepsItsLogSmallBesideAReaderAndCutsItWhenIdle() async throws {
        let place = try Place(.sqlite)
        let reader = try place.another()
        let log = place.path + "-wal"
        func size() throws -> Int {
            try FileManager.default.attributesOfItem(atPath: log)[.size] as? Int ?? 0
        }
        var most = 0
        for round in 0..<60 {
            _ = try await place.add(jobs(round * 500..<(round + 1) * 500))
            _ = try await reader.stats()
            let held = try await place.lease(500, worker: "one", for: .seconds(30))
            _ = try await place.settle(held.map { Settlement($0.lease, .done("{}")) })
            most = max(most, try size())
        }
        #expect(most < 64 << 20)
        #expect(most > 0)
        _ = try await place.sweep()
        #expect(try size() == 0)
        #expect(try await reader.stats().done == 30_000)
        // Outcomes are kept by number.
        #expect(try Tool.run("sqlite3", [place.path, "SELECT count(*) FROM result"]).text == "10000\n")
    }

    @Test func losesNothingWhenItsProcessIsKilledInTheMiddle() async throws {
        let place = try Place(.sqlite)
        _ = try await place.add(jobs(0..<10))
        // Another process that dies between two statements of one step.
        let script = "BEGIN IMMEDIATE; DELETE FROM job; SELECT 1; .shell kill -9 $PPID"
        let killed = try Tool.run(
            "sqlite3", [place.path], input: Array(script.replacing("; ", with: ";\n").utf8))
        #expect(killed.status == 128 + 9)
        #expect(try await place.urls(20).count == 10)
    }
}
