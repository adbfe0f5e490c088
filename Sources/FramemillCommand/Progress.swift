internal import Glibc
import FramemillMedia

/// What a person sees of a running batch, on standard error: on a terminal one line drawn over itself,
/// elsewhere a plain line every few seconds.
struct Progress {
    static let plainEvery = Duration.seconds(5)
    static let drawnEvery = Duration.milliseconds(200)

    private let isQuiet: Bool
    private let isTerminal: Bool
    private let start = ContinuousClock.now
    private var lastShown = ContinuousClock.now
    private var isDrawn = false

    init(isQuiet: Bool) {
        self.isQuiet = isQuiet
        isTerminal = isatty(2) == 1
    }

    /// How long to wait until the next look, where somebody looks.
    var interval: Duration? {
        if isQuiet { return nil }
        return isTerminal ? Self.drawnEvery : Self.plainEvery
    }

    var elapsed: Duration { start.duration(to: .now) }

    mutating func show(_ tally: Tally) {
        guard let interval, lastShown.duration(to: .now) >= interval else { return }
        lastShown = .now
        let text = Self.line(tally, seconds: elapsed.seconds)
        // Back to the start of the line, and clear what a longer one left.
        if isTerminal { Output.raw("\r\(text)\u{1B}[K") } else { Output.note(text) }
        isDrawn = isTerminal
    }

    mutating func note(_ text: String) {
        if isQuiet { return }
        clear()
        Output.note(Output.tame(text))
    }

    mutating func clear() {
        if isDrawn { Output.raw("\r\u{1B}[K") }
        isDrawn = false
    }

    /// The share of the list that is done comes from its bytes: the lines are not known before they are read.
    static func line(_ tally: Tally, seconds: Double) -> String {
        let run = tally.lines - tally.resumed
        let rate = seconds > 0 ? Double(run) / seconds : 0
        var text = "\(tally.made) made, \(tally.failed) failed"
        if tally.resumed > 0 { text += " (\(tally.resumed) before)" }
        text += ", \(short(rate))/s"
        if let share = tally.share, share > 0, run > 0 {
            text += ", \(Int(share * 100))%"
            // What an earlier run answered cost no time, and says nothing about what is left.
            let worked = share * Double(run) / Double(tally.lines)
            let left = seconds * (1 - share) / worked
            text += ", \(Facts.clock(seconds: left)) left"
        }
        return text
    }

    static func short(_ number: Double) -> String {
        number >= 10 ? "\(Int(number.rounded()))" : "\((number * 10).rounded() / 10)"
    }
}

/// Counts of a run.
struct Tally {
    /// Lines of the list with a final answer, those of earlier runs included.
    var lines = 0
    var made = 0
    var failed = 0
    /// Of `lines`: answered by an earlier run.
    var resumed = 0
    /// Of `made`: the cache had them.
    var kept = 0
    /// Of `lines`: the answer of another line.
    var duplicates = 0
    var failures: [String: Int] = [:]
    /// Of the list, by bytes, as far as it was read; `nil` for a pipe.
    var share: Double?

    mutating func count(_ record: Record) {
        lines += 1
        if record.isMade { made += 1 } else { failed += 1 }
        if record.origin == "memory" || record.origin == "disk" { kept += 1 }
        if !record.isMade { failures[record.code, default: 0] += 1 }
    }

    mutating func countResumed(isMade: Bool) {
        lines += 1
        resumed += 1
        if isMade { made += 1 } else { failed += 1 }
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
