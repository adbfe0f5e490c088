/// A finished picture and what is known of it.
public struct Artifact: Sendable {
    /// The encoded file.
    public var bytes: [UInt8]
    public var facts: Facts
    public var origin: Origin
    /// Delivered although its time is over: the origin fails, is asked again behind, or must not be asked.
    public var isStale = false

    public init(bytes: [UInt8], facts: Facts, origin: Origin) {
        self.bytes = bytes
        self.facts = facts
        self.origin = origin
    }

    public enum Origin: String, Sendable, Codable { case memory, disk, made }
}
