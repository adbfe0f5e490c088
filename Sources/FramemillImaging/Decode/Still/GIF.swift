// The first picture of a GIF: giflib walks the container and inflates, we compose one frame on the logical screen.
// Reads as far as that frame's last byte; whether more follow is then looked up where that costs nothing.
//
// The known ways to treat a first frame that does not cover the screen, and ours:
//   - past the screen's edge: clipped, as the specification, Firefox and ffmpeg have it (Chromium enlarges the canvas);
//   - smaller than the screen: transparent around it, as browsers do (ffmpeg paints the background colour);
//   - no colour table, or an index behind its end: opaque black, as browsers do.

internal import CGIF
internal import FramemillEngine
internal import FramemillMedia

enum GIFFirstFrame {
    static func facts(_ source: SourceBytes) throws(Failure) -> StillHeader {
        let container = try GIFContainer(source)
        let frame = try container.nextFrame()
        var facts = try screenFacts(container, frame, source.limits)
        if !source.isLocal { source.isFrozen = true }
        if container.skipPixels() { container.count(into: &facts, first: frame, after: 1, isCounted: true) }
        return (facts, 1)
    }

    static func decode(_ source: SourceBytes) throws(Failure) -> StillPicture {
        let container = try GIFContainer(source)
        var frame = try container.nextFrame()
        let first = frame
        var facts = try screenFacts(container, frame, source.limits)
        var canvas = GIFCanvas(width: container.width, height: container.height)
        var rows = try container.inflate(frame, into: &canvas, stop: source.stop)
        var lost = 0
        // A first picture of which nothing can be drawn costs nothing but itself: a later one makes the cover.
        while rows == 0 {
            let broken = Failure(
                .corrupt, .decode, "not one row of the GIF's picture could be inflated",
                cause: container.words)
            guard container.skipPixels(), let next = try container.laterFrame() else { throw broken }
            frame = next
            lost += 1
            rows = try container.inflate(frame, into: &canvas, stop: source.stop)
        }
        facts.degraded = lost > 0 || rows < frame.height
        // A network source is not read on for a count.
        if !source.isLocal { source.isFrozen = true }
        container.count(into: &facts, first: first, after: 1 + lost, isCounted: rows == frame.height)
        let bitmap = canvas.bitmap
        facts.alpha = bitmap.hasAlpha
        return StillPicture(bitmap: bitmap, orientation: 1, facts: facts)
    }

    private static func screenFacts(
        _ container: borrowing GIFContainer, _ frame: GIFFrame, _ limits: Limits
    ) throws(Failure) -> Facts {
        try Still.admit(width: container.width, height: container.height, limits: limits)
        var facts = Facts()
        facts.container = "gif"
        facts.codec = "gif"
        facts.pixelFormat = "pal8"
        facts.storedWidth = container.width
        facts.storedHeight = container.height
        facts.alpha = frame.transparent != nil
        return facts
    }
}

/// One frame's place, its colours and what its graphic control said.
struct GIFFrame {
    var left: Int
    var top: Int
    var width: Int
    var height: Int
    var isInterlaced: Bool
    var codeSize: Int
    var transparent: Int?
    /// Hundredths of a second, as stored.
    var delay: Int
    /// 256 RGBA colours; the transparent one has alpha 0.
    var colors: [UInt8]

    /// The picture rows in the order in which the data gives them (GIF89a, appendix E).
    var rowOrder: [Int] {
        guard isInterlaced else { return Array(0..<height) }
        return [(0, 8), (4, 8), (2, 4), (1, 2)].flatMap { Array(stride(from: $0.0, to: height, by: $0.1)) }
    }
}

/// The logical screen, transparent where nothing has been drawn.
struct GIFCanvas {
    let width: Int
    let height: Int
    private var pixels: [UInt8]

    init(width: Int, height: Int) {
        self.width = width
        self.height = height
        pixels = [UInt8](repeating: 0, count: width * height * 4)
    }

    /// Draws the part of one row of a frame that lies on the screen.
    mutating func draw(_ line: [UInt8], row: Int, of frame: GIFFrame) {
        let y = frame.top + row
        guard y < height, frame.left < width else { return }
        var target = (y * width + frame.left) * 4
        for x in 0..<min(frame.width, width - frame.left) {
            let color = Int(line[x]) * 4
            if frame.colors[color + 3] != 0 {
                for channel in 0..<4 { pixels[target + channel] = frame.colors[color + channel] }
            }
            target += 4
        }
    }

    var bitmap: Bitmap {
        let isOpaque = stride(from: 3, to: pixels.count, by: 4).allSatisfy { pixels[$0] == 255 }
        return Bitmap(width: width, height: height, pixels: pixels, hasAlpha: !isOpaque)
    }
}
