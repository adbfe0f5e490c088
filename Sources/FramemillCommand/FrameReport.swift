import Framemill

/// One frame, as `framemill frames --json` tells it.
struct FrameRecord: Encodable, Sendable {
    var index: Int
    /// Milliseconds as stored, and to show it for.
    var rawMilliseconds: Double
    var milliseconds: Int
    /// Its own rectangle on the canvas.
    var left: Int
    var top: Int
    var width: Int
    var height: Int
    var disposal: FrameFacts.Disposal
    var blend: FrameFacts.Blend
    var whole: Bool
    /// Of the picture given out: RGBA, the fully transparent pixels as 0, 0, 0, 0.
    var sha256: String
    /// The name inside the output directory.
    var file: String?

    private enum CodingKeys: String, CodingKey {
        case index, left, top, width, height, disposal, blend, whole, sha256, file
        case rawMilliseconds = "raw_ms"
        case milliseconds = "ms"
    }

    init(_ frame: AnimationFrame, _ facts: FrameFacts, sha256: String, file: String?) {
        index = frame.index
        (rawMilliseconds, milliseconds) = (facts.rawDelay, frame.delay)
        (left, top, width, height) = (facts.left, facts.top, facts.width, facts.height)
        (disposal, blend, whole) = (facts.disposal, facts.blend, frame.isWhole)
        (self.sha256, self.file) = (sha256, file)
    }
}

/// The report of a run, piece by piece: one JSON object, or a table. Pieces go out as they come, so that a long
/// animation takes no more memory than a short one.
struct FrameReport: Sendable {
    private struct Head: Encodable {
        var url: String
        var container: String
        var width: Int
        var height: Int
        var plays: Int
    }

    /// What is known only at the end: broken data ends an animation before its index does.
    private struct Tail: Encodable {
        var frameCount: Int
        var animated: Bool
        var partial: Bool
        var ms: Int
        var code: String
        var `class`: String?
        var stage: String?
        var message: String?

        private enum CodingKeys: String, CodingKey {
            case animated, partial, ms, code, `class`, stage, message
            case frameCount = "frame_count"
        }
    }

    private let url: String
    private let facts: AnimationFacts
    private let isOne: Bool
    private let printsJSON: Bool
    private(set) var given = 0
    private var milliseconds = 0
    private var isPartial: Bool

    init(_ options: FramesOptions, _ facts: AnimationFacts) {
        url = options.url
        isOne = options.only != nil
        printsJSON = options.printsJSON
        self.facts = facts
        isPartial = facts.partial
    }

    func head() throws(Failure) -> String {
        guard printsJSON else {
            let plays = facts.plays == 0 ? "endless" : facts.plays == 1 ? "once" : "\(facts.plays) times"
            return Output.tame("\(url): \(facts.container) \(facts.width)x\(facts.height), plays \(plays)")
                + "\n"
                + Self.row(["frame", "ms", "stored", "rectangle", "disposal", "blend", "sha256"])
        }
        let head = Head(
            url: url, container: facts.container, width: facts.width, height: facts.height, plays: facts.plays
        )
        let loop = facts.rawLoop.map(String.init) ?? "null"
        return try JSON.text(head).dropLast() + ",\"loop_raw\":\(loop),\"frames\":["
    }

    mutating func line(_ record: FrameRecord) throws(Failure) -> String {
        defer { given += 1 }
        milliseconds += record.milliseconds
        if !record.whole { isPartial = true }
        if printsJSON { return try (given > 0 ? ",\n" : "\n") + JSON.text(record) }
        let stored = record.rawMilliseconds
        return Self.row([
            "\(record.index)", "\(record.milliseconds)",
            stored == stored.rounded() ? "\(Int(stored))" : "\(stored)",
            "\(record.width)x\(record.height)+\(record.left)+\(record.top)",
            record.disposal.rawValue, record.blend.rawValue,
            record.sha256.prefix(12) + (record.whole ? "" : " broken"),
        ])
    }

    func tail(_ failure: Failure?) throws(Failure) -> String {
        let frames = isOne ? facts.frameCount : given
        let all = isOne ? facts.milliseconds : milliseconds
        let partial = isPartial || frames < facts.frameCount
        guard printsJSON else {
            return "\(frames) frames, \(all) ms\(partial ? ", partial" : "")\n"
        }
        let tail = Tail(
            frameCount: frames, animated: frames > 1, partial: partial, ms: all,
            code: failure?.reason.code ?? "ok", class: failure?.reason.class.rawValue,
            stage: failure?.stage.rawValue, message: failure?.message)
        return try "\n]," + JSON.text(tail).dropFirst() + "\n"
    }

    private static func row(_ cells: [some StringProtocol]) -> String {
        let widths = [6, 6, 8, 20, 11, 7]
        return zip(cells, widths + [0]).map { cell, width in
            cell + String(repeating: " ", count: max(0, width - cell.count))
        }.joined(separator: " ") + "\n"
    }
}
