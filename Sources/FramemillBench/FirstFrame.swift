internal import Framemill
internal import FramemillImaging
internal import FramemillMedia

/// How long the first frame of an animation takes, alone and while others are being played: the first frame goes
/// before the rest of anyone's, so it should hardly notice.
struct FirstFrame {
    private var others = 100
    private var rounds = 15
    private var file = ""

    init(_ words: [String]) throws(Failure) {
        var words = words[...]
        while let word = words.popFirst() {
            switch word {
            case "--others": others = try Main.number(words.popFirst())
            case "--rounds": rounds = try Main.number(words.popFirst())
            default: file = word
            }
        }
        if file.isEmpty { throw Failure(.badOption, .input, Main.usage) }
    }

    func run() async throws(Failure) {
        var configuration = Configuration()
        configuration.allowFiles = true
        let mill = try Framemill(configuration, renderer: Imaging())
        let (openAlone, alone) = try await measure(mill)
        let (file, others) = (file, others)
        let (begun, told) = AsyncStream.makeStream(of: Void.self)
        let players = (0..<others).map { _ in
            Task {
                var frames = 0
                do {
                    let animation = try await mill.animation(at: file)
                    while !Task.isCancelled {
                        for try await _ in animation.frames {
                            if frames == 0 { told.yield() }
                            frames += 1
                        }
                    }
                } catch {
                    // Cancelled below, which is the only end there is; any other shows as no frames.
                }
                return frames
            }
        }
        // All of them are at it once each has given its first frame.
        var waiting = begun.makeAsyncIterator()
        for _ in 0..<others { await waiting.next() }
        let (openCrowd, crowd) = try await measure(mill)
        for player in players { player.cancel() }
        var played = 0
        for player in players { played += await player.value }
        await mill.close()
        print(
            "open\t\(Rounds.text(openAlone.median)) ms alone\t\(Rounds.text(openCrowd.median)) ms in the crowd"
        )
        print(
            "first frame\t\(Rounds.text(alone.median)) ms alone\t\(Rounds.text(crowd.median)) ms in the crowd"
        )
        print("ratio of first frames\t\(Rounds.text(crowd.median / alone.median))")
        print("\(others) others gave \(played) frames meanwhile")
    }

    /// Opening, and the first frame after it.
    private func measure(_ mill: Framemill) async throws(Failure) -> (open: Rounds, first: Rounds) {
        var (open, first) = (Rounds(), Rounds())
        for _ in 0..<rounds {
            let start = ContinuousClock.now
            let animation = try await mill.animation(at: file)
            let opened = ContinuousClock.now
            var iterator = animation.frames.makeAsyncIterator()
            _ = try await iterator.next()
            open.add(Rounds.milliseconds(start.duration(to: opened)))
            first.add(Rounds.milliseconds(opened.duration(to: .now)))
        }
        return (open, first)
    }
}
