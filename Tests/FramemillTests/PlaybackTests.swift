import FramemillEngine
import FramemillMedia
import TestSupport
import Testing

@testable import Framemill

/// When frames are decoded, and for whom: told by a decoder that a test can hold in the middle of a frame.
@Suite struct PlaybackTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Opens animations by number: those of `list`.
    private func mill(
        _ list: [ScriptedAnimation], _ change: (inout Configuration) -> Void = { _ in }
    ) throws -> Framemill {
        var configuration = Configuration()
        configuration.allowFiles = true
        configuration.permits = 1
        change(&configuration)
        for place in list.indices { try folder.write([UInt8(place)], to: "\(place)") }
        return try Framemill(configuration, renderer: ScriptedRenderer { list[$0] })
    }

    @Test func decodesOneFrameFirstAndThenAheadWithinTheBudget() async throws {
        // 400 bytes a canvas, 20 canvases.
        let (script, budget) = (ScriptedAnimation(frames: 100), 8000)
        let mill = try mill([script]) { $0.animationWindowBytes = budget }
        let animation = try await mill.animation(at: folder.file("0"))
        #expect(script.steps.count == 0)
        var taken = 0
        for try await frame in animation.frames {
            taken += 1
            let begun = script.steps.all.last!
            // What this frame's reader has not taken of the windows before the one that was begun last.
            let waiting = max(0, begun.first - taken)
            #expect(begun.windowBytes == 1 || begun.windowBytes + (waiting + 1) * 400 <= budget)
            #expect(frame.index == taken - 1)
        }
        #expect(taken == 100)
        let windows = script.steps.all
        #expect(windows.map(\.windowBytes).prefix(2) == [1, 7600])
        #expect(windows.map(\.first).prefix(3) == [0, 1, 20])
    }

    @Test func aConsumerThatStandsStillHoldsNoMoreThanTheBudget() async throws {
        let script = ScriptedAnimation(frames: 1000)
        let mill = try mill([script]) { $0.animationWindowBytes = 8000 }
        var frames = try await mill.animation(at: folder.file("0")).frames.makeAsyncIterator()
        _ = try await frames.next()
        // Steps are begun by `next` alone, so with the last frame of this one nothing more can come.
        await until { script.begun.count == 20 }
        #expect(script.steps.count == 2)
        // 9 of the 19 that came are taken before the next window is worth a step.
        for _ in 0..<9 { _ = try await frames.next() }
        #expect(script.steps.count == 2)
        _ = try await frames.next()
        await until { script.steps.count == 3 }
        #expect(script.steps.all[2].windowBytes == 8000 - 400 - 9 * 400)
    }

    @Test func aCanvasLargerThanTheBudgetIsDecodedAlone() async throws {
        let script = ScriptedAnimation(frames: 5)
        let mill = try mill([script]) { $0.animationWindowBytes = 100 }
        var taken = 0
        for try await _ in try await mill.animation(at: folder.file("0")).frames {
            taken += 1
            #expect(script.begun.count <= taken + 1)
        }
        #expect(script.steps.all.map(\.first) == [0, 1, 2, 3, 4])
    }

    @Test func eachStepHasADeadlineOfItsOwn() async throws {
        let script = ScriptedAnimation(frames: 3)
        let mill = try mill([script]) { $0.animationWindowBytes = 1 }
        for try await _ in try await mill.animation(at: folder.file("0")).frames {}
        let deadlines = script.steps.all.map(\.deadline)
        #expect(deadlines == deadlines.sorted() && Set(deadlines).count == 3)
    }

    @Test func aFailureEndsTheIteration() async throws {
        let broken = Failure(.corrupt, .decode, "frame 3 is broken")
        let script = ScriptedAnimation(frames: 9, failing: (3, broken))
        let mill = try mill([script]) { $0.animationWindowBytes = 1 }
        var frames = try await mill.animation(at: folder.file("0")).frames.makeAsyncIterator()
        for _ in 0..<3 { #expect(try await frames.next() != nil) }
        await #expect(throws: broken) { try await frames.next() }
        #expect(try await frames.next() == nil)
    }

    @Test func cancellingTheTaskEndsItWithinOneFrameAndFreesThePermit() async throws {
        let valve = Valve()
        let script = ScriptedAnimation(frames: 50) { if $0 == 5 { valve.block() } }
        let other = ScriptedAnimation(frames: 3)
        let mill = try mill([script, other])
        let animation = try await mill.animation(at: folder.file("0"))
        let task = Task {
            for try await _ in animation.frames {}
        }
        await valve.arrivals(1)
        task.cancel()
        valve.open()
        let failure = await #expect(throws: Failure.self) { try await task.value }
        #expect(failure?.reason == .cancelled)
        #expect(script.begun.all == [0, 1, 2, 3, 4, 5])
        // The only permit and the only thread are there again.
        for try await _ in try await mill.animation(at: folder.file("1")).frames {}
        #expect(other.begun.count == 3)
    }

    @Test func leavingTheLoopEndsItWithinOneFrameAndFreesTheSource() async throws {
        let (valve, freed) = (Valve(), Record<String>())
        let begun: Record<Int>
        do {
            let script = ScriptedAnimation(frames: 50, freed: freed) { if $0 == 5 { valve.block() } }
            begun = script.begun
            let mill = try mill([script])
            let animation = try await mill.animation(at: folder.file("0"))
            for try await _ in animation.frames {
                // By now the second window has begun.
                await valve.arrivals(1)
                break
            }
        }
        valve.open()
        await until { freed.count == 1 }
        #expect(begun.all == [0, 1, 2, 3, 4, 5])
    }

    private static func play(_ animation: Animation) -> Task<Void, any Error> {
        Task { for try await _ in animation.frames {} }
    }

    /// One animation holds the only permit in the middle of a window: a first frame begins all the same, and the others'
    /// come before the rest of that window.
    @Test func firstFramesGoBeforeTheRestOfAnyones() async throws {
        let (valve, order) = (Valve(), Record<String>())
        let scripts = (0..<5).map { number in
            ScriptedAnimation(frames: 10) { frame in
                if number == 0, frame == 2 { valve.block() }
                order.note("\(number):\(frame)")
            }
        }
        let mill = try mill(scripts)
        var animations: [Animation] = []
        for number in scripts.indices {
            animations.append(try await mill.animation(at: folder.file("\(number)")))
        }
        var players = [Self.play(animations[0])]
        await valve.arrivals(1)
        // The first is held in its second window; each of the others gives its first frame or waits for its turn.
        players += animations.dropFirst().map(Self.play)
        await until { order.count > 2 && order.count + mill.waitingForPermits == 6 }
        valve.open()
        for player in players { try await player.value }
        let all = order.all
        #expect(all.prefix(2) == ["0:0", "0:1"])
        let firsts: Set = ["1:0", "2:0", "3:0", "4:0"]
        #expect(firsts.contains(all[2]))
        let rest = try #require(all.firstIndex(of: "0:3"))
        #expect(firsts.isSubset(of: all[..<rest]))
        await mill.close()
    }

    /// The same for a frame that is asked for alone: it stands back between any two frames, for its equals too.
    @Test func aFrameFarInTheMiddleStandsBackForOthersWindows() async throws {
        let (valve, order) = (Valve(), Record<String>())
        let far = ScriptedAnimation(frames: 100) { frame in
            if frame == 1 { valve.block() }
            order.note("far")
        }
        let near = ScriptedAnimation(frames: 3) { _ in order.note("near") }
        let mill = try mill([far, near]) { $0.animationWindowBytes = 1 }
        var frames = try await mill.animation(at: folder.file("1")).frames.makeAsyncIterator()
        let animation = try await mill.animation(at: folder.file("0"))
        _ = try await frames.next()
        await until { order.count == 2 }
        let seeking = Task { try await animation.frame(at: 99) }
        await valve.arrivals(1)
        // The second frame is there; the step of the third waits.
        _ = try await frames.next()
        await until { mill.waitingForPermits == 1 }
        valve.open()
        #expect(try await seeking.value.index == 99)
        #expect(order.all.prefix(6) == ["near", "near", "far", "far", "near", "far"])
    }

    @Test func refusesFramesOnceClosed() async throws {
        let script = ScriptedAnimation(frames: 9)
        let mill = try mill([script]) { $0.animationWindowBytes = 1 }
        let animation = try await mill.animation(at: folder.file("0"))
        var frames = animation.frames.makeAsyncIterator()
        _ = try await frames.next()
        await mill.close()
        await #expect(throws: Failure.self) { while try await frames.next() != nil {} }
        let failure = await #expect(throws: Failure.self) { try await animation.frame(at: 1) }
        #expect(failure?.reason == .closed)
    }
}
