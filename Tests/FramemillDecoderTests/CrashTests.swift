import Foundation
import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// Decoders that end before their job does.
@Suite struct CrashTests {
    static let faults: [(word: String, reason: Failure.Reason)] = [
        ("segv", .decoderCrashed), ("abort", .decoderCrashed), ("trap", .decoderCrashed),
        ("kill", .decoderCrashed), ("exit", .decoderCrashed), ("stack", .decoderCrashed),
        ("memory", .tooMuchMemory), ("loop", .timeout), ("lie", .decoderCrashed),
    ]

    @Test(arguments: faults) func aCrashIsAFailureOfThatJobAlone(word: String, reason: Failure.Reason) throws
    {
        let pool = try FaultyPool.make { $0.grace = .milliseconds(100) }
        _ = try pool.cover(redGIF())
        let failure = #expect(throws: Failure.self) {
            try pool.obey(word, Stop(after: .seconds(word == "loop" ? 1 : 60)))
        }
        #expect(failure?.reason == reason, "\(failure?.description ?? "")")
        #expect(try pool.cover(redGIF()).bytes.count > 100)
    }

    /// 1,000 jobs, every fortieth of which ends its decoder in one of five ways.
    @Test func otherJobsNeverNotice() async throws {
        let folder = try TemporaryFolder()
        let words = ["segv", "kill", "abort", "memory", "loop"]
        var requests: [Request] = []
        for index in 0..<1000 {
            var bytes = redGIF()
            if index % 40 == 7 { bytes = Array("FAULT \(words[index / 40 % 5]) \(index)".utf8) }
            requests.append(Request(try folder.write(bytes, to: "\(index)")))
        }
        let pool = try FaultyPool.make { ($0.grace, $0.memoryBytes) = (.milliseconds(100), 128 << 20) }
        var configuration = Configuration()
        (configuration.allowFiles, configuration.retries) = (true, 0)
        configuration.limits.deadline = .seconds(10)
        let mill = try Framemill(configuration, renderer: pool)
        let pid = getpid()
        var reasons: [Int: Failure.Reason] = [:]
        var made = 0
        for await (index, outcome) in mill.covers(for: requests) {
            switch outcome {
            case .success: made += 1
            case .failure(let failure): reasons[index] = failure.reason
            }
        }
        #expect(made == 975)
        for index in 0..<1000 {
            let wanted: [Failure.Reason] = [
                .decoderCrashed, .decoderCrashed, .decoderCrashed, .tooMuchMemory, .timeout,
            ]
            #expect(reasons[index] == (index % 40 == 7 ? wanted[index / 40 % 5] : nil), "\(index)")
        }
        #expect(getpid() == pid)
        let processes = pool.processes
        #expect(!processes.isEmpty)
        await mill.close()
        pool.close()
        for process in processes { #expect(!exists(process)) }
    }

    @Test func oneThatDiesAtRestIsReplaced() throws {
        let pool = try FaultyPool.make()
        for signal in [SIGKILL, SIGSEGV, SIGTERM] {
            _ = try pool.cover(redGIF())
            let pid = try #require(pool.processes.first)
            #expect(kill(pid, signal) == 0)
            #expect(try pool.cover(redGIF()).bytes.count > 100)
            #expect(pool.processes.first != pid)
            #expect(!exists(pid))
        }
    }

    @Test func anAnimationOutlivesItsDecoders() throws {
        let pool = try FaultyPool.make()
        let stop = Stop(after: .seconds(60))
        let decoder = try pool.animation(MemoryReader(redGIF(frames: 9)), limits: Limits(), stop: stop)
        var place = AnimationPlace()
        var indices: [Int] = []
        while let frame = try decoder.frames(from: &place, windowBytes: 1, crew: .alone, stop: stop).first {
            indices.append(frame.index)
            for process in pool.processes { kill(process, SIGKILL) }
        }
        #expect(indices == Array(0..<9))
    }

    @Test func oneThatIsCancelledInTimeLivesOn() async throws {
        let pool = try FaultyPool.make { $0.grace = .seconds(30) }
        _ = try pool.cover(redGIF())
        let pid = try #require(pool.processes.first)
        let lane = Lane("test", width: 1) { () }
        // Cancelled as soon as it has read its source.
        let (reads, told) = AsyncStream.makeStream(of: Void.self)
        let reader = TellingReader(Array("FAULT patient ".utf8)) { told.yield() }
        let task = Task {
            try await lane.run(stop: Stop(after: .seconds(60))) { (_, stop) throws(Failure) in
                try pool.render(reader, recipe: Recipe(), limits: Limits(), crew: .alone, stop: stop)
            }
        }
        for await _ in reads { break }
        task.cancel()
        let failure = await #expect(throws: Failure.self) { try await task.value }
        #expect(failure?.reason == .cancelled)
        lane.close()
        lane.join()
        _ = try pool.cover(redGIF())
        #expect(pool.processes == [pid])
    }

    @Test func oneThatDoesNotHearIsKilled() throws {
        let pool = try FaultyPool.make { $0.grace = .milliseconds(50) }
        let stop = Stop(after: .seconds(600))
        let reader = TellingReader(Array("FAULT loop ".utf8)) { stop.raise() }
        let failure = #expect(throws: Failure.self) {
            try pool.render(reader, recipe: Recipe(), limits: Limits(), crew: .alone, stop: stop)
        }
        #expect(failure?.reason == .cancelled)
        #expect(pool.processes.isEmpty)
    }

    @Test func replacesThoseThatHaveWorkedOrGrownEnough() throws {
        let worn = try FaultyPool.make { $0.jobs = 3 }
        var pids: [Int32] = []
        for _ in 0..<9 {
            _ = try worn.cover(redGIF())
            pids += worn.processes
        }
        // Replaced after the third, sixth and ninth job: then there is none.
        #expect(pids.count == 6)
        #expect(Set(pids).count == 3)
        let grown = try FaultyPool.make { $0.restingBytes = 1 }
        _ = try grown.cover(redGIF())
        #expect(grown.processes.isEmpty)
    }

    @Test func saysWhereTheDecoderShouldBe() {
        let failure = #expect(throws: Failure.self) {
            try FaultyPool.make { $0.executable = "/no/such/decoder" }
        }
        #expect(failure?.reason == .badOption)
        #expect(failure?.message.contains("/no/such/decoder") == true)
    }

    @Test func aClosedPoolRefuses() throws {
        let pool = try FaultyPool.make()
        _ = try pool.cover(redGIF())
        pool.close()
        #expect(pool.processes.isEmpty)
        let failure = #expect(throws: Failure.self) { try pool.cover(redGIF()) }
        #expect(failure?.reason == .closed)
    }
}

/// Tells that it was read.
final class TellingReader: ByteReader {
    private let memory: MemoryReader
    private let tell: @Sendable () -> Void

    init(_ bytes: [UInt8], _ tell: @escaping @Sendable () -> Void) {
        (memory, self.tell) = (MemoryReader(bytes), tell)
    }

    var byteCount: Int64? { memory.byteCount }
    var cost: (bytes: Int64, requests: Int) { memory.cost }
    var isLocal: Bool { true }
    func expect(_ range: Range<Int64>) {}
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
        defer { tell() }
        return try unsafe memory.read(at: offset, into: buffer)
    }
}
