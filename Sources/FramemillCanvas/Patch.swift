package import FramemillEngine
package import FramemillMedia

/// One frame's own pixels, not yet on the canvas. A class, because a patch passes through several hands, and a struct of
/// arrays would count each of them anew at every one.
package final class Patch: Sendable {
    package enum Pixels: Sendable {
        /// One byte a pixel, an index into `colors`: 256 words of R, G, B, A from the low byte up, of which a
        /// transparent one is 0. The first pixel is at `start`.
        case indexed([UInt8], start: Int, colors: [UInt32])
        /// Four bytes a pixel, R, G, B, A, not premultiplied.
        case rgba([UInt8])
    }

    package let pixels: Pixels
    /// Pixels from the front that are there; the rest stays what is below.
    package let pixelCount: Int
    /// The rows come in GIF's four passes (GIF89a, appendix E).
    package let isInterlaced: Bool
    /// No pixel is less than opaque.
    package let isOpaque: Bool
    /// All that is below is known to be transparent: its pixels are copied.
    package let isAlone: Bool
    /// Nothing of the frame is missing or broken.
    package let isWhole: Bool
    /// So broken that viewers show nothing behind it.
    package let isLast: Bool

    package init(
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

/// An animation whose frames can be had before they are drawn: drawing is arithmetic of our own on memory of known sizes,
/// so it can be done by whoever wants the canvases, and the patches cross where a whole canvas of each would be more.
package protocol PatchDecoder: AnimationDecoder {
    /// The pixels of some frames; fewer where one of them is the last.
    func patches(_ indices: Range<Int>, crew: Crew, stop: Stop) throws(Failure) -> [Patch]
    /// Takes back what patches that have been used were made of.
    func recycle(_ patches: [Patch])
}
