internal import FramemillMedia

// What all drivers say in the same words.

enum Full {
    static func failure(_ waiting: Int, _ more: Int, rules depth: Int) -> Failure {
        Failure(
            .writeFailed, .queue,
            "\(waiting) jobs wait and \(more) more would exceed \(depth) (QueueRules.depth); add them later")
    }
}

enum Vanished {
    static let words = "its worker vanished without a word, for the last time at try"

    static func failure(_ tries: Int) -> Failure {
        Failure(.decoderCrashed, .queue, "\(words) \(tries) (QueueRules.crashes)")
    }
}

extension JobRecord {
    init(_ job: Job, now: Int64) {
        self.init(
            id: job.id, state: .waiting, priority: job.priority.name, host: job.host, tries: 0, added: now,
            due: max(now, job.notBeforeMilliseconds), key: job.key, job: job.json)
    }

    /// Between waiting and delayed lies only time.
    func state(at now: Int64) -> JobState { state == .waiting && due > now ? .delayed : state }

    mutating func note(_ failure: Failure) {
        (code, self.class) = (failure.reason.code, failure.reason.class.rawValue)
        message = failure.message
    }
}

extension Job {
    /// Seconds since 1970 that a job may name; beyond it lies the year 5138.
    static let times = 0...1e11

    var notBeforeMilliseconds: Int64 {
        guard let notBefore, Self.times.contains(notBefore) else { return 0 }
        return Int64(notBefore * 1000)
    }
}
