/// An upright or stored picture: RGBA, 8 bit each, sRGB, not premultiplied, rows without padding.
public struct Bitmap: Sendable, Equatable {
    public let width: Int
    public let height: Int
    /// `width * height * 4` bytes.
    public var pixels: [UInt8]
    /// Whether any pixel may be less than opaque.
    public var hasAlpha: Bool

    public init(width: Int, height: Int, pixels: [UInt8], hasAlpha: Bool) {
        precondition(width > 0 && height > 0 && pixels.count == width * height * 4)
        self.width = width
        self.height = height
        self.pixels = pixels
        self.hasAlpha = hasAlpha
    }

    public init(width: Int, height: Int) {
        self.init(
            width: width, height: height, pixels: [UInt8](repeating: 0, count: width * height * 4),
            hasAlpha: true)
    }
}
