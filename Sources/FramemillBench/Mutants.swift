internal import FramemillEngine
internal import FramemillImaging
internal import FramemillMedia
internal import Foundation

/// Decodes broken variants of animations: each must end with frames or a `Failure`, and soon. A fault ends the
/// process; the line before says which variant it was. Meant for a build with the address sanitizer.
struct Mutants {
    private var variants = 10_000
    private var seed: UInt64 = 1
    private var files: [String] = []

    init(_ words: [String]) throws(Failure) {
        var words = words[...]
        while let word = words.popFirst() {
            switch word {
            case "--variants": variants = try Main.number(words.popFirst())
            case "--seed": seed = UInt64(try Main.number(words.popFirst()))
            default: files.append(word)
            }
        }
        if files.isEmpty { throw Failure(.badOption, .input, Main.usage) }
    }

    func run() throws(Failure) {
        var originals: [(name: String, bytes: [UInt8])] = []
        for file in files { originals.append((file, try Main.read(file))) }
        var limits = Limits()
        // Enough for every original, and small enough that thousands of variants take minutes.
        limits.pixelsPerFrame = 1 << 22
        limits.frames = 1000
        var (whole, partial, refused, slow) = (0, 0, 0, 0)
        for variant in 0..<variants {
            // A number a variant: any one can be repeated alone.
            let (name, bytes) = originals[variant % originals.count]
            var mutation = Mutation(seed: seed &+ UInt64(variant))
            let edited = mutation.edit(bytes)
            FileHandle.standardError.write(Data("\r\(variant) \(name)\u{1B}[K".utf8))
            let stop = Stop(after: .seconds(20))
            do throws(Failure) {
                if try Self.decode(edited, limits, stop) { whole += 1 } else { partial += 1 }
            } catch {
                refused += 1
                if error.reason == .timeout {
                    slow += 1
                    print("slow: variant \(variant) of \(name), seed \(seed)")
                }
            }
        }
        FileHandle.standardError.write(Data("\r\u{1B}[K".utf8))
        print(
            "\(variants) variants of \(originals.count) files, seed \(seed): \(whole) whole, \(partial) in part,"
        )
        print("\(refused) refused, \(slow) not done after 20 s")
        if slow > 0 { throw Failure(.timeout, .decode, "\(slow) variants did not end") }
    }

    /// Every frame in order and one at random; whether all were whole.
    private static func decode(_ bytes: [UInt8], _ limits: Limits, _ stop: Stop) throws(Failure) -> Bool {
        let decoder = try Imaging().animation(MemoryReader(bytes), limits: limits, stop: stop)
        var place = AnimationPlace()
        var isWhole = !decoder.facts.partial
        var pixels = 0
        while true {
            let frames = try decoder.frames(from: &place, windowBytes: 1 << 20, crew: .alone, stop: stop)
            isWhole = isWhole && frames.allSatisfy(\.isWhole)
            pixels += frames.reduce(0) { $0 + $1.bitmap.width * $1.bitmap.height }
            // What is to be found is found in the first frames; a header may announce many large ones.
            if frames.isEmpty || pixels > 1 << 26 { break }
        }
        _ = try decoder.frame(at: decoder.facts.frameCount / 2, crew: .alone, stop: stop)
        return isWhole
    }
}
