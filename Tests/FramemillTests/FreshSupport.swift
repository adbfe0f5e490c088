import FramemillEngine
import FramemillMedia
import Synchronization
import TestSupport

@testable import Framemill

/// A time of day that stands still until it is moved; who waits moves it.
final class ManualClock: Sendable {
    private let state = Mutex((now: 1_000_000.0, waits: [Double]()))

    var waits: [Double] { state.withLock { $0.waits } }
    func advance(_ seconds: Double) { state.withLock { $0.now += seconds } }

    var clock: WallClock {
        WallClock(
            now: { self.state.withLock { $0.now } },
            wait: { seconds in
                self.state.withLock { state in
                    state.now += seconds
                    state.waits.append(seconds)
                }
                return !Task.isCancelled
            },
            chance: { 0 })
    }
}

/// A "cover" is the source itself, whose first word is its container; one that starts with "bad" can't be decoded.
final class EchoRenderer: Renderer {
    private let counter = Atomic<Int>(0)
    private let reach = Atomic<Int>(100)
    /// Where set, each picture waits here.
    private let valve: Valve?

    init(_ valve: Valve? = nil) { self.valve = valve }

    var count: Int { counter.load(ordering: .relaxed) }
    /// From now on so many bytes of a source are read.
    func readsUpTo(_ count: Int) { reach.store(count, ordering: .relaxed) }

    func render(
        _ reader: any ByteReader, recipe: Recipe, limits: Limits, crew: Crew, stop: Stop
    ) throws(Failure) -> Artifact {
        counter.add(1, ordering: .relaxed)
        valve?.block()
        var bytes: [UInt8] = []
        let reach = reach.load(ordering: .relaxed)
        while bytes.count < reach {
            var part = [UInt8](repeating: 0, count: reach - bytes.count)
            let got = try readOnce(reader, Int64(bytes.count), &part)
            if got == 0 { break }
            bytes += part[..<got]
        }
        if bytes.starts(with: Array("bad".utf8)) { throw Failure(.corrupt, .decode, "it is bad") }
        var facts = Facts()
        let container = String(decoding: bytes, as: UTF8.self).split(separator: " ").first
        facts.container = container.map(String.init) ?? ""
        if facts.container == "mov" { facts.source = .video }
        if recipe.animated != nil { facts.animation = .init(frameCount: 2, plays: 0, duration: 1) }
        return Artifact(bytes: bytes, facts: facts, origin: .made)
    }

    func probe(_ reader: any ByteReader, limits: Limits, stop: Stop) throws(Failure) -> Facts { Facts() }

    func animation(
        _ reader: any ByteReader, limits: Limits, stop: Stop
    ) throws(Failure) -> any AnimationDecoder {
        throw Failure(.notSupported, .probe, "only covers")
    }
}

/// An origin, a mill that asks it, and the time of day in hand.
final class FreshBench: Sendable {
    let server: FaultServer
    let time = ManualClock()
    let renderer: EchoRenderer
    let mill: Framemill
    let configuration: Configuration

    init(
        _ valve: Valve? = nil, cache: String? = nil, server: FaultServer? = nil,
        engine: EngineVersions = .current, _ change: (inout Configuration) -> Void = { _ in }
    ) throws {
        self.server = try server ?? FaultServer()
        renderer = EchoRenderer(valve)
        var configuration = Configuration()
        configuration.allowNet = ["127.0.0.1/32"]
        configuration.cacheDirectory = cache
        change(&configuration)
        self.configuration = configuration
        mill = try Framemill(configuration, renderer: renderer, clock: time.clock, engine: engine)
    }

    /// What was asked for so far.
    var requests: Int { server.log.filter { $0.hasPrefix("GET") }.count }

    func cover(
        _ url: String, _ reuse: Reuse = .whileFresh, mirrors: [String] = []
    ) async throws(Failure) -> Artifact {
        var request = Request(url, mirrors: mirrors)
        request.reuse = reuse
        return try await mill.cover(for: request)
    }

    func failure(_ url: String, _ reuse: Reuse = .whileFresh) async -> Failure? {
        do throws(Failure) {
            _ = try await cover(url, reuse)
            return nil
        } catch {
            return error
        }
    }
}

extension Artifact {
    var text: String { String(decoding: bytes, as: UTF8.self) }
}
