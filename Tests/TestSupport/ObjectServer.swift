import Foundation
import Synchronization

/// An S3 server that checks signatures, by `rclone serve s3`: one for each test, gone with its last reference.
public final class ObjectServer: Sendable {
    public static let keyID = "id-of-tests"
    public static let secret = "secret/of+tests"
    private let process: Mutex<Process>
    /// Folders are buckets, files objects.
    public let folder: TemporaryFolder
    /// `http://127.0.0.1:PORT`.
    public let endpoint: String

    public static var isInstalled: Bool { Tool.path(of: "rclone") != nil }

    /// - Parameter bucket: the one that is there at the start.
    public init(bucket: String) throws {
        guard let rclone = Tool.path(of: "rclone") else {
            throw Tool.Problem(description: "rclone is not installed")
        }
        folder = try TemporaryFolder()
        try FileManager.default.createDirectory(
            atPath: folder.file(bucket), withIntermediateDirectories: false)
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: rclone)
        process.arguments = [
            "serve", "s3", "--addr", "127.0.0.1:0", "--auth-key", "\(Self.keyID),\(Self.secret)", "--config",
            "/dev/null", folder.path,
        ]
        process.standardError = output
        try process.run()
        // "Starting s3 server on [http://127.0.0.1:38293/]"
        var text = ""
        while !text.contains("/]") {
            let more = output.fileHandleForReading.availableData
            if more.isEmpty { throw Tool.Problem(description: "rclone did not serve: \(text)") }
            text += String(decoding: more, as: UTF8.self)
        }
        guard let start = text.range(of: "[http://"), let end = text.range(of: "/]") else {
            throw Tool.Problem(description: "rclone named no address: \(text)")
        }
        endpoint = String(text[text.index(after: start.lowerBound)..<end.lowerBound])
        self.process = Mutex(process)
    }

    deinit { process.withLock { $0.terminate() } }
}
