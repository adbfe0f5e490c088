import Foundation
import FramemillMedia
import TestSupport

/// The built binary, run as a user runs it, in a folder of its own.
struct Command {
    let folder: TemporaryFolder

    /// Beside the test bundle, or wherever `FRAMEMILL_BINARY` says.
    static let binary: String = {
        if let named = ProcessInfo.processInfo.environment["FRAMEMILL_BINARY"] { return named }
        let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        return tests.deletingLastPathComponent().appendingPathComponent("framemill").path
    }()

    /// A clip of half a second, made once; its bytes stand in for every video of these tests.
    static let clip = generated(
        "testsrc2=s=96x64:d=0.5:r=10", ["-c:v", "libx264", "-pix_fmt", "yuv420p", "-f", "mp4"], "clip.mp4")
    /// A picture that no encoder makes small: its cover is larger than a tight file limit.
    static let noise = generated(
        "color=gray:s=320x320:d=1:r=1,noise=alls=100:allf=t", ["-frames:v", "1", "-f", "image2"], "noise.png")

    init() throws { folder = try TemporaryFolder() }

    func run(_ arguments: String..., input: String = "") throws -> Tool.Result {
        try run(arguments, input: input)
    }

    func run(_ arguments: [String], input: String = "") throws -> Tool.Result {
        try Tool.run(
            Self.binary, arguments, input: Array(input.utf8),
            environment: ["XDG_CACHE_HOME": folder.file("cache")],
            in: folder.path)
    }

    /// Starts the binary and leaves it running.
    func start(_ arguments: String...) throws -> Process {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: Self.binary)
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: folder.path)
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["XDG_CACHE_HOME": folder.file("cache")]
        ) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        return process
    }

    @discardableResult
    func write(_ text: String, to name: String) throws -> String {
        try folder.write(Array(text.utf8), to: name)
    }

    func writeClips(_ names: String...) throws {
        for name in names { try folder.write(Self.clip.get(), to: name) }
    }

    /// The records of a manifest, in its order.
    func records(_ manifest: String = "out/manifest.jsonl") throws -> [Row] {
        let text = String(decoding: try folder.read(manifest), as: UTF8.self)
        return try text.split(separator: "\n").map { try JSONDecoder().decode(Row.self, from: Data($0.utf8)) }
    }

    /// The files of the output directory, the manifest aside.
    var covers: [String] {
        folder.files.filter { $0.hasPrefix("out/") && $0 != "out/manifest.jsonl" }.map {
            String($0.dropFirst(4))
        }
    }

    struct Row: Decodable {
        var line: Int
        var id: String?
        var url: String
        var code: String
        var `class`: String?
        var message: String?
        var file: String?
        var origin: String?
        var facts: Facts?
    }

    /// The file that ffmpeg makes, or why there is none: a static can't throw, so whoever needs it does.
    private static func generated(
        _ source: String, _ options: [String], _ name: String
    ) -> Result<[UInt8], any Error> {
        Result {
            let folder = try TemporaryFolder()
            try Tool.output(
                "ffmpeg", ["-v", "error", "-f", "lavfi", "-i", source] + options + [folder.file(name)])
            return try folder.read(name)
        }
    }
}
