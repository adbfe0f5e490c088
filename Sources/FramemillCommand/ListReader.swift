// The list is read as it comes, a block at a time, and never held: a million lines cost what a thousand cost.
// A read from a pipe can block for ever, so it waits for the pipe and for a bell at once; an interrupt rings
// the bell.

internal import Glibc
import FramemillMedia

/// One line as it stands in the list.
struct RawLine: Sendable {
    var number: Int
    var text: Result<String, Failure>
}

struct ListReader: ~Copyable {
    static let longestLine = 64 << 10
    private static let block = 64 << 10

    struct Chunk: Sendable {
        var lines: [RawLine] = []
        var hasEnded = false
        /// Bytes of the list read so far, and its size if it is a file.
        var bytesRead = 0
        var bytesTotal: Int?
    }

    private let file: OpenFile
    private let bell: Bell
    private let bytesTotal: Int?
    private var bytesRead = 0
    private var number = 0
    private var carry: [UInt8] = []
    private var isSkipping = false

    /// Whether a list is there to be read.
    static func check(_ path: String) throws(Failure) {
        if path == "-" {
            guard FileStatus(0)?.isDirectory == true else { return }
            throw Arguments.usage("the list on standard input is a directory; it must be text")
        }
        guard let status = FileStatus(path: path) else {
            throw Arguments.usage("the list \(path) is not there; name a text file, or - for standard input")
        }
        // The path is used only within the call.
        guard !status.isDirectory, unsafe access(path, R_OK) == 0 else {
            throw Arguments.usage(
                "the list \(path) cannot be read; it must be a text file, or - for standard input")
        }
    }

    /// - Parameter path: `-` is standard input.
    init(_ path: String, bell: Bell) throws(Failure) {
        if path == "-" {
            file = OpenFile(borrowing: 0)
        } else {
            do throws(Failure) { file = try OpenFile(path, for: .read) } catch {
                throw Arguments.usage("the list cannot be read: \(error.message)")
            }
        }
        self.bell = bell
        bytesTotal = file.status.flatMap { $0.isRegular ? $0.byteCount : nil }
    }

    /// The lines of the next block; waits until there are some. Ended as well once the bell was rung.
    mutating func next() throws(Failure) -> Chunk {
        var chunk = Chunk(bytesTotal: bytesTotal)
        while chunk.lines.isEmpty, !chunk.hasEnded {
            guard bell.waits(for: file.descriptor) else {
                chunk.hasEnded = true
                break
            }
            let block = try file.read(upTo: Self.block)
            if bytesRead == 0, block.starts(with: [0xFF, 0xFE]) || block.starts(with: [0xFE, 0xFF]) {
                throw Arguments.usage("the list is UTF-16; save it as UTF-8")
            }
            bytesRead += block.count
            if block.isEmpty {
                if !carry.isEmpty || isSkipping { chunk.lines.append(line([])) }
                chunk.hasEnded = true
            } else {
                split(block, into: &chunk.lines)
            }
        }
        chunk.bytesRead = bytesRead
        return chunk
    }

    private mutating func split(_ block: [UInt8], into lines: inout [RawLine]) {
        var rest = block[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            lines.append(line(rest[..<end]))
            rest = rest[(end + 1)...]
        }
        if carry.count + rest.count > Self.longestLine {
            isSkipping = true
            carry = []
        } else if !isSkipping {
            carry += rest
        }
    }

    private mutating func line(_ tail: ArraySlice<UInt8>) -> RawLine {
        number += 1
        let bytes = carry + tail
        let isTooLong = isSkipping || bytes.count > Self.longestLine
        carry = []
        isSkipping = false
        if isTooLong {
            let message = "line \(number) is longer than \(Self.longestLine) bytes"
            return RawLine(number: number, text: .failure(Failure(.badURL, .input, message)))
        }
        guard let text = String(validating: bytes, as: UTF8.self), !text.contains("\0") else {
            let message = "line \(number) is not UTF-8 text; save the list as UTF-8"
            return RawLine(number: number, text: .failure(Failure(.badURL, .input, message)))
        }
        return RawLine(number: number, text: .success(text))
    }
}

/// Wakes a thread that waits for a descriptor.
final class Bell: Sendable {
    private let ends: (read: Int32, write: Int32)

    init() throws(Failure) {
        var pair: [Int32] = [-1, -1]
        // The array has room for the two descriptors that the call fills in.
        guard unsafe pipe(&pair) == 0 else {
            throw SystemError.failure(.internalError, "cannot make a pipe")
        }
        ends = (pair[0], pair[1])
    }

    deinit {
        close(ends.read)
        close(ends.write)
    }

    /// For good: every wait from now on ends at once.
    func ring() { try? OpenFile(borrowing: ends.write).write([1]) }

    /// Waits until `descriptor` can be read: `true`; or until the bell was rung: `false`.
    func waits(for descriptor: Int32) -> Bool {
        var polled = [
            pollfd(fd: ends.read, events: Int16(POLLIN), revents: 0),
            pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0),
        ]
        // The array holds the two entries whose count is given.
        while unsafe poll(&polled, 2, -1) < 0, errno == EINTR {}
        return polled[0].revents == 0
    }
}
