// The front of one source, as much of it as somebody asked for. Still decoders read through this: a PNG stops after its
// default image, and only what truly needs the whole file reads it whole.

internal import FramemillEngine
internal import FramemillMedia

/// The bytes of one source from its start, fetched when they are needed, never more than `Limits.sourceBytes`.
final class SourceBytes {
    let limits: Limits
    let stop: Stop
    let reader: any ByteReader
    private(set) var bytes: [UInt8] = []
    /// The source has no bytes behind the ones that are here.
    private(set) var ended = false

    init(_ reader: any ByteReader, limits: Limits, stop: Stop) {
        self.reader = reader
        self.limits = limits
        self.stop = stop
    }

    var isLocal: Bool { reader.isLocal }

    /// Makes the first `count` bytes be there; `false` if the source is shorter.
    func fill(to count: Int) throws(Failure) -> Bool {
        while bytes.count < count {
            if ended { return false }
            // Twice what is there, so that a long file takes few reads and a short one fetches little.
            try grow(by: max(count - bytes.count, min(max(bytes.count, 64 << 10), 4 << 20)))
        }
        return true
    }

    /// Makes the whole source be there.
    func fillAll() throws(Failure) {
        if let whole = reader.byteCount {
            if whole > limits.sourceBytes { throw tooLong(whole) }
            if whole > Int64(bytes.count) { reader.expect(Int64(bytes.count)..<whole) }
            // One byte more finds the end; growing by steps would end with up to twice the room.
            bytes.reserveCapacity(Int(whole) + 1)
        }
        while !ended {
            let left = reader.byteCount.map { Int($0) - bytes.count + 1 } ?? max(bytes.count, 64 << 10)
            try grow(by: min(max(left, 4096), 4 << 20))
        }
    }

    func byte(_ offset: Int) -> Int { Int(bytes[offset]) }
    func little16(_ offset: Int) -> Int { byte(offset) | byte(offset + 1) << 8 }
    func big16(_ offset: Int) -> Int { byte(offset) << 8 | byte(offset + 1) }
    func big32(_ offset: Int) -> Int { big16(offset) << 16 | big16(offset + 2) }
    func tag(_ offset: Int) -> String { String(decoding: bytes[offset..<offset + 4], as: UTF8.self) }

    private func grow(by count: Int) throws(Failure) {
        try stop.check(.fetch)
        let start = bytes.count
        // One byte more than allowed tells "exactly as long as the limit" from "longer".
        let room = Int(min(Int64(count), limits.sourceBytes + 1 - Int64(start)))
        if room <= 0 { throw tooLong(Int64(start)) }
        bytes.append(contentsOf: repeatElement(0, count: room))
        let reader = reader
        let result = unsafe bytes.withUnsafeMutableBytes { all -> Result<Int, Failure> in
            // `room` bytes were appended behind `start` three lines above.
            let tail = unsafe UnsafeMutableRawBufferPointer(rebasing: all[start...])
            do throws(Failure) {
                return .success(try unsafe reader.read(at: Int64(start), into: tail))
            } catch {
                return .failure(error)
            }
        }
        let got = (try? result.get()) ?? 0
        bytes.removeLast(room - got)
        if got == 0 { ended = true }
        _ = try result.get()
        if Int64(bytes.count) > limits.sourceBytes { throw tooLong(Int64(bytes.count)) }
    }

    private func tooLong(_ count: Int64) -> Failure {
        let (have, most) = (max(1, count >> 20), max(1, limits.sourceBytes >> 20))
        return Failure(
            .tooLarge, .fetch,
            "the picture's file has \(have) MiB or more, \(most) MiB are allowed (Limits.sourceBytes)")
    }
}

extension Array where Element == UInt8 {
    /// `withUnsafeBytes` that lets a `Failure` through with its type.
    func lending<Value>(
        _ body: (UnsafeRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let result = unsafe withUnsafeBytes { bytes -> Result<Value, Failure> in
            do throws(Failure) {
                return .success(try unsafe body(bytes))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// `withUnsafeMutableBytes` that lets a `Failure` through with its type.
    mutating func lendingMutable<Value>(
        _ body: (UnsafeMutableRawBufferPointer) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let result = unsafe withUnsafeMutableBytes { bytes -> Result<Value, Failure> in
            do throws(Failure) {
                return .success(try unsafe body(bytes))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }
}
