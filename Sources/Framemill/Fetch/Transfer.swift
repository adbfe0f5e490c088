internal import FramemillMedia

/// One ranged GET, redirects included: what to ask for, and who gets the answer.
struct Transfer: Sendable {
    var number: Int
    var location: Location.Web
    var range: Range<Int64>
    /// Sent as `If-Range`.
    var validator: String?
    /// Sent as `If-None-Match` and `If-Modified-Since`: an answer of 304 is then a good one.
    var known: Freshness?
    var limits: Limits
    var deadline: ContinuousClock.Instant
    var sink: any TransferSink
}

/// Who gets the bytes. All calls come from the network thread and must not wait.
protocol TransferSink: AnyObject, Sendable {
    /// The headers are in: 200, 206, 416 or 304, from the address that the redirects led to. A failure ends the
    /// transfer.
    func begin(_ number: Int, _ head: ResponseHead, from location: Location.Web) -> Failure?
    /// Some bytes of the body.
    func receive(_ number: Int, _ bytes: UnsafeRawBufferPointer) -> Flow
    /// The last call, in every case; `nil` when the body came whole or the sink ended it.
    func end(_ number: Int, _ failure: Failure?)
}

enum Flow {
    /// The bytes are taken.
    case taken
    /// They are not: bring them again after `resume`.
    case pause
    /// Nothing more is wanted.
    case enough
}
