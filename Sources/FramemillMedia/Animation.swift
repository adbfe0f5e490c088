// What is known of an animation before one pixel is decoded, and one decoded frame of it. The same words serve GIF,
// animated WebP and APNG; where the formats differ (GIF counts repeats, the others plays), the value is normalised and
// the raw one stands beside it.

/// The index of an animation: every frame's place and time. Sizes are pixels. JSON names are the property names.
public struct AnimationFacts: Sendable, Codable, Equatable {
    /// `gif`, `webp` or `apng`; `png` for a still one.
    public var container: String
    /// The canvas: GIF's logical screen.
    public var width: Int
    public var height: Int
    /// How often it is shown; 0 is endless. GIF's stored number counts repeats after the first showing, that of WebP
    /// and APNG counts showings.
    public var plays: Int
    /// The number as stored, absent where the file says nothing.
    public var rawLoop: Int?
    /// Some of what the file announces is missing or broken: the frames are those that are whole.
    public var partial: Bool = false
    public var frames: [FrameFacts] = []

    public init(container: String, width: Int, height: Int, plays: Int, rawLoop: Int? = nil) {
        self.container = container
        self.width = width
        self.height = height
        self.plays = plays
        self.rawLoop = rawLoop
    }

    public var frameCount: Int { frames.count }
    /// More than one frame.
    public var animated: Bool { frames.count > 1 }
    /// One showing, by the effective delays. Never zero.
    public var milliseconds: Int { frames.reduce(0) { $0 + $1.delay } }
    /// Whether a frame's rectangle is the whole canvas or more.
    public func isCovered(by frame: FrameFacts) -> Bool {
        frame.left == 0 && frame.top == 0 && frame.width >= width && frame.height >= height
    }
    /// The bytes of one canvas in memory.
    public var canvasBytes: Int { width * height * 4 }
}

/// What the file says of one frame.
public struct FrameFacts: Sendable, Codable, Equatable {
    /// Milliseconds as stored; not whole where an APNG's fraction is not.
    public var rawDelay: Double
    /// Milliseconds to show it for: `rawDelay` rounded, and 100 where that is 10 or less, as all main browsers have it.
    public var delay: Int
    /// Where its own pixels lie on the canvas; a GIF's rectangle may reach past the edge and is then clipped.
    public var left: Int
    public var top: Int
    public var width: Int
    public var height: Int
    /// What happens to its rectangle before the next frame is drawn.
    public var disposal: Disposal
    /// How its pixels meet those below.
    public var blend: Blend

    public enum Disposal: String, Sendable, Codable {
        /// Stays.
        case keep
        /// Becomes transparent.
        case background
        /// Becomes what it was before the frame.
        case previous
    }

    public enum Blend: String, Sendable, Codable {
        /// Drawn over what is below, by its alpha.
        case over
        /// Replaces what is below, alpha included.
        case source
    }

    public init(
        rawDelay: Double, left: Int, top: Int, width: Int, height: Int, disposal: Disposal, blend: Blend
    ) {
        self.rawDelay = rawDelay
        self.delay = Self.effective(rawDelay)
        self.left = left
        self.top = top
        self.width = width
        self.height = height
        self.disposal = disposal
        self.blend = blend
    }

    /// 10 ms and less become 100 ms; halves round up. `raw` is never negative.
    public static func effective(_ raw: Double) -> Int {
        raw <= 10 ? 100 : Int(raw.rounded(.toNearestOrAwayFromZero))
    }
}

/// One finished frame: the whole canvas as it is shown.
public struct AnimationFrame: Sendable, Equatable {
    public var index: Int
    /// Milliseconds to show it for.
    public var delay: Int
    public var bitmap: Bitmap
    /// `false` where its data is broken: what could be decoded is drawn.
    public var isWhole: Bool

    public init(index: Int, delay: Int, bitmap: Bitmap, isWhole: Bool) {
        self.index = index
        self.delay = delay
        self.bitmap = bitmap
        self.isWhole = isWhole
    }
}

/// How far an animation has been played: the next frame, and the canvas it is drawn on. A value, so that it moves
/// between threads and a copy of it is a place to come back to.
public struct AnimationPlace: Sendable {
    /// The frame that comes next.
    public package(set) var next: Int
    /// What that frame is drawn on; `nil` is a transparent canvas.
    package var base: [UInt8]?
    package var isBaseOpaque = false
    /// A rectangle of `base` that is to be transparent first.
    package var clear: Rectangle?

    /// At the first frame.
    public init() { next = 0 }

    package init(next: Int) { self.next = next }

    package struct Rectangle: Sendable, Equatable {
        package var left: Int
        package var top: Int
        package var right: Int
        package var bottom: Int

        package init(left: Int, top: Int, right: Int, bottom: Int) {
            self.left = left
            self.top = top
            self.right = right
            self.bottom = bottom
        }

        package var isEmpty: Bool { left >= right || top >= bottom }
    }
}
