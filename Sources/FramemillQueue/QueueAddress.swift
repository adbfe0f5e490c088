public import FramemillMedia

/// Which queue is meant, in the words of the command line.
public enum QueueAddress {
    public static let words = "sqlite:PATH, redis://[:PASSWORD@]HOST[:PORT][/DB] or unix:///SOCKET"

    /// Opens `sqlite:PATH`, `redis://…` or `unix://…`. Nothing is touched before the first call.
    /// - Parameter mustExist: a file is not made; calls fail with `notFound` where there is none.
    /// - Throws: `badOption` for anything else.
    public static func open(
        _ text: String, rules: QueueRules = QueueRules(), mustExist: Bool = false
    ) throws(Failure) -> any JobQueue {
        if let path = filePath(text) { return SQLiteQueue(path, rules: rules, mustExist: mustExist) }
        if text.hasPrefix("redis:") || text.hasPrefix("rediss:") || text.hasPrefix("unix:") {
            return RedisQueue(try RedisAddress(text), rules: rules)
        }
        throw Failure(.badOption, .input, "the queue's address is not understood: it takes \(words)")
    }

    /// Of `sqlite:PATH`.
    package static func filePath(_ text: String) -> String? {
        text.hasPrefix("sqlite:") && text.count > 7 ? String(text.dropFirst(7)) : nil
    }
}
