public import FramemillMedia

/// Which queue is meant, in the words of the command line.
public enum QueueAddress {
    public static let words = "sqlite:PATH, redis://[:PASSWORD@]HOST[:PORT][/DB] or unix:///SOCKET"

    /// Opens `sqlite:PATH`, `redis://…` or `unix://…`. Nothing is touched before the first call.
    /// - Throws: `badOption` for anything else.
    public static func open(
        _ text: String, rules: QueueRules = QueueRules()
    ) throws(Failure) -> any JobQueue {
        if text.hasPrefix("sqlite:"), text.count > 7 {
            return SQLiteQueue(String(text.dropFirst(7)), rules: rules)
        }
        if text.hasPrefix("redis:") || text.hasPrefix("rediss:") || text.hasPrefix("unix:") {
            return RedisQueue(try RedisAddress(text), rules: rules)
        }
        throw Failure(.badOption, .input, "the queue's address is not understood: it takes \(words)")
    }
}
