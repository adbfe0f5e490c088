// The container of an animated WebP: a canvas, and frames that were encoded as files of their own, each on its place.
// https://developers.google.com/speed/webp/docs/riff_container
//
// Not libwebpmux: it keeps a copy of every frame in a list that it walks to append to, and copies them all once more to
// assemble them. The container is 50 lines of bytes, and written so, no frame is held twice.

internal import FramemillMedia

/// A growing animated WebP.
struct WebPAnimationFile {
    private var bytes: [UInt8] = []
    /// Where each frame's time stands: it is known once the next one comes.
    private var times: [Int] = []
    private var hasAlpha = false
    private let width: Int
    private let height: Int

    /// 24 bits.
    static let longestMilliseconds = 0xFF_FFFF
    /// 16 bits.
    static let mostPlays = 0xFFFF

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        bytes = [UInt8](repeating: 0, count: 12 + 18 + 14)
    }

    /// - Parameter file: a still WebP, as libwebp writes it.
    mutating func append(_ file: [UInt8], _ piece: CanvasPiece) {
        hasAlpha = hasAlpha || piece.hasAlpha
        let start = bytes.count
        bytes += Array("ANMF".utf8) + Self.little(0, 4)
        // "Frame X: the X coordinate of the upper left corner of the frame is Frame X * 2." Sizes are stored less one.
        for number in [
            piece.box.left / 2, piece.box.top / 2, piece.box.width - 1, piece.box.height - 1,
        ] { bytes += Self.little(number, 3) }
        times.append(bytes.count)
        bytes += Self.little(0, 3)
        // "Blending method (B): 1 bit": 1 is "Do not blend". Nothing is ever disposed of.
        bytes.append(piece.blends ? 0 : 2)
        // The still's own chunks, without the header that the canvas has instead.
        var offset = 12
        while offset + 8 <= file.count {
            let size = (0..<4).reduce(0) { $0 | Int(file[offset + 4 + $1]) << ($1 * 8) }
            let end = min(file.count, offset + 8 + size + size % 2)
            if !file[offset..<offset + 4].elementsEqual("VP8X".utf8) { bytes += file[offset..<end] }
            offset = end
        }
        bytes.replaceSubrange(start + 4..<start + 8, with: Self.little(bytes.count - start - 8, 4))
    }

    /// The whole file.
    /// - Parameters:
    ///   - milliseconds: of each frame.
    ///   - plays: 0 is endless.
    consuming func finish(milliseconds: [Int], plays: Int) -> [UInt8] {
        for (place, time) in zip(times, milliseconds) {
            bytes.replaceSubrange(
                place..<place + 3, with: Self.little(min(time, Self.longestMilliseconds), 3))
        }
        // Animation, and alpha where any frame has some.
        let flags = 0x02 | (hasAlpha ? 0x10 : 0)
        var head = Array("RIFF".utf8) + Self.little(bytes.count - 8, 4) + Array("WEBPVP8X".utf8)
        head += Self.little(10, 4) + Self.little(flags, 4)
        head += Self.little(width - 1, 3) + Self.little(height - 1, 3)
        // The background colour is a hint that browsers do not take; transparent is what they show.
        head += Array("ANIM".utf8) + Self.little(6, 4) + Self.little(0, 4)
        head += Self.little(min(plays, Self.mostPlays), 2)
        bytes.replaceSubrange(0..<head.count, with: head)
        return bytes
    }

    private static func little(_ number: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: number >> ($0 * 8)) }
    }
}
