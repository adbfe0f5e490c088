/// What is known of a source and of the picture taken from it. Sizes are pixels, times seconds.
/// JSON names are the property names. What the source does not say is left out.
public struct Facts: Sendable, Codable, Equatable {
    /// Where the picture came from: `video`, `attached` (cover art of an audio file) or `image`.
    public var source: Source = .image
    /// The container or file format: `mov`, `matroska`, `mpegts`, `jpeg`, `gif`…
    public var container: String = ""
    public var codec: String = ""
    public var pixelFormat: String?
    /// As stored: before pixel aspect and rotation.
    public var storedWidth: Int = 0
    public var storedHeight: Int = 0
    /// As meant to be shown: after pixel aspect and rotation.
    public var displayWidth: Int = 0
    public var displayHeight: Int = 0
    /// Of the picture made.
    public var width: Int = 0
    public var height: Int = 0
    public var format: String = ""
    public var byteCount: Int = 0
    /// Pixel aspect as a ratio, `1:1` where unknown.
    public var pixelAspect: String = "1:1"
    /// EXIF orientation, 1 to 8 (6: shown turned 90 degrees clockwise).
    public var orientation: Int = 1
    /// Degrees clockwise that the stored picture is turned (after the reflection, if it is mirrored).
    public var rotation: Int = 0
    public var mirrored: Bool = false
    /// Of a transport stream read over the network only `probe` knows it: it costs a read of the tail.
    public var duration: Double?
    /// `m:ss`, `h:mm:ss` from one hour on.
    public var durationText: String?
    public var frameRate: Double?
    public var frameCount: Int?
    /// The time of the picture used.
    public var timeUsed: Double?
    /// `pq`, `hlg` or absent.
    public var hdr: String?
    public var alpha: Bool = false
    public var animated: Bool = false
    /// Of an animation: which of its pictures this is.
    public var pictureUsed: AnimationPicture?
    public var audio: Bool = false
    public var colorMatrix: String?
    public var colorRange: String?
    /// The whole search found only dark pictures; this is the brightest.
    public var dark: Bool = false
    /// Only damaged pictures could be decoded.
    public var degraded: Bool = false
    /// The colours could not be mapped exactly (Dolby Vision without a base layer).
    public var approximate: Bool = false
    /// ThumbHash of the picture, base64: a placeholder to paint while the picture loads.
    public var thumbHash: String?
    /// `#rrggbb`.
    public var dominantColor: String?
    /// Of the result, where it moves; `animated`, `frameCount` and `duration` are the source's.
    public var animation: Animation?
    /// Bytes of the source that were read; over the network, all that were received.
    public var bytesRead: Int64 = 0
    public var requests: Int = 0
    /// The most resident memory, in bytes, that the process which made the picture had used by then, for this one and
    /// whatever it made beside and before it.
    public var peakBytes: Int64?
    /// Decoded frames the search went through.
    public var framesDecoded: Int = 0
    /// Milliseconds per stage: `fetch` (waiting for bytes), `probe`, `decode`, `transform`, `encode`, `total`.
    public var milliseconds = StageTimes()

    /// A moving result.
    public struct Animation: Sendable, Codable, Equatable {
        public var frameCount: Int
        /// How often it is shown; 0 is endless.
        public var plays: Int
        /// Seconds of one showing.
        public var duration: Double
        /// The source met the recipe already and was not encoded again.
        public var passedThrough: Bool = false

        public init(frameCount: Int, plays: Int, duration: Double) {
            self.frameCount = frameCount
            self.plays = plays
            self.duration = duration
        }
    }

    public enum Source: String, Sendable, Codable { case video, attached, image }

    public enum AnimationPicture: String, Sendable, Codable {
        /// The first frame.
        case firstFrame = "first_frame"
        /// An APNG's picture for viewers without animation, where the animation does not show it.
        case defaultImage = "default_image"
    }

    public init() {}

    /// `m:ss` below one hour, `h:mm:ss` from there on; rounded down, as players show it.
    public static func clock(seconds: Double) -> String {
        let whole = Int(max(0, min(seconds, 1e9)))
        func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
        let (hours, minutes, rest) = (whole / 3600, whole / 60 % 60, whole % 60)
        return hours > 0 ? "\(hours):\(two(minutes)):\(two(rest))" : "\(minutes):\(two(rest))"
    }
}
