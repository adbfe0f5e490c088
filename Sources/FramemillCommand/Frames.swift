// `framemill frames`: every frame of an animation, or one. Frames are decoded ahead by the library; a few threads of
// our own shrink, hash, encode and write them meanwhile, and what is printed is printed in order. In flight are a few
// frames, however many there are.

import Framemill
import FramemillEngine

struct Frames: Sendable {
    private let options: FramesOptions
    private let mill: Framemill
    private let decoders: DecoderPool
    private let folder: OutputFolder?
    private let work: Lane<Void>
    private let output: Lane<OpenFile>
    private let width: Int

    static func run(_ arguments: Arguments, _ signals: Signals) async throws(Failure) -> ExitCode {
        let frames = try Frames(try FramesOptions(arguments))
        let (given, failure) = await signals.cancelling { await frames.give() }
        await frames.mill.close()
        frames.decoders.close()
        guard let failure else { return .allMade }
        // With frames given, the report has said so in its own form.
        let code = try Single.failed(
            failure, frames.options.url, frames.options.printsJSON && given == nil, signals)
        return given ?? 0 > 0 && code == .noneMade ? .someFailed : code
    }

    private init(_ options: FramesOptions) throws(Failure) {
        self.options = options
        folder = options.out.map { OutputFolder($0) }
        try folder?.prepare()
        decoders = try DecoderPool()
        mill = try Framemill(options.configuration, renderer: decoders)
        width = Processors.available
        work = Lane("frames", width: width) { () }
        output = Lane("output", width: 1) { () throws(Failure) in OpenFile(borrowing: 1) }
    }

    /// How many frames were given, `nil` when not even the animation was opened; and what ended it too early.
    private func give() async -> (given: Int?, failure: Failure?) {
        var report: FrameReport?
        do throws(Failure) {
            let animation = try await mill.animation(at: options.url)
            if let only = options.only {
                let frame = try await animation.frame(at: only)
                report = FrameReport(options, animation.facts)
                try await say(report?.head())
                let made = try await make(frame, animation.facts)
                try await give(made, &report)
            } else {
                report = FrameReport(options, animation.facts)
                try await say(report?.head())
                try await giveAll(animation, &report)
            }
            try await say(report?.tail(nil))
            return (report?.given, nil)
        } catch {
            return await (report?.given, close(report, error))
        }
    }

    /// The report is a whole one even if its frames are not; the first failure is the one to tell.
    private func close(_ report: FrameReport?, _ failure: Failure) async -> Failure {
        guard let report else { return failure }
        // Cancelled, perhaps, so written by a task of its own: the last piece makes the report readable.
        let tail = Task { () async -> Failure? in
            do throws(Failure) { try await say(report.tail(failure)) } catch { return error }
            return nil
        }
        _ = await tail.value
        return failure
    }

    private func giveAll(_ animation: Animation, _ report: inout FrameReport?) async throws(Failure) {
        var frames = animation.frames.makeAsyncIterator()
        var failure: Failure?
        await withTaskGroup(of: (index: Int, made: Result<Made, Failure>).self) { group in
            var (started, given, hasEnded) = (0, 0, false)
            var ready: [Int: Made] = [:]
            do throws(Failure) {
                while true {
                    // Two for each thread: one in work, one to go on with.
                    while !hasEnded, started - given < width * 2 {
                        guard let frame = try await frames.next() else {
                            hasEnded = true
                            break
                        }
                        let place = started
                        group.addTask { [self] in await (place, self.attempt(frame, animation.facts)) }
                        started += 1
                    }
                    guard let ended = await group.next() else { break }
                    ready[ended.index] = try ended.made.get()
                    while let made = ready.removeValue(forKey: given) {
                        try await give(made, &report)
                        given += 1
                    }
                }
            } catch {
                failure = error
                group.cancelAll()
            }
        }
        if let failure { throw failure }
    }

    private func give(_ made: Made, _ report: inout FrameReport?) async throws(Failure) {
        let line = try report?.line(made.record)
        if let pixels = made.pixels {
            try await write(pixels)
        } else {
            try await say(line)
        }
    }

    private func say(_ text: String?) async throws(Failure) {
        if let text, !options.writesPixels { try await write(Array(text.utf8)) }
    }

    /// On a thread of its own: a pipe may take its time. With files to write, a reader that left is no reason to end.
    private func write(_ bytes: [UInt8]) async throws(Failure) {
        let goesOn = folder != nil
        try await output.run(stop: Stop()) { file, _ throws(Failure) in
            guard goesOn else { return try Output.give(bytes, to: file) }
            do throws(Failure) { try file.write(bytes) } catch {
                if !SystemError.isBrokenPipe(error) { throw error }
            }
        }
    }
}

// MARK: - One frame

extension Frames {
    private struct Made: Sendable {
        var record: FrameRecord
        /// For standard output.
        var pixels: [UInt8]?
    }

    private func attempt(_ frame: AnimationFrame, _ facts: AnimationFacts) async -> Result<Made, Failure> {
        do throws(Failure) { return .success(try await make(frame, facts)) } catch { return .failure(error) }
    }

    private func make(_ frame: AnimationFrame, _ facts: AnimationFacts) async throws(Failure) -> Made {
        try await work.run(stop: Stop()) { [options, folder, decoders] _, stop throws(Failure) in
            var bitmap = frame.bitmap
            if let box = options.box { bitmap = try decoders.fit(bitmap, into: box, stop: stop) }
            bitmap.clearInvisible()
            let hash = Digest.hex(Digest.sha256(bitmap.pixels))
            var file: String?
            if let folder {
                let digits = String(frame.index)
                let number = String(repeating: "0", count: max(0, 5 - digits.count)) + digits
                let name = "frame-\(number).\(options.isRaw ? "rgba" : "png")"
                var recipe = Recipe()
                recipe.format = .png
                let bytes =
                    options.isRaw ? bitmap.pixels : try decoders.encode(bitmap, recipe: recipe, stop: stop)
                try folder.write(bytes, as: name)
                file = name
            }
            let record = FrameRecord(frame, facts.frames[frame.index], sha256: hash, file: file)
            return Made(record: record, pixels: options.writesPixels ? bitmap.pixels : nil)
        }
    }
}

extension Bitmap {
    /// What can't be seen has no colour: 0, 0, 0, 0.
    fileprivate mutating func clearInvisible() {
        guard hasAlpha else { return }
        var pixels = pixels
        self.pixels = []
        for at in stride(from: 0, to: pixels.count, by: 4) where pixels[at + 3] == 0 {
            (pixels[at], pixels[at + 1], pixels[at + 2]) = (0, 0, 0)
        }
        self.pixels = pixels
    }
}
