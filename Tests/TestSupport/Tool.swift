internal import Foundation

/// Runs other programs, such as `ffmpeg`, for tests that compare with them. Blocks until the program has ended.
public enum Tool {
    public struct Result: Sendable {
        /// The exit status; 128 + number when a signal ended the program.
        public var status: Int
        public var output: [UInt8]
        public var errorText: String
        public var text: String { String(decoding: output, as: UTF8.self) }
    }

    public struct Problem: Error, CustomStringConvertible {
        public var description: String
    }

    /// Where `name` is found on the search path; `nil` when it isn't installed.
    public static func path(of name: String) -> String? {
        if name.contains("/") { return FileManager.default.isExecutableFile(atPath: name) ? name : nil }
        let folders = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        return folders.map { "\($0)/\(name)" }.first { FileManager.default.isExecutableFile(atPath: $0) }
    }

    /// Runs a program and returns what it said, whatever its exit status.
    ///
    /// Files stand in for pipes: no pipe that fills up can hang it, and no other child can hold an end open.
    public static func run(
        _ name: String, _ arguments: [String] = [], input: [UInt8] = [], environment: [String: String] = [:],
        in folder: String? = nil,
    ) throws -> Result {
        guard let program = path(of: name) else { throw Problem(description: "\(name) is not installed") }
        let place = try TemporaryFolder()
        let files = try ["in", "out", "err"].map { URL(fileURLWithPath: try place.write([], to: $0)) }
        try Data(input).write(to: files[0])
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        if let folder { process.currentDirectoryURL = URL(fileURLWithPath: folder) }
        process.standardInput = try FileHandle(forReadingFrom: files[0])
        process.standardOutput = try FileHandle(forWritingTo: files[1])
        process.standardError = try FileHandle(forWritingTo: files[2])
        try process.run()
        process.waitUntilExit()
        let isSignal = process.terminationReason == .uncaughtSignal
        return Result(
            status: Int(process.terminationStatus) + (isSignal ? 128 : 0), output: try place.read("out"),
            errorText: String(decoding: try place.read("err"), as: UTF8.self))
    }

    /// Runs a program that must succeed and returns its output; throws with its last words when it does not.
    @discardableResult
    public static func output(_ name: String, _ arguments: [String] = [], input: [UInt8] = []) throws
        -> [UInt8]
    {
        let result = try run(name, arguments, input: input)
        guard result.status == 0 else {
            throw Problem(
                description: "\(name) ended with \(result.status): \(result.errorText.suffix(2000))")
        }
        return result.output
    }
}
