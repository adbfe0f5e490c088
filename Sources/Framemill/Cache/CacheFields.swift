// Record and facts as bytes: every field after the other, in one order that is written down once, for reading
// and for writing. Not JSON: decoding these facts from JSON takes longer than a whole hit may.

internal import FramemillMedia

/// Takes fields in turn: a writer appends what it is given, a reader overwrites it with what was written.
protocol FieldCoder {
    mutating func pass(_ value: inout Int64)
    mutating func pass(_ value: inout String)
    /// What was read can't be.
    mutating func spoil()
    var isSpoiled: Bool { get }
}

struct FieldWriter: FieldCoder {
    private(set) var bytes: [UInt8]

    init(_ bytes: [UInt8] = []) { self.bytes = bytes }

    mutating func pass(_ value: inout Int64) {
        for shift in stride(from: 0, to: 64, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    mutating func pass(_ value: inout String) {
        var count = Int64(value.utf8.count)
        pass(&count)
        bytes += value.utf8
    }

    mutating func spoil() {}
    var isSpoiled: Bool { false }
}

/// Reads straight from memory, which must hold still for as long as the reader is used.
@unsafe struct FieldReader: FieldCoder {
    private let bytes: UnsafeRawBufferPointer
    private var at = 0
    private(set) var isSpoiled = false

    init(_ bytes: UnsafeRawBufferPointer) { unsafe self.bytes = bytes }

    /// Whether everything was read, and all of it was right.
    var isDone: Bool { unsafe !isSpoiled && at == bytes.count }

    mutating func pass(_ value: inout Int64) {
        guard unsafe bytes.count - at >= 8 else { return unsafe spoil() }
        // The eight bytes are there.
        value = unsafe Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: at, as: Int64.self))
        unsafe at += 8
    }

    mutating func pass(_ value: inout String) {
        var count: Int64 = 0
        unsafe pass(&count)
        guard unsafe !isSpoiled, count >= 0, unsafe count <= bytes.count - at else {
            return unsafe spoil()
        }
        // As above.
        value = unsafe String(
            decoding: UnsafeRawBufferPointer(rebasing: bytes[at..<at + Int(count)]), as: UTF8.self)
        unsafe at += Int(count)
    }

    mutating func spoil() { unsafe isSpoiled = true }
}

extension FieldCoder {
    mutating func pass(_ value: inout Int) {
        var wide = Int64(value)
        pass(&wide)
        value = Int(wide)
    }

    mutating func pass(_ value: inout Double) {
        var bits = Int64(bitPattern: value.bitPattern)
        pass(&bits)
        value = Double(bitPattern: UInt64(bitPattern: bits))
    }

    mutating func pass(_ value: inout Bool) {
        var number: Int64 = value ? 1 : 0
        pass(&number)
        value = number != 0
    }

    mutating func pass<Word: RawRepresentable<String>>(_ value: inout Word) {
        var text = value.rawValue
        pass(&text)
        if let word = Word(rawValue: text) { value = word } else { spoil() }
    }

    mutating func pass(_ value: inout String?) { pass(&value, blank: "") { $0.pass(&$1) } }
    mutating func pass(_ value: inout Double?) { pass(&value, blank: 0) { $0.pass(&$1) } }
    mutating func pass(_ value: inout Int?) { pass(&value, blank: 0) { $0.pass(&$1) } }

    mutating func pass<Value>(
        _ value: inout Value?, blank: @autoclosure () -> Value, _ one: (inout Self, inout Value) -> Void
    ) {
        var isThere = value != nil
        pass(&isThere)
        guard isThere else {
            value = nil
            return
        }
        var some = value ?? blank()
        one(&self, &some)
        value = some
    }

    mutating func pass(_ times: inout StageTimes) {
        var count = times.count
        pass(&count)
        // A reader's are none, so that all comes from the bytes; it is spoiled long before a wrong count ends.
        var filled = StageTimes()
        // No more at once than there are stages, or a wrong count would ask for all the memory.
        filled.reserveCapacity(min(max(0, count), 8))
        for place in 0..<max(0, count) {
            var (name, milliseconds) = place < times.count ? times[place] : ("", 0)
            pass(&name)
            pass(&milliseconds)
            if isSpoiled { return }
            filled[name] = milliseconds
        }
        times = filled
    }
}

extension Facts {
    mutating func pass(_ coder: inout some FieldCoder) {
        coder.pass(&source)
        coder.pass(&container)
        coder.pass(&codec)
        coder.pass(&pixelFormat)
        coder.pass(&storedWidth)
        coder.pass(&storedHeight)
        coder.pass(&displayWidth)
        coder.pass(&displayHeight)
        coder.pass(&width)
        coder.pass(&height)
        coder.pass(&format)
        coder.pass(&byteCount)
        coder.pass(&pixelAspect)
        coder.pass(&orientation)
        coder.pass(&rotation)
        coder.pass(&mirrored)
        coder.pass(&duration)
        coder.pass(&durationText)
        coder.pass(&frameRate)
        coder.pass(&frameCount)
        coder.pass(&timeUsed)
        coder.pass(&pictureUsed, blank: .firstFrame) { $0.pass(&$1) }
        coder.pass(&hdr)
        coder.pass(&alpha)
        coder.pass(&animated)
        coder.pass(&audio)
        coder.pass(&colorMatrix)
        coder.pass(&colorRange)
        coder.pass(&dark)
        coder.pass(&degraded)
        coder.pass(&approximate)
        coder.pass(&thumbHash)
        coder.pass(&dominantColor)
        coder.pass(&animation, blank: Animation(frameCount: 0, plays: 0, duration: 0)) {
            coder, animation in
            coder.pass(&animation.frameCount)
            coder.pass(&animation.plays)
            coder.pass(&animation.duration)
            coder.pass(&animation.passedThrough)
        }
        coder.pass(&bytesRead)
        coder.pass(&requests)
        coder.pass(&peakBytes, blank: 0) { $0.pass(&$1) }
        coder.pass(&framesDecoded)
        coder.pass(&milliseconds)
    }
}
