// GIF's LZW (GIF89a, appendix F), inflated fast. A dictionary entry is not a chain of prefixes but a place: a string
// that has a code stands somewhere in the output already, so an entry is (where, how long) in one 64-bit word, and a
// code costs one unconditional copy of 16 bytes. The 256 literals stand in front of the output, so they are entries
// like all others. The loop is split by code width: inside it no width changes, and the next codes can be fetched
// while earlier copies are still on their way.
//
// Not by prefix chains, as giflib and most others do it: those walk a string backwards pixel by pixel, each step a
// load that depends on the last.
//
// What viewers agree on and the specification leaves open:
//   - no clear code at the start: the table begins as if there had been one;
//   - a full table without a clear code: codes stay 12 bits wide and nothing is added ("deferred clear");
//   - more pixels than the frame has: the rest is ignored;
//   - a code behind the table's end: what came before it stands, the frame is broken.

internal import FramemillEngine
internal import FramemillMedia

enum LZW {
    /// Bytes that `output` has in front of the pixels: one for each literal.
    static let literals = 256
    /// Bytes that `output` has behind the pixels, for copies of 16 that reach past a string's end.
    static let slack = 64
    /// Bytes behind the codes that may be read.
    static let codeSlack = 16
    /// Code sizes whose codes 12 bits can hold. Size 0 has one literal; it is met in the wild.
    static let codeSizes = 0...11

    enum Ending: Equatable {
        /// The end code, or as many pixels as wanted.
        case complete
        /// The codes ran out.
        case short
        /// A code that stands for nothing.
        case corrupt
    }

    /// The most pixels that so many bytes can stand for: each code's string is at most one longer than the longest
    /// before it, and none is longer than the table. Nothing larger needs to be allocated, whatever a header says.
    static func mostPixels(bytes: Int, codeSize: Int) -> Int {
        let codes = bytes * 8 / (codeSize + 1)
        return codes < 4096 ? codes * (codes + 1) / 2 : codes * 4096
    }

    /// Inflates joined sub-blocks.
    ///
    /// - Parameters:
    ///   - codes: `byteCount` bytes, and `codeSlack` more that may be read.
    ///   - output: room for `literals + pixels + slack` bytes; the first pixel comes to `literals`.
    ///   - table: room for 4097 entries.
    ///   - codeSize: one of `codeSizes`. A literal above 255 counts as its low byte, as in Chromium.
    /// - Returns: the pixels written.
    static func inflate(
        _ codes: UnsafePointer<UInt8>, byteCount: Int, codeSize: Int, output: UnsafeMutablePointer<UInt8>,
        pixels: Int, table: UnsafeMutablePointer<UInt64>, stop: Stop
    ) throws(Failure) -> (pixels: Int, ending: Ending) {
        // Every index below is bounded: `code` by its width's mask to 4095, `at` by `limit`, a copy by `length` that
        // was held against what is left before `limit`, `bit` by `bitCount`. The slacks named above cover the overshoot.
        for literal in 0..<256 { unsafe output[literal] = UInt8(truncatingIfNeeded: literal) }
        let clear = 1 << codeSize
        // Entries are `from << 16 | length`. Clear and end code have the length 0, so that no fast path takes them.
        for literal in 0..<clear { unsafe table[literal] = UInt64(literal & 255) &<< 16 | 1 }
        unsafe table[clear] = 0
        unsafe table[clear + 1] = 0
        let source = unsafe UnsafeRawPointer(codes)
        let target = UnsafeMutableRawPointer(output)
        let bitCount = byteCount &* 8
        let limit = literals &+ pixels
        var bit = 0
        var at = literals

        @inline(__always) func word() -> UInt64 {
            // At most 7 bits of the first byte are passed: 57 are left, which hold four codes whole.
            let word = unsafe source.loadUnaligned(
                fromByteOffset: Int(bitPattern: UInt(bitPattern: bit) &>> 3), as: UInt64.self)
            return word &>> UInt64(truncatingIfNeeded: bit & 7)
        }
        @inline(__always) func copy16(_ from: Int, _ to: Int) {
            let block = unsafe (target + from).loadUnaligned(as: SIMD16<UInt8>.self)
            unsafe (target + to).storeBytes(of: block, as: SIMD16<UInt8>.self)
        }
        @inline(__always) func copy(_ from: Int, _ length: Int) {
            var done = 0
            while done < length {
                copy16(from &+ done, at &+ done)
                done &+= 16
            }
        }

        // The clock is asked every 8 KiB of codes: a small frame is over sooner.
        var asking = 1 << 16
        restart: while true {
            if bit >= asking {
                try stop.check(.decode)
                asking = bit &+ 1 << 16
            }
            var width = codeSize &+ 1
            var mask = (1 as UInt64) << UInt64(width) &- 1
            var next = clear &+ 2
            var first: Int
            repeat {
                if bit &+ width > bitCount { return (at &- literals, .short) }
                first = Int(truncatingIfNeeded: word() & mask)
                bit &+= width
            } while first == clear
            if first == clear &+ 1 || at >= limit { return (at &- literals, .complete) }
            if first > clear { return (at &- literals, .corrupt) }
            unsafe output[at] = UInt8(truncatingIfNeeded: first)
            var previous = UInt64(truncatingIfNeeded: at) &<< 16 | 1
            at &+= 1
            // Once around for each code width.
            while true {
                if next >= 1 &<< width, width < 12 {
                    width &+= 1
                    mask = mask &<< 1 | 1
                }
                let isFull = next == 4096
                var turns = min((bitCount &- bit) / width, isFull ? 65536 : 1 &<< width &- next)
                if turns == 0 { return (at &- literals, at >= limit ? .complete : .short) }
                if isFull { try stop.check(.decode) }
                while turns > 0 {
                    // Four codes a load, as long as strings are short, known, and far from the end.
                    var quads = isFull ? 0 : min(turns, (limit &- at) &>> 4) &>> 2
                    fast: while quads > 0 {
                        var word = word()
                        var taken = 0
                        repeat {
                            let code = Int(truncatingIfNeeded: word & mask)
                            // The string of the code before and one pixel more: the one that stands right behind it.
                            unsafe table[next] = previous &+ 1
                            let entry = unsafe table[code]
                            let length = entry & 0xFFFF
                            if code >= next || length &- 1 >= 16 {
                                bit &+= taken &* width
                                turns &-= taken
                                break fast
                            }
                            copy16(Int(truncatingIfNeeded: entry &>> 16), at)
                            previous = UInt64(truncatingIfNeeded: at) &<< 16 | length
                            at &+= Int(truncatingIfNeeded: length)
                            next &+= 1
                            word = word &>> UInt64(truncatingIfNeeded: width)
                            taken &+= 1
                        } while taken < 4
                        bit &+= width &* 4
                        turns &-= 4
                        quads &-= 1
                    }
                    if turns == 0 { break }
                    // One code of any kind.
                    let code = Int(truncatingIfNeeded: word() & mask)
                    bit &+= width
                    turns &-= 1
                    if code == clear { continue restart }
                    if code == clear &+ 1 { return (at &- literals, .complete) }
                    if !isFull {
                        if code > next { return (at &- literals, .corrupt) }
                        unsafe table[next] = previous &+ 1
                    }
                    let entry = unsafe table[code]
                    let from = Int(truncatingIfNeeded: entry &>> 16)
                    let length = Int(truncatingIfNeeded: entry & 0xFFFF)
                    if length > limit &- at {
                        for step in 0..<(limit &- at) { unsafe output[at &+ step] = output[from &+ step] }
                        return (pixels, .complete)
                    }
                    copy(from, length)
                    if !isFull {
                        // The entry made just now: its last pixel is the first one of this very string.
                        if code == next { unsafe output[at &+ length &- 1] = output[at] }
                        previous = UInt64(truncatingIfNeeded: at) &<< 16 | UInt64(truncatingIfNeeded: length)
                        next &+= 1
                    }
                    at &+= length
                }
            }
        }
    }
}
