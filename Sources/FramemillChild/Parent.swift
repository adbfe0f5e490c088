// What a decoder asks of its parent while it works: bytes of the source, cores, room for pixels. Several threads of one
// job may ask; each waits for its own answer before the next one asks.

internal import FramemillBorder
internal import FramemillMedia
internal import Glibc
internal import Synchronization

final class Parent: Sendable {
    private struct Talk: ~Copyable {
        var line: Line
        /// Parts of frames that were sent, and those that the parent has taken.
        var sent = 0
        var taken = 0

        /// The next message that is no news of taken parts.
        mutating func receive(most: Int = 1 << 20) throws(LineError) -> Message {
            while true {
                let message = try line.receive(most: most)
                guard message.kind == .taken else { return message }
                note(message)
            }
        }

        mutating func note(_ message: Message) {
            var fields = Fields(reading: message.payload)
            var count = 0
            fields.pass(&count)
            taken += count
        }
    }
    private let talk: Mutex<Talk>
    private let arena: Arena

    init(_ arena: Arena) {
        self.arena = arena
        talk = Mutex(Talk(line: Line(Border.socket)))
    }

    func say(_ message: Message) {
        orLeave { (talk) throws(LineError) in try talk.line.send(message, waits: true) }
    }

    /// The next job. What was taken belongs to the one before.
    func hear() -> Message {
        orLeave { (talk) throws(LineError) in
            let message = try talk.receive()
            (talk.sent, talk.taken) = (0, 0)
            return message
        }
    }

    /// A question and its answer.
    func ask(_ question: Message, for kind: Kind) -> Fields {
        let answer = orLeave { (talk) throws(LineError) in
            try talk.line.send(question, waits: true)
            return try talk.receive()
        }
        // Nobody who speaks otherwise has started this process.
        guard answer.kind == kind else { leave() }
        return Fields(reading: answer.payload)
    }

    /// Bytes of a source, into the front of `buffer`.
    func read(_ wish: Wish, into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
        var wish = wish
        wish.count = min(buffer.count, Arena.sourceBytes)
        let question = Message(.read) { $0.pass(&wish) }
        var failure: Failure?
        let count = orLeave { [arena, wish] (talk) throws(LineError) -> Int in
            try talk.line.send(question, waits: true)
            let answer = try talk.receive()
            guard answer.kind == .bytes else { throw .nonsense("another answer") }
            var fields = Fields(reading: answer.payload)
            var count = 0
            fields.pass(&count)
            fields.pass(&failure, blank: Failure(.internalError, .fetch, "")) { $0.pass(&$1) }
            guard fields.isDone, (0...wish.count).contains(count) else { throw .nonsense("another count") }
            // No more than the buffer and the arena hold; the next answer can't come before this line is given back.
            unsafe buffer.copyMemory(from: UnsafeRawBufferPointer(rebasing: arena.source[..<count]))
            return count
        }
        if let failure { throw failure }
        return count
    }

    /// Pixels, by as many parts as it takes; waits where the parent is behind.
    /// - Parameter first: the word that goes with the first part, of so many bytes.
    func give(_ bytes: [UInt8], from start: Int, _ total: Int, first: (Int) -> Message) {
        orLeave { [arena] (talk) throws(LineError) in
            var done = 0
            repeat {
                while talk.sent - talk.taken >= Arena.slots {
                    let message = try talk.line.receive(most: 64)
                    guard message.kind == .taken else { throw .nonsense("no room") }
                    talk.note(message)
                }
                var count = min(Arena.slotBytes, total - done)
                unsafe bytes.withUnsafeBytes {
                    // `count` bytes on both sides; the parent has taken what stood here.
                    let part = start + done..<start + done + count
                    unsafe arena.slot(talk.sent).copyMemory(from: .init(rebasing: $0[part]))
                }
                let word = done == 0 ? first(count) : Message(.pixels) { $0.pass(&count) }
                talk.sent += 1
                done += count
                try talk.line.send(word, waits: true)
            } while done < total
        }
    }

    private func orLeave<Value>(_ body: (inout Talk) throws(LineError) -> Value) -> Value {
        do throws(LineError) {
            return try talk.withLock { (talk) throws(LineError) in try body(&talk) }
        } catch {
            leave()
        }
    }
}

/// Without a parent there is nobody to work for, and nobody to tell.
func leave() -> Never { _exit(0) }
