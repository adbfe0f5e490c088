// One file on disk: a header, the facts as JSON, and the picture.
//
//     0   4  "FMc1"      magic and version
//     4  32  digest      SHA-256 over everything behind it
//    36  32  key         so that a file under a wrong name is not served
//    68   4  facts       length in bytes, big-endian like the next
//    72   8  payload     length in bytes
//    80      facts, payload
//
// A file that differs from this in any bit, or ends early or late, is no entry.

internal import FoundationEssentials
internal import FramemillMedia

enum CacheEntry {
    private static let magic = Array("FMc1".utf8)
    static let headerByteCount = 80
    private static let coveredFrom = 36

    /// - Throws: what the JSON encoder throws, for facts that hold a number JSON can't write.
    static func encode(_ artifact: Artifact, for key: CacheKey) throws -> [UInt8] {
        let facts = [UInt8](try JSONEncoder().encode(artifact.facts))
        var file = magic + [UInt8](repeating: 0, count: 32) + key.bytes
        file.reserveCapacity(headerByteCount + facts.count + artifact.bytes.count)
        file += bigEndian(UInt64(facts.count)).suffix(4) + bigEndian(UInt64(artifact.bytes.count))
        file += facts
        file += artifact.bytes
        file.replaceSubrange(
            4..<coveredFrom, with: Digest.sha256(file.span.extracting(droppingFirst: coveredFrom)))
        return file
    }

    /// The picture in `file`, or `nil` when the file is not exactly what was written for `key`.
    static func decode(_ file: [UInt8], for key: CacheKey) -> Artifact? {
        guard file.count >= headerByteCount, file.starts(with: magic), Array(file[36..<68]) == key.bytes,
            Digest.sha256(file.span.extracting(droppingFirst: coveredFrom)) == Array(file[4..<coveredFrom])
        else { return nil }
        // The digest vouches for the lengths from here on; they are compared because a digest is not a proof.
        let factsCount = number(file[68..<72])
        let payloadCount = number(file[72..<80])
        guard payloadCount <= file.count, headerByteCount + factsCount + payloadCount == file.count else {
            return nil
        }
        let factsEnd = headerByteCount + factsCount
        // Facts that another version of the program wrote may lack a field: a miss like any other.
        guard let facts = try? JSONDecoder().decode(Facts.self, from: Data(file[headerByteCount..<factsEnd]))
        else {
            return nil
        }
        return Artifact(bytes: Array(file[factsEnd...]), facts: facts, origin: .disk)
    }

    private static func bigEndian(_ value: UInt64) -> [UInt8] {
        stride(from: 56, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> UInt64($0)) }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int {
        Int(clamping: bytes.reduce(UInt64(0)) { $0 << 8 | UInt64($1) })
    }
}
