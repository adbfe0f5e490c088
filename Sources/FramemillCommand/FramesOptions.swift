import Framemill

/// What `framemill frames` was asked to do.
struct FramesOptions: Sendable {
    var url: String
    var configuration: Configuration
    var out: String?
    var only: Int?
    var box: Recipe.Box?
    var isRaw: Bool
    var printsJSON: Bool

    init(_ arguments: Arguments) throws(Failure) {
        url = try arguments.only("FILE or URL")
        configuration = try Configuration(arguments)
        // Frames are not kept.
        configuration.cacheDirectory = nil
        configuration.memoryCacheBytes = 0
        out = arguments.text("out")
        if out?.isEmpty == true { throw Arguments.usage("--out wants a path") }
        only = try arguments.whole("only", 0...Int(Int32.max))
        box = try arguments.value("size", or: Recipe.Box.words, Recipe.Box.init(typed:))
        isRaw = arguments.has("raw")
        printsJSON = arguments.has("json")
        if isRaw, printsJSON, out == nil {
            throw Arguments.usage("--raw and --json both want standard output; add --out DIR for the pixels")
        }
    }

    /// The pixels go to standard output, and nothing else does.
    var writesPixels: Bool { isRaw && out == nil }
}
