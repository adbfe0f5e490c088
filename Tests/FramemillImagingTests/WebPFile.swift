import CImage

/// An animated WebP put together chunk by chunk (WebP container specification), with lossless frames.
struct WebPFile {
    struct Frame {
        /// Even numbers: the container stores halves.
        var left = 0
        var top = 0
        var width: Int
        var height: Int
        /// R, G, B, A.
        var pixels: [UInt8]
        var milliseconds = 100
        var clears = false
        var replaces = false
    }

    var width: Int
    var height: Int
    var loop = 0
    var frames: [Frame]

    /// A frame of one colour.
    static func frame(
        _ color: [UInt8], left: Int = 0, top: Int = 0, _ width: Int, _ height: Int, milliseconds: Int = 100,
        clears: Bool = false, replaces: Bool = false
    ) -> Frame {
        Frame(
            left: left, top: top, width: width, height: height,
            pixels: Array(repeatElement(color, count: width * height).joined()), milliseconds: milliseconds,
            clears: clears, replaces: replaces)
    }

    var bytes: [UInt8] {
        var body = Array("WEBP".utf8)
        // Flags: alpha and animation.
        body += Self.chunk("VP8X", [0x12, 0, 0, 0] + Self.little24(width - 1) + Self.little24(height - 1))
        // A background that would be seen if it were used.
        body += Self.chunk("ANIM", [255, 0, 255, 255, UInt8(loop & 255), UInt8(loop >> 8)])
        for frame in frames {
            let place = [
                frame.left / 2, frame.top / 2, frame.width - 1, frame.height - 1, frame.milliseconds,
            ]
            let flags: UInt8 = (frame.clears ? 1 : 0) | (frame.replaces ? 2 : 0)
            body += Self.chunk("ANMF", place.flatMap(Self.little24) + [flags] + Self.picture(frame))
        }
        return Self.chunk("RIFF", body)
    }

    /// A still WebP.
    static func still(_ frame: Frame) -> [UInt8] { chunk("RIFF", "WEBP".utf8 + picture(frame)) }

    /// The `VP8L` chunk of one frame.
    private static func picture(_ frame: Frame) -> [UInt8] {
        var output: UnsafeMutablePointer<UInt8>?
        let count = unsafe frame.pixels.withUnsafeBufferPointer {
            // Reads `height` rows of `width` pixels, which is all that the frame has.
            unsafe WebPEncodeLosslessRGBA(
                $0.baseAddress, Int32(frame.width), Int32(frame.height), Int32(frame.width * 4), &output)
        }
        // libwebp's to free; it holds `count` bytes. The first twelve are a file's header.
        defer { unsafe WebPFree(output) }
        return unsafe Array(UnsafeBufferPointer(start: output, count: count).dropFirst(12))
    }

    private static func chunk(_ type: String, _ body: [UInt8]) -> [UInt8] {
        let count = UInt32(body.count)
        let length = (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
        return Array(type.utf8) + length + body + (body.count % 2 == 1 ? [0] : [])
    }

    private static func little24(_ value: Int) -> [UInt8] {
        (0..<3).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }
}
