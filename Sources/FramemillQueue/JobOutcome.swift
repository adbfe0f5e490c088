internal import FoundationEssentials
public import Framemill

/// How a job ended, for the log, for whoever waits (`results`), and for its callback. JSON names are the
/// property names; what is not known is left out.
public struct JobOutcome: Sendable, Codable {
    public enum Event: String, Sendable, Codable {
        case done, dead
        /// Tried again later.
        case retry
        /// Handed back, which is no try: the worker stops, or the host is busy or rests.
        case back
        /// The lease was somebody else's by then; what was made is not counted.
        case refused
    }
    public var event: Event
    public var id: String
    public var key: String?
    /// Without query, user and password.
    public var url: String
    public var priority: String
    public var tries: Int
    /// `ok`, or the code of the failure.
    public var code: String
    public var `class`: String?
    public var message: String?
    /// Seconds until the next try.
    public var retrySeconds: Double?
    /// From being added to being handed out, and from then to its end.
    public var waitedSeconds: Double
    public var seconds: Double
    /// Where the picture is.
    public var file: String?
    public var origin: String?
    public var facts: Facts?
    /// The producer's own words.
    public var data: String?
    /// Why the callback was not delivered.
    public var callbackFailure: String?

    /// One line.
    public var json: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.nonConformingFloatEncodingStrategy = .convertToString(
            positiveInfinity: "infinity", negativeInfinity: "-infinity", nan: "nan")
        // Text and numbers alone, and those that JSON can't say become words.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
