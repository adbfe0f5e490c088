import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

@Suite struct FetchStopTests {
    /// B02 (a): accepts, then says nothing.
    @Test func leavesASilentServerAtTheDeadline() async throws {
        let bench = try FetchBench()
        let failure = await bench.failure("/silent/0/a", stop: Stop(after: .milliseconds(300)))
        #expect(failure?.reason == .timeout)
        await bench.server.log(with: "closed /silent")
    }

    /// B02 (b): headers, some bytes, nothing more.
    @Test func callsAStalledServerTooSlow() async throws {
        let bench = try FetchBench()
        var limits = Limits()
        limits.slowSeconds = 1
        #expect(await bench.failure("/stall/0/a", limits: limits)?.reason == .tooSlow)
        await bench.server.log(with: "closed /stall")
    }

    /// B02 (c): a few bytes a second.
    @Test func callsADrippingServerTooSlow() async throws {
        let bench = try FetchBench()
        var limits = Limits()
        limits.slowSeconds = 1
        #expect(await bench.failure("/drip/0/a", limits: limits)?.reason == .tooSlow)
        await bench.server.log(with: "closed /drip")
    }

    @Test func takesNoMoreOfAnEndlessBodyThanIsRead() async throws {
        let bench = try FetchBench()
        var reader: (any ByteReader)? = try await bench.open("/endless/0/a")
        #expect(try await bench.read(reader!, 0, 100_000) == pattern(0, 100_000))
        #expect(reader!.cost.bytes < 8 << 20)
        reader = nil
        await bench.server.log(with: "closed /endless")
    }

    @Test func freesTheTransferOfWhoeverIsCancelledWhileOpening() async throws {
        let bench = try FetchBench()
        let task = Task { await bench.failure("/silent/0/a") }
        await bench.server.log(with: "GET /silent")
        task.cancel()
        #expect(await task.value?.reason == .cancelled)
        await bench.server.log(with: "closed /silent")
    }

    @Test func wakesAReadThatIsCancelled() async throws {
        let bench = try FetchBench()
        let stop = Stop(after: .seconds(60))
        let reader = try await bench.open("/halfway/1000000/a", stop: stop)
        let task = Task { await bench.failure(reader, 500_000, 10) }
        await bench.server.log(with: "GET /halfway", count: 2)
        stop.raise()
        #expect(await task.value?.reason == .cancelled)
        await bench.server.log(with: "closed /halfway")
    }

    @Test func endsAReadAtTheDeadline() async throws {
        let bench = try FetchBench()
        let reader = try await bench.open("/halfway/1000000/a", stop: Stop(after: .milliseconds(500)))
        #expect(await bench.failure(reader, 500_000, 10)?.reason == .timeout)
    }

    @Test func refusesWorkOnceClosed() async throws {
        let bench = try FetchBench()
        let task = Task { await bench.failure("/silent/0/a") }
        await bench.server.log(with: "GET /silent")
        bench.fetcher.close()
        #expect(await task.value?.reason == .closed)
        #expect(await bench.failure("/ranges/1000/a")?.reason == .closed)
    }

    @Test func saysWhenNobodyListens() async throws {
        let bench = try FetchBench()
        #expect(await bench.failure("http://127.0.0.1:2/a?sig=secret")?.reason == .unreachable)
        let failure = await bench.failure("https://127.0.0.1:\(bench.server.port)/a")
        #expect(failure?.reason == .tls)
        #expect(await bench.failure("http://no-such-host.invalid/a?sig=secret")?.reason == .dns)
    }
}
