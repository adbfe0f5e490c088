// Whatever can change a byte of the result is a field here, and every field is named in `canonical`, the text that
// the cache key hashes. A new field means a new word in `canonical` and a new test, in one commit.

/// Which picture is wanted, and how it should look.
public struct Recipe: Sendable, Hashable {
    public var at: Moment = .auto
    public var seek: Seek = .keyframe
    public var box: Box = .longestSide(320)
    public var mode: Mode = .fit
    public var enlarge: Bool = false
    public var format: OutputFormat = .jpeg
    /// 1 to 100. `nil` is the format's default: JPEG 80, WebP 75; PNG is lossless.
    public var quality: Int?
    /// 0 (fast) to 6 (small). `nil` is the format's default.
    public var effort: Int?
    /// What lies under transparent pixels where the format has no alpha (JPEG).
    public var background: RGB = .white
    /// A moving result, which `format` must be WebP for; `nil` is a still one.
    public var animated: Animated?

    public init() {}

    /// Which frame of a video.
    public enum Moment: Sendable, Hashable {
        /// The first clean picture, moved on past a blank, black or fading opening.
        case auto
        /// The first clean picture, whatever it shows.
        case first
        case seconds(Double)
        /// 0 to 100 of the duration.
        case percent(Double)
    }

    /// How exactly a moment is met: the key frame at or before it, or the frame itself.
    public enum Seek: String, Sendable, Hashable { case keyframe, exact }

    public enum Box: Sendable, Hashable {
        /// As large as the source shows.
        case native
        /// A square box: the longer side becomes this many pixels.
        case longestSide(Int)
        case size(width: Int, height: Int)
    }

    /// Aspect-fit, aspect-fill (the middle is kept) and scale-to-fill of phone image views.
    public enum Mode: String, Sendable, Hashable, CaseIterable { case fit, fill, stretch }

    public enum OutputFormat: String, Sendable, Hashable, CaseIterable {
        case jpeg, png, webp
        /// The usual file name extension: `jpg`, `png`, `webp`.
        public var fileExtension: String { self == .jpeg ? "jpg" : rawValue }
    }

    public struct RGB: Sendable, Hashable {
        public var red: UInt8
        public var green: UInt8
        public var blue: UInt8
        public init(red: UInt8, green: UInt8, blue: UInt8) {
            self.red = red
            self.green = green
            self.blue = blue
        }
        public static let white = RGB(red: 255, green: 255, blue: 255)
    }

    /// Every field by name, one after the other: the text that the cache key hashes. `animated` is named where it is
    /// set only, so that covers are found that were kept before there was such a field.
    public var canonical: String {
        // The room lives as long as the text in it.
        unsafe withUnsafeTemporaryAllocation(byteCount: Self.canonicalByteCount, alignment: 1) { room in
            var text = unsafe ShortText(room)
            write(to: &text)
            return unsafe String(decoding: text.bytes, as: UTF8.self)
        }
    }

    /// More than `canonical` can take: 170 bytes of words, seven whole numbers of 20 digits and three others of 24.
    package static let canonicalByteCount = 448

    /// Writes `canonical`, without an allocation for common values.
    package func write(to text: inout ShortText) {
        text.append("at=")
        switch at {
        case .auto: text.append("auto")
        case .first: text.append("first")
        case .seconds(let seconds):
            text.append(text: seconds.description)
            text.append("s")
        case .percent(let percent):
            text.append(text: percent.description)
            text.append("%")
        }
        text.append(" seek=")
        text.append(text: seek.rawValue)
        switch box {
        case .native: text.append(" native")
        case .longestSide(let pixels):
            text.append(" longest=")
            text.append(pixels)
        case .size(let width, let height):
            text.append(" width=")
            text.append(width)
            text.append(" height=")
            text.append(height)
        }
        text.append(" mode=")
        text.append(text: mode.rawValue)
        text.append(enlarge ? " enlarge=true format=" : " enlarge=false format=")
        text.append(text: format.rawValue)
        text.append(" quality=")
        Self.write(quality, or: "default", to: &text)
        text.append(" effort=")
        Self.write(effort, or: "default", to: &text)
        text.append(" background=")
        text.append(Int(background.red))
        text.append(",")
        text.append(Int(background.green))
        text.append(",")
        text.append(Int(background.blue))
        if let animated { Self.write(animated, to: &text) }
    }

    private static func write(_ animated: Animated, to text: inout ShortText) {
        text.append(" frames=")
        write(animated.maxFrames, or: "all", to: &text)
        text.append(" rate=")
        text.append(text: animated.maxFramesPerSecond?.description ?? "all")
        text.append(animated.lossless ? " lossless=true span=" : " lossless=false span=")
        text.append(text: animated.seconds.description)
        text.append("s")
    }

    private static func write(_ number: Int?, or word: StaticString, to text: inout ShortText) {
        if let number { text.append(number) } else { text.append(word) }
    }
}
