internal import FramemillCanvas
internal import FramemillEngine
internal import FramemillMedia
internal import Glibc
internal import Synchronization

/// Buffers that the frames of one file use one after the other. Without them half the time of a small frame goes to
/// the allocator.
final class GIFScratch: Sendable {
    private struct Idle {
        var tools: [GIFTools] = []
        var indices: [[UInt8]] = []
    }
    private let idle = Mutex(Idle())

    /// Runs `body` with tools of its own, and buffers for `count` frames if there are so many.
    func withTools<Value>(
        for count: Int = 1, _ body: (inout GIFTools) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        var tools = idle.withLock { idle in
            var tools = idle.tools.popLast() ?? GIFTools()
            for _ in 0..<min(count, idle.indices.count) { tools.spare.append(idle.indices.removeLast()) }
            return tools
        }
        defer {
            idle.withLock { idle in
                idle.indices += tools.spare
                tools.spare.removeAll(keepingCapacity: true)
                idle.tools.append(tools)
            }
        }
        return try body(&tools)
    }

    /// The buffers of frames that have been drawn.
    func take(_ patches: [Patch]) {
        idle.withLock { idle in
            for patch in patches {
                if case .indexed(let indices, _, _) = patch.pixels { idle.indices.append(indices) }
            }
        }
    }
}

/// What one thread needs to inflate frames.
struct GIFTools: Sendable {
    private var bytes: [UInt8] = []
    private var byteCount = 0
    private var table = [UInt64](repeating: 0, count: 4097)
    /// Buffers for indices.
    fileprivate var spare: [[UInt8]] = []

    /// At least `count` bytes of anything.
    mutating func indices(_ count: Int) -> [UInt8] {
        if let idle = spare.popLast(), idle.count >= count { return idle }
        return Self.bytes(count)
    }

    /// `count` bytes of anything, to be written.
    static func bytes(_ count: Int) -> [UInt8] {
        // A byte holds a value whatever was there before.
        unsafe [UInt8](unsafeUninitializedCapacity: count) { $1 = count }
    }

    /// Fetches a frame's colours and code blocks; fewer bytes if the source has shrunk.
    mutating func read(from reader: any ByteReader, at start: Int64, count: Int) throws(Failure) {
        if bytes.count < count + LZW.codeSlack { bytes = Self.bytes((count + LZW.codeSlack) * 5 / 4) }
        byteCount = 0
        while byteCount < count {
            let at = byteCount
            let got = try unsafe bytes.lendingMutable { room throws(Failure) in
                // `count` bytes and the slack were made above.
                try unsafe reader.read(
                    at: start + Int64(at), into: UnsafeMutableRawBufferPointer(rebasing: room[at..<count]))
            }
            if got == 0 { break }
            byteCount += got
        }
    }

    /// The colours at the front of what was read: 256, black behind `count`, 0 for the transparent one.
    func colors(_ count: Int, transparent: Int?) -> [UInt32] {
        var colors = [UInt32](repeating: 0xFF00_0000, count: 256)
        for color in 0..<min(256, count) where color * 3 + 2 < byteCount {
            colors[color] =
                UInt32(bytes[color * 3]) | UInt32(bytes[color * 3 + 1]) << 8
                | UInt32(bytes[color * 3 + 2]) << 16 | 0xFF00_0000
        }
        if let transparent { colors[transparent] = 0 }
        return colors
    }

    /// Inflates the sub-blocks behind `start` to `indices`, which has the room that `LZW.inflate` wants.
    mutating func inflate(
        from start: Int, codeSize: Int, to indices: inout [UInt8], pixels: Int, stop: Stop
    ) throws(Failure) -> (pixels: Int, ending: LZW.Ending) {
        let codeBytes = join(from: start)
        precondition(indices.count >= LZW.literals + pixels + LZW.slack)
        // The line above; `join` leaves the slack behind the codes; the table was made with its entries.
        return try unsafe indices.lendingMutable { output throws(Failure) in
            try unsafe bytes.lending { codes throws(Failure) in
                let codes = unsafe codes.baseAddress!.assumingMemoryBound(to: UInt8.self)
                let output = unsafe output.baseAddress!.assumingMemoryBound(to: UInt8.self)
                var outcome: Result<(pixels: Int, ending: LZW.Ending), Failure> = .success((0, .short))
                unsafe table.withUnsafeMutableBufferPointer { table in
                    do throws(Failure) {
                        outcome = .success(
                            try unsafe LZW.inflate(
                                codes, byteCount: codeBytes, codeSize: codeSize, output: output,
                                pixels: pixels, table: table.baseAddress!, stop: stop))
                    } catch {
                        outcome = .failure(error)
                    }
                }
                return try outcome.get()
            }
        }
    }

    /// Moves the sub-blocks behind `start` together at the front and says how many bytes they hold.
    private mutating func join(from start: Int) -> Int {
        let end = byteCount
        return unsafe bytes.withUnsafeMutableBytes { all in
            var (from, to) = (start, 0)
            while from < end {
                let length = min(unsafe Int(all[from]), end - from - 1)
                guard length > 0 else { break }
                // Within what was read, and the target always in front of the source.
                unsafe memmove(all.baseAddress! + to, all.baseAddress! + from + 1, length)
                from += length + 1
                to += length
            }
            return to
        }
    }
}
