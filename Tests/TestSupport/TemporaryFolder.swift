internal import Foundation

/// A folder of its own for one test; gone with all it holds when nobody holds it any more.
public final class TemporaryFolder: Sendable {
    public let path: String

    public init() throws {
        let parent = FileManager.default.temporaryDirectory.path
        path = "\(parent)/framemill-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit {
        // A test may have taken the folder away itself; there is nothing left to clean then.
        try? FileManager.default.removeItem(atPath: path)
    }

    /// The path of `name` in the folder.
    public func file(_ name: String) -> String { "\(path)/\(name)" }

    /// Writes a file, with the folders it needs, and returns its path.
    @discardableResult
    public func write(_ bytes: [UInt8], to name: String) throws -> String {
        let url = URL(fileURLWithPath: file(name))
        try FileManager.default.createDirectory(
            at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(bytes).write(to: url)
        return url.path
    }

    /// The bytes of a file in the folder.
    public func read(_ name: String) throws -> [UInt8] { try TemporaryFolder.bytes(of: file(name)) }

    /// Every plain file below the folder, as paths relative to it, sorted.
    public var files: [String] {
        guard let walk = FileManager.default.enumerator(atPath: path) else { return [] }
        return walk.compactMap { $0 as? String }.filter { name in
            var isFolder: ObjCBool = false
            // `isFolder` outlives the call that fills it.
            let exists = unsafe FileManager.default.fileExists(atPath: file(name), isDirectory: &isFolder)
            return exists && !isFolder.boolValue
        }.sorted()
    }

    /// The bytes of any file.
    public static func bytes(of path: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
    }
}
