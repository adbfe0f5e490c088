internal import FramemillEngine
internal import FramemillImaging
internal import FramemillMedia
internal import Synchronization

/// GIFs in memory to canvases, as a consumer on another queue gets them.
struct GIFBench {
    private var rounds = 7
    private var threads = 1
    /// All files as one list, each decoded by one thread.
    private var isList = false
    private var files: [String] = []

    init(_ words: [String]) throws(Failure) {
        var words = words[...]
        while let word = words.popFirst() {
            switch word {
            case "--rounds": rounds = try Main.number(words.popFirst())
            case "--list": isList = true
            case "--threads": threads = try Main.number(words.popFirst())
            default: files.append(word)
            }
        }
        if files.isEmpty { throw Failure(.badOption, .input, Main.usage) }
    }

    func run() throws(Failure) {
        if isList { return try runList() }
        // One thread less: the caller works too.
        let lane = Lane<Void>("gif", width: max(1, threads - 1)) { () }
        let permits = Permits(count: threads)
        let crew = threads == 1 ? Crew.alone : Crew(lane, permits: permits)
        for file in files {
            let bytes = try Main.read(file)
            var times = Rounds()
            var frames = 0
            for round in 0...rounds {
                let time = try Rounds.time { () throws(Failure) in
                    frames = try permits.holding { () throws(Failure) in try Self.decode(bytes, crew) }
                }
                // The first round warms caches and is not counted.
                if round > 0 { times.add(time) }
            }
            let name = file.split(separator: "/").last ?? ""
            print("\(name)\t\(frames)\t\(Rounds.text(times.median))\t\(Rounds.text(times.least))")
        }
    }

    private func runList() throws(Failure) {
        var list: [[UInt8]] = []
        for file in files { list.append(try Main.read(file)) }
        let lane = Lane<Void>("gif", width: max(1, threads - 1)) { () }
        let permits = Permits(count: threads)
        let crew = Crew(lane, permits: permits)
        var times = Rounds()
        for round in 0...rounds {
            let failures = Atomic<Int>(0)
            let time = Rounds.time {
                permits.holding {
                    crew.each(list.count) { [list] index in
                        do throws(Failure) {
                            _ = try Self.decode(list[index], .alone)
                        } catch {
                            failures.add(1, ordering: .relaxed)
                        }
                    }
                }
            }
            guard failures.load(ordering: .relaxed) == 0 else {
                throw Failure(.corrupt, .decode, "a file of the list can't be decoded")
            }
            if round > 0 { times.add(time) }
        }
        print("list\t\(files.count)\t\(Rounds.text(times.median))\t\(Rounds.text(times.least))")
    }

    private static func decode(_ bytes: [UInt8], _ crew: Crew) throws(Failure) -> Int {
        let stop = Stop(after: .seconds(600))
        let decoder = try Imaging().animation(MemoryReader(bytes), limits: Limits(), stop: stop)
        var place = AnimationPlace()
        var count = 0
        while true {
            let frames = try decoder.frames(from: &place, windowBytes: 16 << 20, crew: crew, stop: stop)
            if frames.isEmpty { return count }
            count += frames.count
        }
    }
}
