@testable import FramemillImaging

/// The chunks of a PNG of RGBA pixels, to put together right or wrong.
enum APNGFile {
    static func chunk(_ type: String, _ body: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        PNGStream.append(type, body[...], to: &bytes)
        return bytes
    }

    static func header(_ width: Int, _ height: Int) -> [UInt8] {
        PNGStream.signature + chunk("IHDR", big(width, height) + [8, 6, 0, 0, 0])
    }

    static func animation(frames: Int, plays: Int = 0) -> [UInt8] { chunk("acTL", big(frames, plays)) }

    static func control(
        _ sequence: Int, _ width: Int, _ height: Int, left: Int = 0, top: Int = 0,
        delay: (Int, Int) = (1, 5), disposal: UInt8 = 0, blend: UInt8 = 0
    ) -> [UInt8] {
        let fraction = [delay.0 >> 8, delay.0 & 255, delay.1 >> 8, delay.1 & 255].map { UInt8($0) }
        return chunk("fcTL", big(sequence, width, height, left, top) + fraction + [disposal, blend])
    }

    /// The default image, of one colour.
    static func image(_ color: [UInt8], _ width: Int, _ height: Int) -> [UInt8] {
        chunk("IDAT", data(color, width, height))
    }

    static func frame(_ sequence: Int, _ color: [UInt8], _ width: Int, _ height: Int) -> [UInt8] {
        chunk("fdAT", big(sequence) + data(color, width, height))
    }

    static let end = chunk("IEND", [])

    /// Frames of one colour that fill the picture, the first of them the default image.
    static func file(
        _ colors: [[UInt8]], _ width: Int, _ height: Int, plays: Int = 0, delays: [(Int, Int)] = []
    ) -> [UInt8] {
        var bytes = header(width, height) + animation(frames: colors.count, plays: plays)
        for (index, color) in colors.enumerated() {
            let delay = delays.isEmpty ? (1, 5) : delays[index]
            bytes += control(max(0, index * 2 - 1), width, height, delay: delay)
            bytes += index == 0 ? image(color, width, height) : frame(index * 2, color, width, height)
        }
        return bytes + end
    }

    /// A zlib stream that compresses nothing (RFC 1950 and 1951, stored blocks) around unfiltered rows.
    static func data(_ color: [UInt8], _ width: Int, _ height: Int) -> [UInt8] {
        let row = [0] + Array(repeatElement(color, count: width).joined())
        let rows = Array(repeatElement(row, count: height).joined())
        var bytes: [UInt8] = [0x78, 0x01]
        var (low, high) = (1, 0)
        for start in stride(from: 0, to: rows.count, by: 65535) {
            let part = rows[start..<min(start + 65535, rows.count)]
            let (small, large) = (UInt8(part.count & 255), UInt8(part.count >> 8))
            bytes += [part.endIndex == rows.count ? 1 : 0, small, large, ~small, ~large] + part
            for byte in part {
                low = (low + Int(byte)) % 65521
                high = (high + low) % 65521
            }
        }
        return bytes + big(high << 16 | low)
    }

    static func big(_ values: Int...) -> [UInt8] {
        values.flatMap { PNGStream.big32(UInt32(truncatingIfNeeded: $0)) }
    }
}
