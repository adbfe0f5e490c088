internal import Framemill
internal import FramemillEngine
internal import FramemillImaging
internal import FramemillMedia
internal import Glibc

/// What a decoder process costs: each file in this process and in another, in turn, from memory.
struct IsolationBench {
    private var rounds = 15
    private var threads = 1
    private var jobs = 0
    private var files: [String] = []

    init(_ words: [String]) throws(Failure) {
        var words = words[...]
        while let word = words.popFirst() {
            switch word {
            case "--rounds": rounds = try Main.number(words.popFirst())
            case "--threads": threads = try Main.number(words.popFirst())
            case "--kills": jobs = try Main.number(words.popFirst())
            default: files.append(word)
            }
        }
        if files.isEmpty { throw Failure(.badOption, .input, Main.usage) }
    }

    func run() throws(Failure) {
        let decoders = try DecoderPool()
        defer { decoders.close() }
        if jobs > 0 { return try runKills(decoders) }
        let lane = Lane<Void>("bench", width: max(1, threads - 1)) { () }
        let permits = Permits(count: threads)
        let crew = threads == 1 ? Crew.alone : Crew(lane, permits: permits)
        for file in files {
            let bytes = try Main.read(file)
            var (here, apart, ratios) = (Rounds(), Rounds(), Rounds())
            for round in 0...rounds {
                let one = try time(bytes, Imaging(), crew, permits)
                let other = try time(bytes, decoders, crew, permits)
                // The first round starts the process and warms caches.
                guard round > 0 else { continue }
                here.add(one)
                apart.add(other)
                ratios.add(other / one)
            }
            let name = file.split(separator: "/").last ?? ""
            print(
                "\(name)\t\(Rounds.text(here.median)) ms here\t\(Rounds.text(apart.median)) ms apart"
                    + "\tratio \(Rounds.text(apart.median / here.median)), of pairs \(Rounds.text(ratios.median))"
            )
        }
    }

    /// Covers one after the other, with nobody killed and then with the decoder of every fortieth killed in its midst.
    private func runKills(_ decoders: DecoderPool) throws(Failure) {
        let bytes = try Main.read(files[0])
        let signals = [SIGSEGV, SIGKILL, SIGABRT]
        for kills in [false, true] {
            var (times, failures, late) = (Rounds(), [String: Int](), 0)
            for number in 0..<jobs {
                let isVictim = kills && number % 40 == 7
                let reader = WatchedReader(MemoryReader(bytes)) {
                    // The one that is at work comes last.
                    if isVictim, let pid = decoders.processes.last { kill(pid, signals[number / 40 % 3]) }
                }
                let stop = Stop(after: .seconds(600))
                let start = ContinuousClock.now
                do throws(Failure) {
                    _ = try decoders.render(
                        reader, recipe: Recipe(), limits: Limits(), crew: .alone, stop: stop)
                    times.add(Rounds.milliseconds(start.duration(to: .now)))
                    if isVictim { late += 1 }
                } catch {
                    failures[error.reason.code, default: 0] += 1
                    if !isVictim { late += 1 }
                }
            }
            let told = failures.isEmpty ? "none failed" : failures.map { "\($0.value) \($0.key)" }.joined()
            print(
                "\(jobs) covers, \(kills ? "every fortieth killed" : "none killed")\t\(told), "
                    + "\(late) others than those\tmedian \(Rounds.text(times.median)) ms, "
                    + "95% below \(Rounds.text(times.part(0.95))) ms\tprocess \(getpid())")
        }
    }

    private func time(
        _ bytes: [UInt8], _ renderer: any Renderer, _ crew: Crew, _ permits: Permits
    ) throws(Failure) -> Double {
        try Rounds.time { () throws(Failure) in
            try permits.holding { () throws(Failure) in
                try Self.decode(bytes, renderer, crew)
            }
        }
    }

    /// Every frame of an animation, the cover of anything else.
    private static func decode(
        _ bytes: [UInt8], _ renderer: any Renderer, _ crew: Crew
    ) throws(Failure) {
        let stop = Stop(after: .seconds(600))
        guard Format.sniff(bytes) == .gif else {
            _ = try renderer.render(
                MemoryReader(bytes), recipe: Recipe(), limits: Limits(), crew: crew, stop: stop)
            return
        }
        let decoder = try renderer.animation(MemoryReader(bytes), limits: Limits(), stop: stop)
        var place = AnimationPlace()
        while true {
            let frames = try decoder.frames(from: &place, windowBytes: 16 << 20, crew: crew, stop: stop)
            if frames.isEmpty { return }
        }
    }
}

/// Calls somebody at each read.
private final class WatchedReader: ByteReader {
    private let reader: MemoryReader
    private let tell: @Sendable () -> Void

    init(_ reader: MemoryReader, _ tell: @escaping @Sendable () -> Void) {
        (self.reader, self.tell) = (reader, tell)
    }

    var byteCount: Int64? { reader.byteCount }
    var cost: (bytes: Int64, requests: Int) { reader.cost }
    var isLocal: Bool { reader.isLocal }
    func expect(_ range: Range<Int64>) {}
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
        tell()
        return try unsafe reader.read(at: offset, into: buffer)
    }
}
