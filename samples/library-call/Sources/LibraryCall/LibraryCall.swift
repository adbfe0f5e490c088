import Framemill
import FramemillImaging
import Glibc

/// Covers by the library: one that is waited for, then many in the order they are ready. And GIFs, frame by frame.
///
///     library-call clip.mp4 photo.jpg …
@main
struct LibraryCall {
    static func main() async {
        let paths = Array(CommandLine.arguments.dropFirst())
        do throws(Failure) { try await cover(paths) } catch {
            print(error)
            exit(1)
        }
    }

    static func cover(_ paths: [String]) async throws(Failure) {
        guard let first = paths.first else { throw Failure(.badOption, .input, "usage: library-call FILE…") }

        var configuration = Configuration()
        // A server leaves this at false, and its callers' URLs reach no file.
        configuration.allowFiles = true
        let framemill = try Framemill(configuration, renderer: Imaging())

        var recipe = Recipe()
        recipe.box = .size(width: 160, height: 160)
        recipe.mode = .fill
        recipe.format = .webp
        let cover = try await framemill.cover(for: Request(first, recipe: recipe))
        print("one", describe(cover))

        let requests = paths.map { Request($0) }
        for await (index, outcome) in framemill.covers(for: requests) {
            switch outcome {
            case .success(let cover): print("made", paths[index], describe(cover))
            case .failure(let failure): print("failed", paths[index], failure.reason.code)
            }
        }
        for path in paths where path.hasSuffix(".gif") { try await play(path, framemill) }
        await framemill.close()
    }

    static func play(_ path: String, _ framemill: Framemill) async throws(Failure) {
        let animation = try await framemill.animation(at: path)
        var milliseconds = 0
        // A player would show `frame.bitmap` for so long; leaving the loop ends the decoding.
        for try await frame in animation.frames { milliseconds += frame.delay }
        let poster = try await animation.frame(at: 0).bitmap
        print(
            "played", path, "\(animation.facts.frameCount) frames, \(milliseconds) ms,", poster.width, "wide")
    }

    static func describe(_ cover: Artifact) -> String {
        let facts = cover.facts
        let length = facts.duration.map(Facts.clock) ?? "still"
        return "\(facts.codec) \(facts.displayWidth)x\(facts.displayHeight) \(length)"
            + " -> \(facts.format) \(facts.width)x\(facts.height)"
    }
}
