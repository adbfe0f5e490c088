// What has to be written of one canvas after another. WebP does not predict a frame from the one before, so whatever
// does not change is best not written: a frame is the smallest rectangle that holds all changes, and where much inside
// it stands still, that is left transparent.
//
// libwebp's WebPAnimEncoder does the same, one frame after the other; here only the comparing is in order, which takes
// a hundredth of the time of encoding. It compares with the source of the frame before, so that a slow fade is never
// seen as a change; we compare with what was written last of each pixel. It adds a whole picture every few frames for
// players that jump; browsers play from the start and want none.

internal import FramemillMedia

struct CanvasDifference {
    private let width: Int
    private let height: Int
    /// Difference of a channel, of 255, below which a pixel counts as unchanged.
    private let tolerance: Int32
    private let isLossless: Bool
    /// Each pixel as it was written last; empty before the first.
    private var shown: [UInt8] = []

    /// Blocks that stand still are worth an alpha plane if they are a quarter of the rectangle.
    private static let stillShare = 4

    init(width: Int, height: Int, manner: WebPEncoding.Manner) {
        self.width = width
        self.height = height
        isLossless = manner.isLossless
        // libwebp's own measure, in WebPAnimEncoder: what that quality would blur anyway.
        let share = (Double(manner.quality) / 100).squareRoot()
        tolerance = manner.isLossless ? 0 : Int32(31 * (1 - share) + share + 0.5)
    }

    /// `nil` where nothing has changed.
    /// - Parameter isForced: give a frame even then.
    mutating func piece(of canvas: Bitmap, isForced: Bool = false) -> CanvasPiece? {
        guard !shown.isEmpty else {
            shown = canvas.pixels
            return piece(canvas, Box(left: 0, top: 0, right: width, bottom: height))
        }
        guard var box = changes(canvas) else {
            return isForced ? piece(canvas, Box(left: 0, top: 0, right: 1, bottom: 1)) : nil
        }
        // Offsets are even; lossy colour comes in squares of two by two, so the far edges are even too.
        box.left &= ~1
        box.top &= ~1
        box.right = min(width, box.right + (box.right & 1))
        box.bottom = min(height, box.bottom + (box.bottom & 1))
        let still = still(canvas, box)
        show(canvas, box, but: still)
        return piece(canvas, box, still: still)
    }

    private typealias Box = CanvasPiece.Box

    private var blockSide: Int { isLossless ? 1 : 8 }

    private func piece(_ canvas: Bitmap, _ box: Box, still: [Bool]? = nil) -> CanvasPiece {
        CanvasPiece(canvas: canvas, box: box, still: still, blockSide: blockSide, isBare: isLossless)
    }

    /// Notes the box as written, but for its still blocks.
    private mutating func show(_ canvas: Bitmap, _ box: Box, but still: [Bool]?) {
        let (width, side) = (width, blockSide)
        let across = (box.width + side - 1) / side
        // Both hold `width * height` pixels, of which the box is a part.
        unsafe shown.withUnsafeMutableBytes { shown in
            unsafe canvas.pixels.withUnsafeBytes { canvas in
                func copy(_ y: Int, _ columns: Range<Int>) {
                    let start = (y &* width &+ columns.lowerBound) &* 4
                    unsafe (shown.baseAddress! + start).copyMemory(
                        from: canvas.baseAddress! + start, byteCount: columns.count &* 4)
                }
                for y in box.top..<box.bottom {
                    guard let still else {
                        copy(y, box.left..<box.right)
                        continue
                    }
                    let blocks = (y - box.top) / side &* across
                    for column in 0..<across where !still[blocks &+ column] {
                        let left = box.left &+ column &* side
                        copy(y, left..<min(box.right, left &+ side))
                    }
                }
            }
        }
    }

    /// The smallest rectangle that holds every changed pixel.
    private func changes(_ canvas: Bitmap) -> Box? {
        var box = Box(left: width, top: height, right: 0, bottom: 0)
        let (width, tolerance) = (width, tolerance)
        // Both hold `width * height` pixels.
        unsafe shown.withUnsafeBytes { old in
            unsafe canvas.pixels.withUnsafeBytes { new in
                func differs(_ pixel: Int) -> Bool {
                    unsafe Self.differs(
                        old.loadUnaligned(fromByteOffset: pixel &* 4, as: UInt32.self),
                        new.loadUnaligned(fromByteOffset: pixel &* 4, as: UInt32.self), tolerance)
                }
                for y in 0..<height {
                    let row = y &* width
                    // A row that widens the box nowhere is only looked at until it is known to have changed.
                    guard let first = (0..<width).first(where: { differs(row &+ $0) }) else { continue }
                    box.top = min(box.top, y)
                    box.bottom = y + 1
                    box.left = min(box.left, first)
                    var last = width
                    while last > box.right, last > first, !differs(row &+ last &- 1) { last &-= 1 }
                    box.right = max(box.right, last)
                }
            }
        }
        return box.right > box.left ? box : nil
    }

    @inline(__always)
    private static func differs(_ old: UInt32, _ new: UInt32, _ tolerance: Int32) -> Bool {
        if old == new { return false }
        let alpha = Int32(new >> 24)
        if alpha != Int32(old >> 24) { return true }
        if alpha == 0 { return false }
        for shift in [UInt32(0), 8, 16] {
            let change = Int32(old >> shift & 255) - Int32(new >> shift & 255)
            if abs(change) * alpha > tolerance * 255 { return true }
        }
        return false
    }

    /// Which blocks of the box stand still, row by row; `nil` where they are few, or where the others can't be drawn
    /// over what is below: that takes opaque pixels. (Even over nothing libwebp's player rounds half transparent ones.)
    private func still(_ canvas: Bitmap, _ box: Box) -> [Bool]? {
        let side = blockSide
        let (across, down) = ((box.width + side - 1) / side, (box.height + side - 1) / side)
        var still = [Bool](repeating: true, count: across * down)
        // A block that must be written, and holds a pixel that can't be drawn over.
        var fixed = [Bool](repeating: false, count: across * down)
        let (width, tolerance) = (width, tolerance)
        unsafe shown.withUnsafeBytes { old in
            unsafe canvas.pixels.withUnsafeBytes { new in
                for y in box.top..<box.bottom {
                    let blocks = (y - box.top) / side &* across
                    for x in box.left..<box.right {
                        let place = (y &* width &+ x) &* 4
                        let below = unsafe old.loadUnaligned(fromByteOffset: place, as: UInt32.self)
                        let pixel = unsafe new.loadUnaligned(fromByteOffset: place, as: UInt32.self)
                        let block = blocks &+ (x &- box.left) / side
                        if Self.differs(below, pixel, tolerance) { still[block] = false }
                        if pixel >> 24 != 255, pixel >> 24 != 0 || below >> 24 != 0 { fixed[block] = true }
                    }
                }
            }
        }
        guard still.count(where: { $0 }) * Self.stillShare >= still.count else { return nil }
        return zip(still, fixed).contains { !$0 && $1 } ? nil : still
    }
}
