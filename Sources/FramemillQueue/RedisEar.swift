internal import FramemillMedia

/// Hears when something is put into the streams.
struct RedisEar: ~Copyable {
    private var session: Session
    private let streams: [String]
    /// What was there when it last listened.
    private var places: [String]

    init(_ address: RedisAddress, _ prefix: String) {
        session = Session(address)
        streams = Priority.allCases.map { "\(prefix):\($0.name)" }
        places = streams.map { _ in "$" }
    }

    /// Waits until something was added since the last call, `longest` at most.
    mutating func wait(_ longest: Duration) throws(Failure) {
        let limit = min(max(1, longest.wholeMilliseconds), 2000)
        _ = try session.ask(["XREAD", "BLOCK", "\(limit)", "COUNT", "1", "STREAMS"] + streams + places)
        // Of a long line that came at once, not each is told: from here on counts what comes behind the end.
        // What came in between is found by the lease that follows.
        for (index, stream) in streams.enumerated() { places[index] = try end(of: stream) }
    }

    /// The id of the newest entry that ever was in the stream.
    private mutating func end(of stream: String) throws(Failure) -> String {
        let reply: Reply
        do throws(Failure) { reply = try session.ask(["XINFO", "STREAM", stream]) } catch {
            // There is no such stream yet.
            if error.cause?.contains("no such key") == true { return "0-0" }
            throw error
        }
        let fields = reply.list
        for index in stride(from: 0, to: fields.count - 1, by: 2)
        where fields[index].text == "last-generated-id" {
            return fields[index + 1].text ?? "$"
        }
        return "$"
    }
}
