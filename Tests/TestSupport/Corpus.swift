internal import Foundation

/// Media files with known facts, kept outside the repository: `../shared/corpus` beside the package, or wherever
/// `FRAMEMILL_CORPUS` says. A test that needs them carries `.enabled(if: Corpus.isPresent, Corpus.absence)`.
public enum Corpus {
    /// One line of `MANIFEST.tsv`.
    public struct Row: Sendable, CustomStringConvertible {
        /// Relative to the corpus: `video/clip.mp4`.
        public var path: String
        public var sha256: String
        public var byteCount: Int
        /// What the file tries, in words.
        public var exercises: String
        /// `width=24;height=18;frames=4` as keys and values. `frames~4` (about) is kept under `frames` too.
        public var expected: [String: String]
        /// The reasons of which one must refuse the file; `ok` or `cover_art` among them allows a result as well.
        public var refusals: [String]
        /// Mean colours of the upright first frame by place: `tl tr bl br c mean`, as the manifest writes them.
        public var colours: [String: String]
        public var notes: String
        /// The first folder: `video`, `image`, `gif`, `apng`, `webp`, `broken`.
        public var kind: String { String(path.prefix { $0 != "/" }) }
        /// Where the file lies on this machine.
        public var file: String { Corpus.file(path) }
        /// A whole number among the expected values.
        public func number(_ key: String) -> Int? { expected[key].flatMap { Int($0) } }
        /// A number with a fraction among the expected values.
        public func decimal(_ key: String) -> Double? { expected[key].flatMap { Double($0) } }
        public var description: String { path }
    }

    /// The corpus folder; `nil`, said once on standard error, when it isn't there.
    public static let folder: String? = {
        let root = URL(fileURLWithPath: #filePath)
            .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let named = ProcessInfo.processInfo.environment["FRAMEMILL_CORPUS"]
        let path = named ?? root.deletingLastPathComponent().appendingPathComponent("shared/corpus").path
        if FileManager.default.isReadableFile(atPath: path + "/MANIFEST.tsv") { return path }
        FileHandle.standardError.write(Data("\n*** SKIPPED: no corpus at \(path) (\(absence))\n\n".utf8))
        return nil
    }()

    public static var isPresent: Bool { folder != nil }
    public static let absence = "set FRAMEMILL_CORPUS to the folder that holds MANIFEST.tsv"

    /// The place of a file of the corpus.
    public static func file(_ path: String) -> String { "\(folder ?? "no-corpus")/\(path)" }

    /// Every line of the manifest, in its order; none when there is no corpus.
    public static let rows: [Row] = {
        // Without a corpus there is nothing to list, and `folder` has said so.
        guard let folder, let text = try? String(contentsOfFile: folder + "/MANIFEST.tsv", encoding: .utf8)
        else {
            return []
        }
        return text.split(separator: "\n").dropFirst().compactMap(row)
    }()

    /// The lines of some kinds: `rows("video", "image")`.
    public static func rows(_ kinds: String...) -> [Row] { rows.filter { kinds.contains($0.kind) } }

    private static func row(_ line: Substring) -> Row? {
        let cells = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
        guard cells.count >= 7 else { return nil }
        var row = Row(
            path: cells[0], sha256: cells[1], byteCount: Int(cells[2]) ?? 0, exercises: cells[5],
            expected: [:], refusals: [], colours: [:], notes: cells.count > 8 ? cells[8] : "")
        for part in cells[6].split(separator: ";") {
            if part.hasPrefix("error:") {
                row.refusals = part.dropFirst(6).split(separator: "|").map(String.init)
            } else if part.hasPrefix("first_frame:") {
                let places = part.dropFirst("first_frame:".count).split(separator: " ")
                row.colours = pairs(places, separator: "=")
            } else {
                row.expected.merge(pairs([part], separator: part.contains("=") ? "=" : "~")) { $1 }
            }
        }
        return row
    }

    private static func pairs(_ parts: [Substring], separator: Character) -> [String: String] {
        var pairs: [String: String] = [:]
        for part in parts {
            let halves = part.split(separator: separator, maxSplits: 1, omittingEmptySubsequences: false)
            pairs[String(halves[0])] = halves.count == 2 ? String(halves[1]) : ""
        }
        return pairs
    }
}
