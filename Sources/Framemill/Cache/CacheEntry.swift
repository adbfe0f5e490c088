// One entry as bytes, in a row of the index or in a file of its own; numbers are little-endian.
//
//     0   4  "FMc3"     magic and version
//     4   4  head       length in bytes of what stands between this header and the payload
//     8   8  payload    length in bytes
//    16   8  checksum of the payload
//    24   8  checksum of the head, seeded with that of the 24 bytes before
//    32      head: the key (so that an entry in another's place is not served), the record, a picture's facts
//            payload: the picture; nothing for a failure
//
// Two checksums, so that the head can lie in the index while the payload lies in a file. An entry that
// differs from this in any bit, or ends early or late, is no entry.

internal import FramemillMedia

/// What a key leads to: a picture or a remembered failure, and what is known of it. Copies share it: one costs a
/// reference.
package struct CacheFound: Sendable {
    private final class Body: Sendable {
        let outcome: Result<Artifact, Failure>
        let record: CacheRecord

        init(_ outcome: Result<Artifact, Failure>, _ record: CacheRecord) {
            (self.outcome, self.record) = (outcome, record)
        }
    }
    private var body: Body

    package init(_ outcome: Result<Artifact, Failure>, _ record: CacheRecord) {
        body = Body(outcome, record)
    }

    package var outcome: Result<Artifact, Failure> {
        get { body.outcome }
        set { body = Body(newValue, body.record) }
    }

    package var record: CacheRecord {
        get { body.record }
        set { body = Body(body.outcome, newValue) }
    }

    /// What the shared part takes beside payload and texts.
    static let overhead =
        MemoryLayout<CacheRecord>.size + MemoryLayout<Result<Artifact, Failure>>.size + 32
}

enum CacheEntry {
    private static let magic: UInt32 = 0x3363_4D46
    static let headerByteCount = 32
    private static let keyByteCount = 32

    /// Everything in front of the payload.
    static func head(_ found: CacheFound, for key: CacheKey) -> [UInt8] {
        var writer = FieldWriter(key.bytes)
        var record = found.record
        var payload: [UInt8] = []
        if case .success(let artifact) = found.outcome { payload = artifact.bytes }
        record.byteCount = payload.count
        record.pass(&writer)
        if case .success(let artifact) = found.outcome {
            var facts = artifact.facts
            facts.pass(&writer)
        }
        var header = FieldWriter()
        var lengths = Int64(magic) | Int64(writer.bytes.count) << 32
        header.pass(&lengths)
        var payloadCount = payload.count
        header.pass(&payloadCount)
        var payloadSum = Int64(bitPattern: Checksum.of(payload))
        header.pass(&payloadSum)
        var headSum = Int64(bitPattern: Checksum.of(writer.bytes, seed: Checksum.of(header.bytes)))
        header.pass(&headSum)
        return header.bytes + writer.bytes
    }

    /// A head that has been read and found right. Shared, not copied: a record and facts are some sixty words.
    final class Head: Sendable {
        let record: CacheRecord
        /// `nil` for a failure.
        let facts: Facts?
        /// Of header and head together.
        let byteCount: Int
        let payloadByteCount: Int
        fileprivate let payloadSum: UInt64

        fileprivate init(
            _ record: CacheRecord, _ facts: Facts?, byteCount: Int, payloadByteCount: Int, payloadSum: UInt64
        ) {
            (self.record, self.facts, self.byteCount) = (record, facts, byteCount)
            (self.payloadByteCount, self.payloadSum) = (payloadByteCount, payloadSum)
        }
    }

    /// The head at the start of `bytes`, or `nil` when it is not exactly what was written for `key`. The
    /// memory must hold still until the call is over.
    static func head(of bytes: UnsafeRawBufferPointer, for key: CacheKey) -> Head? {
        guard bytes.count >= headerByteCount + keyByteCount else { return nil }
        // Each offset lies in the header, which is there.
        func word(_ offset: Int) -> UInt64 {
            unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
        }
        let headCount = Int(word(0) >> 32)
        let end = headerByteCount + headCount
        guard word(0) & 0xFFFF_FFFF == magic, headCount >= keyByteCount, end <= bytes.count,
            let payloadCount = Int(exactly: word(8)),
            unsafe Checksum.of(
                UnsafeRawBufferPointer(rebasing: bytes[headerByteCount..<end]),
                seed: Checksum.of(UnsafeRawBufferPointer(rebasing: bytes[..<24]))) == word(24)
        else { return nil }
        guard unsafe Self.key(of: bytes) == key else { return nil }
        // The part of the memory behind the key; it is used in here alone.
        var reader = unsafe FieldReader(
            UnsafeRawBufferPointer(rebasing: bytes[headerByteCount + keyByteCount..<end]))
        var record = CacheRecord(key: key)
        unsafe record.pass(&reader)
        var facts: Facts?
        if record.refusal == nil {
            var read = Facts()
            unsafe read.pass(&reader)
            facts = read
        }
        // Fields that another version of the program wrote may differ: a miss like any other.
        guard unsafe reader.isDone else { return nil }
        return Head(
            record, facts, byteCount: end, payloadByteCount: payloadCount, payloadSum: word(16))
    }

    /// The entry with this head and payload; `nil` when the payload is not the one that was written.
    static func found(_ head: Head, payload: [UInt8]) -> CacheFound? {
        guard payload.count == head.payloadByteCount, Checksum.of(payload) == head.payloadSum else {
            return nil
        }
        if let facts = head.facts {
            return CacheFound(
                .success(Artifact(bytes: payload, facts: facts, origin: .disk)), head.record)
        }
        // A reason that this version doesn't know.
        guard let failure = head.record.refusal?.failure else { return nil }
        return CacheFound(.failure(failure), head.record)
    }

    /// The whole entry in `bytes`, under the same terms.
    static func decode(_ bytes: UnsafeRawBufferPointer, for key: CacheKey) -> CacheFound? {
        guard let head = unsafe head(of: bytes, for: key),
            bytes.count - head.byteCount == head.payloadByteCount
        else { return nil }
        return found(head, payload: unsafe [UInt8](bytes[head.byteCount...]))
    }

    /// The key that an entry says it has; to be believed once the head is found right for it.
    static func key(of bytes: UnsafeRawBufferPointer) -> CacheKey? {
        guard bytes.count >= headerByteCount + keyByteCount else { return nil }
        return CacheKey { unsafe bytes[headerByteCount + $0] }
    }

    /// Reads an entry whose head lies in the index too, and has been found right there: the file must begin
    /// with the same bytes, and nothing is read into fields twice. `nil` when it does not.
    static func read(_ path: String, _ head: Head, _ bytes: [UInt8]) throws(CacheFiles.Trouble)
        -> CacheFound?
    {
        try CacheFiles.read(path, head.payloadByteCount, behind: bytes).flatMap { found(head, payload: $0) }
    }

    /// Reads an entry from a file of its own; `nil` when it is not what was written for `key`.
    static func read(_ path: String, for key: CacheKey) throws(CacheFiles.Trouble) -> CacheFound? {
        let file = try CacheFiles.Reading.open(path)
        // Nearly every head ends within the first page.
        let start = try file.read(min(file.byteCount, 4096), from: 0)
        guard start.count >= headerByteCount else { return nil }
        let end = headerByteCount + start[4..<8].reversed().reduce(0) { $0 << 8 | Int($1) }
        guard end <= file.byteCount else { return nil }
        let front = end <= start.count ? start : try file.read(end, from: 0)
        // The array holds still until the call is over.
        guard let head = unsafe front.withUnsafeBytes({ unsafe head(of: $0, for: key) }),
            file.byteCount - end == head.payloadByteCount
        else { return nil }
        let rest = try file.read(file.byteCount - front.count, from: front.count, after: front[end...])
        return found(head, payload: rest)
    }
}
