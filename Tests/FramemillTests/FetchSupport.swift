import FramemillEngine
import FramemillMedia
import Synchronization
import TestSupport
import Testing

@testable import Framemill

/// A server, a fetcher that may dial it, and a thread that may block.
final class FetchBench: Sendable {
    let server: FaultServer
    let fetcher: Fetcher
    let permits = Permits(count: 2)
    private let lane = Lane<Void>("reads", width: 4) {}

    init(
        root: String? = nil, server: FaultServer? = nil, _ change: (inout Configuration) -> Void = { _ in }
    ) throws {
        self.server = try server ?? FaultServer(root: root)
        var configuration = Configuration()
        configuration.allowNet = ["127.0.0.1/32"]
        configuration.allowFiles = true
        change(&configuration)
        fetcher = try Fetcher(configuration)
    }

    func open(
        _ path: String, limits: Limits = Limits(), stop: Stop = Stop(after: .seconds(20))
    ) async throws(Failure) -> any ByteReader {
        let url = path.hasPrefix("/") ? server.url(path) : path
        let opened = try await fetcher.open(url, limits: limits, stop: stop, permits: permits)
        guard let reader = opened.reader else {
            throw Failure(.internalError, .fetch, "a source confirmed what nobody knew")
        }
        return reader
    }

    /// Up to `count` bytes from `offset`, in reads of at most `step`.
    func read(
        _ reader: any ByteReader, _ offset: Int64, _ count: Int, step: Int = 32 << 10
    ) async throws(Failure) -> [UInt8] {
        let permits = permits
        return try await lane.run(stop: Stop(after: .seconds(60))) { (_, _) throws(Failure) in
            try permits.holding { () throws(Failure) in
                var bytes: [UInt8] = []
                while bytes.count < count {
                    var part = [UInt8](repeating: 0, count: min(step, count - bytes.count))
                    let got = try readOnce(reader, offset + Int64(bytes.count), &part)
                    if got == 0 { break }
                    bytes += part[..<got]
                }
                return bytes
            }
        }
    }

    /// The reason for which opening fails.
    func failure(
        _ path: String, limits: Limits = Limits(), stop: Stop = Stop(after: .seconds(20))
    ) async -> Failure? {
        do throws(Failure) {
            _ = try await open(path, limits: limits, stop: stop)
            return nil
        } catch {
            return error
        }
    }

    /// The reason for which a read fails.
    func failure(_ reader: any ByteReader, _ offset: Int64, _ count: Int) async -> Failure? {
        do throws(Failure) {
            _ = try await read(reader, offset, count)
            return nil
        } catch {
            return error
        }
    }
}

func readOnce(
    _ reader: any ByteReader, _ offset: Int64, _ part: inout [UInt8]
) throws(Failure) -> Int {
    var outcome: Result<Int, Failure> = .success(0)
    // The buffer is used inside the closure only.
    unsafe part.withUnsafeMutableBytes { buffer in
        do throws(Failure) { outcome = .success(try unsafe reader.read(at: offset, into: buffer)) } catch {
            outcome = .failure(error)
        }
    }
    return try outcome.get()
}

/// What `server.py` has from `offset` on.
func pattern(_ offset: Int, _ count: Int) -> [UInt8] {
    // Its bodies repeat every 64 KiB.
    (offset..<offset + count).map { index in
        let index = index % 65536
        return UInt8(truncatingIfNeeded: index * 31 + (index >> 8))
    }
}
