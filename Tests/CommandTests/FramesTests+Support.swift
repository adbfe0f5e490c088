import Foundation
import TestSupport
import Testing

extension FramesTests {
    /// What `frames --json` prints.
    struct Report: Decodable {
        var width: Int
        var height: Int
        var container: String
        var plays: Int
        var rawLoop: Int?
        var frames: [Frame]
        var frameCount: Int
        var animated: Bool
        var partial: Bool
        var ms: Int
        var code: String

        private enum CodingKeys: String, CodingKey {
            case width, height, container, plays, frames, animated, partial, ms, code
            case rawLoop = "loop_raw"
            case frameCount = "frame_count"
        }

        init(_ json: [UInt8]) throws { self = try JSONDecoder().decode(Self.self, from: Data(json)) }
    }

    struct Frame: Decodable, Equatable {
        var index: Int
        var rawDelay: Double
        var ms: Int
        var left: Int
        var top: Int
        var width: Int
        var height: Int
        var disposal: String
        var blend: String
        var whole: Bool
        var sha256: String
        var file: String?

        private enum CodingKeys: String, CodingKey {
            case index, ms, left, top, width, height, disposal, blend, whole, sha256, file
            case rawDelay = "raw_ms"
        }
    }
}

/// A folder with GIFs in it, and the command that looks at them.
extension Command {
    func write(_ gif: GIFBuilder, as name: String = "a.gif") throws {
        try folder.write(gif.bytes, to: name)
    }

    /// The report on a file of which frames must come.
    func frames(_ words: String...) throws -> FramesTests.Report {
        let result = try Tool.run(Self.binary, ["frames", "--json"] + words, in: folder.path)
        try #require(result.status == 0, "\(result.errorText)")
        return try FramesTests.Report(result.output)
    }

    /// The pixels of all frames.
    func pixels(_ name: String = "a.gif") throws -> [[UInt8]] {
        let report = try frames(name)
        let bytes = try Tool.run(Self.binary, ["frames", "--raw", name], in: folder.path).output
        let length = report.width * report.height * 4
        try #require(bytes.count == length * report.frameCount)
        return stride(from: 0, to: bytes.count, by: length).map { Array(bytes[$0..<$0 + length]) }
    }

    /// Exit status and code of a file that can't be shown.
    func refusal(_ name: String = "a.gif") throws -> (status: Int, code: String) {
        struct Answer: Decodable { var code: String }
        let result = try Tool.run(Self.binary, ["frames", "--json", name], in: folder.path)
        return (result.status, try JSONDecoder().decode(Answer.self, from: Data(result.output)).code)
    }

    static func hash(_ bytes: [UInt8]) throws -> String {
        String(decoding: try Tool.output("sha256sum", input: bytes).prefix(64), as: UTF8.self)
    }
}

/// `frames.tsv`: what reference decoders agree on.
enum FrameList {
    struct Row: Sendable, CustomStringConvertible {
        var path: String
        /// By frame; empty where they disagree.
        var hashes: [Int: String]
        var description: String { path }
    }

    /// Every third animation: that each is decoded right is told by the tests of the decoders.
    static let rows: [Row] = {
        // Without a corpus there is no table; the tests that read it are off.
        let text = (try? String(contentsOfFile: Corpus.file("frames.tsv"), encoding: .utf8)) ?? ""
        var table: [String: [Int: String]] = [:]
        for line in text.split(separator: "\n").dropFirst() {
            let cells = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard cells.count >= 4, let frame = Int(cells[1]) else { continue }
            table[cells[0], default: [:]][frame] = cells[3]
        }
        let rows = table.map { Row(path: $0.key, hashes: $0.value) }.sorted { $0.path < $1.path }
        return rows.filter { !choices.contains($0.path) && kinds.contains($0.path.prefix { $0 != "/" }) }
            .enumerated().filter { $0.offset % 3 == 0 }.map(\.element)
    }()

    private static let kinds: [Substring] = ["gif", "webp", "apng"]

    /// Our answer is another, and named where GIFs are decoded.
    private static let choices = [
        "gif/wuffs_frame-out-of-bounds.gif", "gif/wuffs_small-frame-interlaced.gif",
        "gif/wuffs_zero-width-frame.gif",
    ]
}
