internal import FoundationEssentials

/// What a queue may hold and for how long. Every default carries its reason.
public struct QueueRules: Sendable, Equatable {
    /// Jobs that have waited for longer get every fourth turn. A minute is what somebody bears who waits for
    /// a page.
    public var ageing: Duration = .seconds(60)
    /// Jobs that may wait at once; more are refused. A million take about 1 GB in Redis.
    public var depth: Int = 1_000_000
    /// Hand-outs of one job whose worker vanished before it is taken for the cause.
    public var crashes: Int = 5
    /// Outcomes kept for whoever asks later.
    public var results: Int = 10_000
    /// How long dead jobs are kept, and their keys with them.
    public var deadKept: Duration = .seconds(14 * 86400)
    /// A job that was handed out this long ago and has no lease is put back. Longer than any clock is off.
    public var unleased: Duration = .seconds(60)

    public init() {}

    /// How many of the next `count` turns belong to those that have waited for too long, after `turn` turns.
    static func agedTurns(after turn: Int64, count: Int) -> Int {
        Int((turn + Int64(count)) / 4 - turn / 4)
    }
}

/// What time it is. Tests hand in one of their own.
public struct QueueClock: Sendable {
    /// Milliseconds since 1970.
    let now: @Sendable () -> Int64

    public init(_ now: @escaping @Sendable () -> Int64) { self.now = now }

    public static let system = QueueClock { Int64(Date().timeIntervalSince1970 * 1000) }
}

extension Duration {
    /// Whole milliseconds, the rest cut off; as many as fit.
    package var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        return min(seconds, 1 << 43) * 1000 + attoseconds / 1_000_000_000_000_000
    }
}
