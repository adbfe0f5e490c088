internal import CFFmpeg
internal import FramemillMedia

/// How bright and how varied a decoded picture is, from a grid of samples of its first component.
struct Shade: Equatable {
    /// 0 ... 255, range applied.
    var mean: Double
    var deviation: Double

    /// Darker than this on average is a black opening or a fade, not a cover.
    static let darkMean = 32.0
    /// Flatter than this is one plain colour.
    static let blankDeviation = 2.0

    var isDark: Bool { mean <= Self.darkMean }
    var isBlank: Bool { deviation < Self.blankDeviation }
    var isGood: Bool { !isDark && !isBlank }
    /// For the best of a bad lot: variety first, then light.
    var score: Double { deviation * 2 + min(mean, 128) / 4 }

    /// `nil` for layouts that can't be sampled in place; they count as good.
    init?(_ picture: borrowing AVPicture) {
        guard let layout = PixelLayout(picture), let plane = layout.planes.first else { return nil }
        let model = layout.model
        let unit = Double(1 << (model.bits - 8))
        var sum = 0.0
        var squares = 0.0
        let columns = min(plane.width, 64)
        let rows = min(plane.height, 36)
        for row in 0..<rows {
            let y = row * plane.height / rows
            for column in 0..<columns {
                let x = column * plane.width / columns
                // Inside the plane by the two lines above.
                let at = unsafe plane.base + y * plane.strideBytes + x * plane.step * plane.bytesPerSample
                let raw =
                    plane.bytesPerSample == 1
                    ? unsafe Double(at.load(as: UInt8.self))
                    : unsafe Double(at.loadUnaligned(as: UInt16.self) >> UInt16(plane.shift))
                let value = model.isFullRange ? raw / unit : (raw / unit - 16) * 255 / 219
                sum += value
                squares += value * value
            }
        }
        let count = Double(columns * rows)
        mean = sum / count
        deviation = max(0, squares / count - mean * mean).squareRoot()
    }
}
