internal import FramemillMedia

/// One frame's own pixels, and where on the canvas they go. Cut out by whoever encodes them, which others may do too.
struct CanvasPiece: Sendable {
    struct Box: Sendable {
        var left: Int
        var top: Int
        var right: Int
        var bottom: Int
        var width: Int { right - left }
        var height: Int { bottom - top }
    }

    let canvas: Bitmap
    /// Left and top are even, as the format has it.
    let box: Box
    /// Blocks of the box that are left as they are, row by row; `nil`: none is.
    let still: [Bool]?
    let blockSide: Int
    /// A block that is left has no colours, not even hidden ones.
    let isBare: Bool

    /// Drawn over what is below by its alpha; `false` replaces it.
    var blends: Bool { still != nil }
    var hasAlpha: Bool { blends || canvas.hasAlpha }

    /// The box, its still blocks transparent.
    ///
    /// A lossy frame keeps the colours of still blocks beside those that are written, although nobody sees them there:
    /// its filter for block edges mixes what it finds on both sides. The others are one plain colour, which costs nothing.
    var bitmap: Bitmap {
        var pixels = cut()
        if let still { clear(still, in: &pixels) }
        return Bitmap(width: box.width, height: box.height, pixels: pixels, hasAlpha: hasAlpha)
    }

    private func cut() -> [UInt8] {
        if (box.width, box.height) == (canvas.width, canvas.height) { return canvas.pixels }
        var pixels: [UInt8] = []
        pixels.reserveCapacity(box.width * box.height * 4)
        for y in box.top..<box.bottom {
            pixels += canvas.pixels[(y * canvas.width + box.left) * 4..<(y * canvas.width + box.right) * 4]
        }
        return pixels
    }

    private func clear(_ still: [Bool], in pixels: inout [UInt8]) {
        let (width, height, side) = (box.width, box.height, blockSide)
        let (across, down) = ((width + side - 1) / side, (height + side - 1) / side)
        /// Whether it and all blocks around it stand still.
        func isAlone(_ row: Int, _ column: Int) -> Bool {
            (max(0, row - 1)...min(down - 1, row + 1)).allSatisfy { row in
                (max(0, column - 1)...min(across - 1, column + 1)).allSatisfy { still[row * across + $0] }
            }
        }
        // R, G, B from the low byte up, the alpha 0.
        var plain: UInt32 = 0
        // `width * height` pixels of four bytes; blocks end at both.
        unsafe pixels.withUnsafeMutableBytes { bytes in
            func load(_ pixel: Int) -> UInt32 {
                unsafe bytes.loadUnaligned(fromByteOffset: pixel &* 4, as: UInt32.self)
            }
            for row in 0..<down {
                for column in 0..<across {
                    let columns = column * side..<min(width, (column + 1) * side)
                    let isStill = still[row * across + column]
                    let isPlain = isStill && (isBare || isAlone(row, column))
                    for y in isStill ? row * side..<min(height, (row + 1) * side) : 0..<0 {
                        for pixel in y &* width &+ columns.lowerBound..<y &* width &+ columns.upperBound {
                            unsafe bytes.storeBytes(
                                of: isPlain ? plain : load(pixel) & 0x00FF_FFFF, toByteOffset: pixel &* 4,
                                as: UInt32.self)
                        }
                    }
                    if !isPlain, !isBare {
                        plain = load(row * side * width + columns.upperBound - 1) & 0x00FF_FFFF
                    }
                }
            }
        }
    }
}
