public import FramemillMedia

public enum JobState: String, Sendable, Codable, CaseIterable {
    case waiting, delayed, running, dead
    /// Of a host that is paused.
    case parked
}

/// A job and what the queue knows of it. Times are milliseconds since 1970; JSON names are the property
/// names.
public struct JobRecord: Sendable, Codable, Equatable {
    public var id: String
    public var state: JobState
    public var priority: String
    public var host: String
    public var tries: Int
    public var added: Int64
    /// When it may be, or could have been, started.
    public var due: Int64
    public var key: String?
    /// Who holds it, and until when.
    public var worker: String?
    public var expires: Int64?
    /// Of the last failure: the code, its class, and its words.
    public var code: String?
    public var `class`: String?
    public var message: String?
    /// When it died.
    public var ended: Int64?
    /// As the producer wrote it.
    public var job: String
}

/// Part of a list, and where the next part begins; `nil` at the end.
public struct JobPage: Sendable {
    public var jobs: [JobRecord]
    public var next: String?
    /// The queue's clock, milliseconds since 1970.
    public var now: Int64
}

/// Which jobs are meant; what is `nil` does not matter.
public struct JobFilter: Sendable, Equatable {
    /// Of the failure: `http_404`, `timeout`.
    public var code: String?
    public var `class`: Failure.Class?
    public var host: String?
    /// Dead jobs by the time of their death, others by the time they were added.
    public var olderThan: Duration?

    public init() {}

    func matches(_ record: JobRecord, now: Int64) -> Bool {
        if let code, record.code != code { return false }
        if let wanted = self.class, record.class != wanted.rawValue { return false }
        if let host, record.host != host.lowercased() { return false }
        if let olderThan {
            return now - (record.ended ?? record.added) > olderThan.wholeMilliseconds
        }
        return true
    }
}

/// A queue at a glance.
public struct QueueStats: Sendable, Codable, Equatable {
    public struct Depth: Sendable, Codable, Equatable {
        public var waiting = 0
        /// How long the oldest has waited, in milliseconds; 0 where none waits.
        public var oldestMilliseconds: Int64 = 0

        public init() {}
    }
    /// By `interactive`, `prefetch` and `backfill`.
    public var priorities: [String: Depth] = [:]
    public var delayed = 0
    public var running = 0
    public var dead = 0
    public var parked = 0
    /// Ended well since the queue was made.
    public var done: Int64 = 0
    public var isPaused = false
    public var pausedHosts: [String] = []
    /// Of the file and its log; of all of Redis.
    public var bytes: Int64 = 0
    /// What is set up so that jobs may be lost, in words.
    public var warnings: [String] = []

    public init() {}

    public var waiting: Int { priorities.values.reduce(0) { $0 + $1.waiting } }
}
