/// A GIF made by hand: frames of one colour each in a rectangle of their own, exactly as told.
public struct DrawnGIF {
    public struct Frame {
        var rectangle: (left: Int, top: Int, width: Int, height: Int)
        /// An index into the four colours; 3 is transparent.
        var color: Int
        /// Hundredths of a second.
        var delay: Int
        var disposal: Int

        public init(
            _ color: Int, delay: Int = 10, at rectangle: (left: Int, top: Int, width: Int, height: Int),
            disposal: Int = 1
        ) {
            self.rectangle = rectangle
            self.color = color
            self.delay = delay
            self.disposal = disposal
        }
    }

    public static let colors: [[UInt8]] = [[255, 0, 0], [0, 255, 0], [0, 0, 255]]

    /// - Parameter loop: as stored: repeats after the first showing; `nil` writes none.
    public static func bytes(width: Int, height: Int, loop: Int?, _ frames: [Frame]) -> [UInt8] {
        func little(_ number: Int) -> [UInt8] { [UInt8(number & 255), UInt8(number >> 8 & 255)] }
        var bytes = Array("GIF89a".utf8) + little(width) + little(height) + [0x81, 0, 0]
        bytes += colors.joined() + [9, 9, 9]
        if let loop {
            bytes += [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1] + little(loop) + [0]
        }
        for frame in frames {
            bytes += [0x21, 0xF9, 4, UInt8(frame.disposal << 2 | 1)] + little(frame.delay) + [3, 0]
            let (left, top, width, height) = frame.rectangle
            bytes += [0x2C] + little(left) + little(top) + little(width) + little(height) + [0, 2]
            bytes += blocks(codes(frame.color, count: width * height)) + [0]
        }
        return bytes + [0x3B]
    }

    /// A clear code before every second pixel keeps every code three bits wide.
    private static func codes(_ color: Int, count: Int) -> [UInt8] {
        var (bits, held) = (0, 0)
        var data: [UInt8] = []
        func put(_ code: Int) {
            bits |= code << held
            held += 3
            while held >= 8 {
                data.append(UInt8(bits & 255))
                (bits, held) = (bits >> 8, held - 8)
            }
        }
        for pixel in 0..<count {
            if pixel % 2 == 0 { put(4) }
            put(color)
        }
        put(5)
        data.append(UInt8(bits & 255))
        return data
    }

    private static func blocks(_ data: [UInt8]) -> [UInt8] {
        stride(from: 0, to: data.count, by: 255).flatMap { start in
            let block = data[start..<min(start + 255, data.count)]
            return [UInt8(block.count)] + block
        }
    }
}
