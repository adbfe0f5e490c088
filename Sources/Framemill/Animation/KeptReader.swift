// An animation is read twice: once for its index, and again, maybe much later and maybe for ever, for its frames. So
// what comes over the network is kept in a file without a name. Playing then needs no connection, no deadline of the
// network's, and no second download.
//
// Not the ranges alone that are asked for: an index reads to the end of the last frame, which is all there is.

internal import FramemillMedia
internal import Synchronization

/// Reads a source from its front on, as far as somebody asks, and keeps all of it.
final class KeptReader: ByteReader {
    private struct State {
        var spool: Spool
        /// `nil` once all is kept, and the connection is free.
        var origin: (any ByteReader)?
        var cost: (bytes: Int64, requests: Int)
        var hasAsked = false
    }
    /// Held while bytes are waited for: until all is kept, one thread reads.
    private let state: Mutex<State>
    let isLocal = false

    init(_ origin: any ByteReader) throws(Failure) {
        state = Mutex(State(spool: try Spool(), origin: origin, cost: origin.cost))
    }

    var byteCount: Int64? {
        state.withLock { $0.origin == nil ? $0.spool.byteCount : $0.origin?.byteCount }
    }
    var cost: (bytes: Int64, requests: Int) { state.withLock { $0.origin?.cost ?? $0.cost } }
    /// All is fetched, so it makes no difference what is.
    func expect(_ range: Range<Int64>) {}

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
        guard offset >= 0, buffer.count > 0 else { return 0 }
        let (file, count) = try state.withLock { state throws(Failure) in
            while state.spool.byteCount <= offset, try Self.pull(&state) {}
            return (state.spool.file, min(Int64(buffer.count), state.spool.byteCount - offset))
        }
        guard count > 0 else { return 0 }
        // No more than the buffer holds, and the spool has them.
        let part = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<Int(count)])
        guard let got = unsafe file.read(at: offset, into: part), got > 0 else {
            throw Failure(.writeFailed, .fetch, "the temporary file can't be read", cause: systemWords())
        }
        return got
    }

    /// Fetches what nobody has asked for yet, and lets the network go.
    func keepRest() throws(Failure) {
        try state.withLock { state throws(Failure) in while try Self.pull(&state) {} }
    }

    /// The next bytes of the source; `false` at its end.
    private static func pull(_ state: inout State) throws(Failure) -> Bool {
        guard let origin = state.origin else { return false }
        let start = state.spool.byteCount
        // Who reads on behind the first bytes has found an animation in them, and will want it all, by one request.
        if start > 0, !state.hasAsked, let end = origin.byteCount, end > start {
            state.hasAsked = true
            origin.expect(start..<end)
        }
        var got = 0
        var failure: Failure?
        unsafe withUnsafeTemporaryAllocation(byteCount: block, alignment: 16) { room in
            do throws(Failure) {
                got = try unsafe origin.read(at: start, into: room)
                // As many as were read, from the front of the room.
                try unsafe state.spool.append(UnsafeRawBufferPointer(rebasing: room[..<got]))
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        if got == 0 {
            state.cost = origin.cost
            state.origin = nil
        }
        return got > 0
    }

    private static let block = 64 << 10
}

extension KeptReader {
    /// An animation is read for its index and again for its frames: from far away it is kept in between, as long as it
    /// may be. A video finds its frames by its index and is read in parts.
    static func keepingAnimations(of reader: any ByteReader) throws(Failure) -> any ByteReader {
        guard !reader.isLocal else { return reader }
        var got = 0
        var failure: Failure?
        let head = unsafe [UInt8](unsafeUninitializedCapacity: 16) { room, count in
            do throws(Failure) {
                // As many as were read, of the sixteen that there is room for.
                got = try unsafe reader.read(at: 0, into: UnsafeMutableRawBufferPointer(room))
            } catch {
                failure = error
            }
            count = got
        }
        if let failure { throw failure }
        return [.gif, .webp, .png].contains(Format.sniff(head)) ? try KeptReader(reader) : reader
    }
}
