/// Writes GIFs for tests, to the letter: what a table says is what stands in the file. Pixels are literal codes.
public struct GIFBuilder: Sendable {
    public struct Frame: Sendable {
        public var left = 0
        public var top = 0
        public var width: Int
        public var height: Int
        public var indices: [UInt8]
        /// Hundredths of a second.
        public var delay = 0
        public var disposal = 0
        public var transparent: UInt8?
        /// Red, green, blue; as many as a power of two.
        public var colors: [[UInt8]] = []
        public var isInterlaced = false
        public var codeSize = 2
        /// Literal codes before the next clear code; 1 clears after every pixel.
        public var literalsPerClear = 2
        /// Clear codes at the start.
        public var clears = 1
        /// Stands in for the blocks of the picture.
        public var data: [UInt8]?

        public init(width: Int, height: Int, indices: [UInt8]) {
            (self.width, self.height, self.indices) = (width, height, indices)
        }

        /// One colour all over.
        public init(width: Int, height: Int, index: UInt8) {
            self.init(
                width: width, height: height, indices: [UInt8](repeating: index, count: width * height))
        }
    }

    public var width: Int
    public var height: Int
    /// Global; none if empty.
    public var colors: [[UInt8]] = [[0, 0, 0], [255, 0, 0], [0, 255, 0], [0, 0, 255]]
    /// As stored; no extension if `nil`.
    public var loop: Int?
    public var frames: [Frame] = []
    public var trailer: [UInt8] = [0x3B]

    public init(width: Int, height: Int) { (self.width, self.height) = (width, height) }

    public var bytes: [UInt8] {
        var bytes = Array("GIF89a".utf8) + Self.words(width, height) + [Self.flags(colors), 0, 0]
        bytes += colors.joined()
        if let loop {
            bytes += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1] + Self.words(loop) + [0]
        }
        return frames.reduce(bytes) { $0 + Self.bytes($1) } + trailer
    }

    private static func bytes(_ frame: Frame) -> [UInt8] {
        let packed = UInt8(frame.disposal << 2) | (frame.transparent == nil ? 0 : 1)
        let control = [0x21, 0xF9, 4, packed] + words(frame.delay) + [frame.transparent ?? 0, 0]
        let flags = flags(frame.colors) & 0x87 | (frame.isInterlaced ? 0x40 : 0)
        return control + [0x2C] + words(frame.left, frame.top, frame.width, frame.height) + [flags]
            + frame.colors.joined() + [UInt8(frame.codeSize)] + (frame.data ?? data(of: frame))
    }

    /// The blocks of a frame's picture.
    public static func data(of frame: Frame) -> [UInt8] { blocks(codes(frame)) }

    /// A table of 2 to 256 colours, as the packed byte of a screen or a picture has it.
    private static func flags(_ colors: [[UInt8]]) -> UInt8 {
        colors.isEmpty ? 0x70 : 0xF0 | UInt8(max(1, colors.count.trailingZeroBitCount) - 1)
    }

    /// The codes of the pixels, low bits first. So few literals between two clear codes that no code gets longer.
    private static func codes(_ frame: Frame) -> [UInt8] {
        let clear = 1 << frame.codeSize
        var codes = Array(repeating: clear, count: frame.clears)
        for (place, index) in frame.indices.enumerated() {
            if place > 0, place % frame.literalsPerClear == 0 { codes.append(clear) }
            codes.append(Int(index))
        }
        codes.append(clear + 1)
        var (bytes, bits, filled): ([UInt8], Int, Int) = ([], 0, 0)
        for code in codes {
            bits |= code << filled
            filled += frame.codeSize + 1
            while filled >= 8 {
                bytes.append(UInt8(bits & 255))
                (bits, filled) = (bits >> 8, filled - 8)
            }
        }
        return filled > 0 ? bytes + [UInt8(bits)] : bytes
    }

    /// In blocks of at most 255 bytes, and the empty one that ends them.
    public static func blocks(_ data: [UInt8]) -> [UInt8] {
        stride(from: 0, to: data.count, by: 255).reduce(into: []) { blocks, start in
            let part = data[start..<min(start + 255, data.count)]
            blocks += [UInt8(part.count)] + part
        } + [0]
    }

    private static func words(_ numbers: Int...) -> [UInt8] {
        numbers.flatMap { [UInt8($0 & 255), UInt8($0 >> 8 & 255)] }
    }
}
