internal import CGIF
internal import FramemillEngine
internal import FramemillMedia

/// What giflib reads from: a place in the source with a buffer, and the failure that a read ended with, which C can't
/// carry.
///
/// giflib asks for two or three bytes at a time, for a colour table 256 times: what it meets is kept in a block of its
/// own, where a read is a copy and an addition, with no reference counted and no access checked.
@safe final class GIFFeed {
    @safe private struct Cursor {
        var next: UnsafeMutablePointer<UInt8>
        var end: UnsafeMutablePointer<UInt8>
    }

    private static let room = 64 << 10
    private let reader: any ByteReader
    private let stop: Stop
    private let buffer: UnsafeMutablePointer<UInt8>
    private let cursor: UnsafeMutablePointer<Cursor>
    /// Where in the source the buffer's end lies.
    private var bufferEnd: Int64 = 0
    private(set) var failure: Failure?
    /// The source has ended where somebody wanted more.
    private(set) var hasEnded = false
    var loop: Int?
    /// While giflib reads a frame's description: the second single byte of it is the code size (the first holds the
    /// flags; colours come by three, numbers by two), and giflib is shown 255 in its place.
    var hidesCodeSize = false {
        didSet { singles = 0 }
    }
    private var singles = 0
    private var codeSize: Int?

    init(_ reader: any ByteReader, stop: Stop) {
        self.reader = reader
        self.stop = stop
        unsafe buffer = .allocate(capacity: Self.room)
        unsafe cursor = .allocate(capacity: 1)
        unsafe cursor.initialize(to: Cursor(next: buffer, end: buffer))
    }

    deinit {
        // Allocated by `init`; nobody else has them.
        unsafe cursor.deallocate()
        unsafe buffer.deallocate()
    }

    // `next` is never behind `end`, both within the buffer.
    var position: Int64 { unsafe bufferEnd - Int64(cursor.pointee.end - cursor.pointee.next) }

    /// The code size that the last description ended with; `nil` if the file ended before it.
    func takeCodeSize() -> Int? {
        defer { codeSize = nil }
        return codeSize
    }

    /// giflib's `InputFunc`.
    static let read: InputFunc = { file, target, count in
        guard let file = unsafe file, let target = unsafe target, count > 0 else { return 0 }
        // The pointer that `GIFWalker.init` handed in; the walker holds the object it points to.
        guard let user = unsafe file.pointee.UserData else { return 0 }
        return unsafe Unmanaged<GIFFeed>.fromOpaque(user)._withUnsafeGuaranteedRef {
            unsafe Int32($0.copy(to: target, count: Int(count)))
        }
    }

    private func copy(to target: UnsafeMutablePointer<UInt8>, count: Int) -> Int {
        let cursor = unsafe cursor
        var done = 0
        while done < count {
            let part = unsafe min(count - done, cursor.pointee.end - cursor.pointee.next)
            if part == 0 {
                guard refill() else { break }
                continue
            }
            // `part` bytes on both sides, by the lines above.
            unsafe (target + done).update(from: cursor.pointee.next, count: part)
            unsafe cursor.pointee.next += part
            done += part
        }
        if hidesCodeSize, count == 1, done == 1 {
            singles += 1
            if singles == 2 {
                codeSize = unsafe Int(target[0])
                unsafe target[0] = 255
            }
        }
        return done
    }

    private func refill() -> Bool {
        do throws(Failure) {
            try stop.check(.fetch)
            let got = try unsafe reader.read(
                at: bufferEnd, into: UnsafeMutableRawBufferPointer(start: buffer, count: Self.room))
            bufferEnd += Int64(got)
            unsafe cursor.pointee.next = buffer
            unsafe cursor.pointee.end = buffer + got
            if got == 0 { hasEnded = true }
            return got > 0
        } catch {
            failure = error
            return false
        }
    }
}
