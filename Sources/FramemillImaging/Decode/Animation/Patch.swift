internal import FramemillEngine
internal import FramemillMedia

/// One frame's own pixels, not yet on the canvas. A class, because a patch passes through several hands, and a struct of
/// arrays would count each of them anew at every one.
final class Patch: Sendable {
    enum Pixels: Sendable {
        /// One byte a pixel, an index into `colors`: 256 words of R, G, B, A from the low byte up, of which a
        /// transparent one is 0. The first pixel is at `start`.
        case indexed([UInt8], start: Int, colors: [UInt32])
        /// Four bytes a pixel, R, G, B, A, not premultiplied.
        case rgba([UInt8])
    }

    let pixels: Pixels
    /// Pixels from the front that are there; the rest stays what is below.
    let pixelCount: Int
    /// The rows come in GIF's four passes (GIF89a, appendix E).
    let isInterlaced: Bool
    /// No pixel is less than opaque.
    let isOpaque: Bool
    /// All that is below is known to be transparent: its pixels are copied.
    let isAlone: Bool
    /// Nothing of the frame is missing or broken.
    let isWhole: Bool
    /// So broken that viewers show nothing behind it.
    let isLast: Bool

    init(
        pixels: Pixels, pixelCount: Int, isInterlaced: Bool = false, isOpaque: Bool,
        isAlone: Bool = false, isWhole: Bool, isLast: Bool = false
    ) {
        self.pixels = pixels
        self.pixelCount = pixelCount
        self.isInterlaced = isInterlaced
        self.isOpaque = isOpaque
        self.isAlone = isAlone
        self.isWhole = isWhole
        self.isLast = isLast
    }
}

/// One opened file: its index, and the pixels of any frame.
protocol FrameSource: Sendable {
    var facts: AnimationFacts { get }
    /// Bytes that the pixels of a frame take while they wait to be drawn; no more than the file's size allows.
    func patchBytes(_ index: Int) -> Int
    /// Whether a frame, if all its data is there, hides what is below its rectangle. Known without decoding it.
    func hidesBelow(_ index: Int) -> Bool
    /// Decodes one frame. Any thread, many at once. Broken data gives what there is, `isWhole` false.
    func patch(_ index: Int, stop: Stop) throws(Failure) -> Patch
    /// Decodes several frames one after the other: what all of them need is fetched once.
    func patches(_ indices: Range<Int>, stop: Stop) throws(Failure) -> [Patch]
    /// Takes back what patches that have been drawn were made of.
    func recycle(_ patches: [Patch])
}

extension FrameSource {
    func patches(_ indices: Range<Int>, stop: Stop) throws(Failure) -> [Patch] {
        var patches: [Patch] = []
        patches.reserveCapacity(indices.count)
        for index in indices { patches.append(try patch(index, stop: stop)) }
        return patches
    }

    func recycle(_ patches: [Patch]) {}
}
