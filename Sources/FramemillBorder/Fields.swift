// Values as bytes, for the socket between a program and its decoders. What crosses is written down once, field after
// field, in a function that serves both directions, so that the two ends can't differ. Nothing here trusts what it
// reads: every count is held against the bytes that are there, and one wrong field spoils the whole.

/// Takes fields in turn: a writer appends what it is given, a reader overwrites it with what was written.
package struct Fields: Sendable {
    package private(set) var bytes: [UInt8]
    private var at = 0
    package let isReading: Bool
    package private(set) var isSpoiled = false

    /// A writer.
    package init() { (bytes, isReading) = ([], false) }

    /// A reader.
    package init(reading bytes: [UInt8]) { (self.bytes, isReading) = (bytes, true) }

    /// What `body` writes.
    package static func written(_ body: (inout Fields) -> Void) -> [UInt8] {
        var fields = Fields()
        body(&fields)
        return fields.bytes
    }

    /// Whether everything was read, and all of it was right.
    package var isDone: Bool { isReading && !isSpoiled && at == bytes.count }

    /// What was read can't be.
    package mutating func spoil() { isSpoiled = true }

    /// Bytes that are not read yet.
    package var left: Int { bytes.count - at }

    package mutating func pass(_ value: inout UInt64) {
        guard isReading else {
            for shift in stride(from: 0, to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: value >> shift))
            }
            return
        }
        guard !isSpoiled, left >= 8 else { return spoil() }
        value = (0..<8).reduce(0) { $0 | UInt64(bytes[at + $1]) << ($1 * 8) }
        at += 8
    }

    package mutating func pass(_ value: inout [UInt8]) {
        var count = value.count
        pass(&count)
        guard isReading else { return bytes += value }
        guard !isSpoiled, count >= 0, count <= left else { return spoil() }
        value = Array(bytes[at..<at + count])
        at += count
    }
}

extension Fields {
    package mutating func pass(_ value: inout Int64) {
        var bits = UInt64(bitPattern: value)
        pass(&bits)
        value = Int64(bitPattern: bits)
    }

    package mutating func pass(_ value: inout Int) {
        var bits = UInt64(bitPattern: Int64(value))
        pass(&bits)
        value = Int(Int64(bitPattern: bits))
    }

    package mutating func pass(_ value: inout Double) {
        var bits = value.bitPattern
        pass(&bits)
        value = Double(bitPattern: bits)
    }

    package mutating func pass(_ value: inout Bool) {
        var number = value ? 1 : 0
        pass(&number)
        if number != 0, number != 1 { spoil() }
        value = number == 1
    }

    package mutating func pass(_ value: inout String) {
        var text = Array(value.utf8)
        pass(&text)
        if isReading { value = String(decoding: text, as: UTF8.self) }
    }

    package mutating func pass<Word: RawRepresentable<String>>(_ value: inout Word) {
        var text = value.rawValue
        pass(&text)
        guard isReading else { return }
        if let word = Word(rawValue: text) { value = word } else { spoil() }
    }

    /// `blank` is what a reader fills in where there is a value.
    package mutating func pass<Value>(
        _ value: inout Value?, blank: Value, _ one: (inout Self, inout Value) -> Void
    ) {
        var isThere = value != nil
        pass(&isThere)
        guard isThere, !isSpoiled else { return value = nil }
        var some = value ?? blank
        one(&self, &some)
        value = some
    }

    package mutating func pass(_ value: inout String?) { pass(&value, blank: "") { $0.pass(&$1) } }
    package mutating func pass(_ value: inout Double?) { pass(&value, blank: 0) { $0.pass(&$1) } }
    package mutating func pass(_ value: inout Int?) { pass(&value, blank: 0) { $0.pass(&$1) } }
    package mutating func pass(_ value: inout Int64?) { pass(&value, blank: 0) { $0.pass(&$1) } }

    /// One after the other. A reader takes room for what can be there only: each takes `least` bytes or more.
    package mutating func pass<Value>(
        _ list: inout [Value], blank: Value, least: Int = 8, _ one: (inout Self, inout Value) -> Void
    ) {
        var count = list.count
        pass(&count)
        guard isReading else {
            for var value in list { one(&self, &value) }
            return
        }
        guard !isSpoiled, count >= 0, count <= left / least else { return spoil() }
        list = []
        list.reserveCapacity(count)
        for _ in 0..<count {
            var value = blank
            one(&self, &value)
            if isSpoiled { return }
            list.append(value)
        }
    }
}
