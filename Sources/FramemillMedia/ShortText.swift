/// Text that is put together in memory of the caller's: what a cache key hashes must cost no allocation.
///
/// The memory must stay as long as this does. What finds no room in it is left out, and `isOver` says so.
@safe package struct ShortText: ~Copyable {
    private let room: UnsafeMutableRawBufferPointer
    private var count = 0
    package private(set) var isOver = false

    package init(_ room: UnsafeMutableRawBufferPointer) { unsafe self.room = room }

    /// What has been written.
    package var bytes: UnsafeRawBufferPointer { unsafe UnsafeRawBufferPointer(rebasing: room[..<count]) }

    package mutating func append(_ text: StaticString) {
        // A literal lives for ever; it is ASCII or UTF-8, which has an address, unlike a lone scalar.
        unsafe append(UnsafeRawBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package mutating func append(text: String) {
        var text = text
        // The bytes lie still until the closure is over.
        text.withUTF8 { unsafe append(UnsafeRawBufferPointer($0)) }
    }

    package mutating func append(_ number: Int) {
        guard number >= 10 || number < 0 else { return append(digit: number) }
        // Small enough for a string without an allocation, unless it is of 16 digits and more.
        guard (0..<1000).contains(number) else { return append(text: String(number)) }
        if number >= 100 { append(digit: number / 100) }
        append(digit: number / 10 % 10)
        append(digit: number % 10)
    }

    private mutating func append(digit: Int) {
        guard unsafe count < room.count else { return isOver = true }
        unsafe room[count] = UInt8(truncatingIfNeeded: digit) + UInt8(ascii: "0")
        count += 1
    }

    private mutating func append(_ source: UnsafeRawBufferPointer) {
        guard unsafe source.count <= room.count - count else { return isOver = true }
        // There is room, as just seen, and nobody else has this memory.
        unsafe UnsafeMutableRawBufferPointer(rebasing: room[count...]).copyMemory(from: source)
        count += source.count
    }
}
