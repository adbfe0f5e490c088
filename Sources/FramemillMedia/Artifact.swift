/// A finished picture and what is known of it. Copies share bytes and facts: one costs a reference, however large.
public struct Artifact: Sendable {
    /// Never changed, only replaced, so that it can be shared between copies and threads.
    private final class Body: Sendable {
        let bytes: [UInt8]
        let facts: Facts

        init(_ bytes: [UInt8], _ facts: Facts) { (self.bytes, self.facts) = (bytes, facts) }
    }
    private var body: Body
    public var origin: Origin
    /// Delivered although its time is over: the origin fails, is asked again behind, or must not be asked.
    public var isStale = false

    public init(bytes: [UInt8], facts: Facts, origin: Origin) {
        body = Body(bytes, facts)
        self.origin = origin
    }

    /// The encoded file.
    public var bytes: [UInt8] {
        get { body.bytes }
        set { body = Body(newValue, body.facts) }
    }

    public var facts: Facts {
        get { body.facts }
        set { body = Body(body.bytes, newValue) }
    }

    public enum Origin: String, Sendable, Codable { case memory, disk, made }

    /// What the shared part takes beside the payload and the texts: two headers of the heap and of an object each.
    package static let overhead = MemoryLayout<Facts>.size + MemoryLayout<[UInt8]>.size + 2 * 32
}
