// ThumbHash (Evan Wallace, 2023): about 25 bytes that unfold into a blurred picture of the right shape and colours, to
// paint while the real one loads. The picture's mean colour and a few low cosine frequencies of four channels:
// lightness L, yellow-blue P, red-green Q, alpha A.
//
// Layout, least significant bit first:
//   24 bits  L mean (6), P mean (6), Q mean (6), L scale (5), alpha present (1)
//   16 bits  L frequencies on the shorter side (3), P scale (6), Q scale (6), landscape (1)
//    8 bits  A mean (4) and A scale (4), only with alpha
//    4 bits  for each frequency of L, P, Q and, with alpha, A
// The shape is told by the L frequencies: 7 on the longer side, 5 with alpha.

internal import FramemillMedia
internal import Glibc

enum ThumbHash {
    /// The hash of a picture, shrunk to at most 100 x 100 pixels first, as the format asks.
    static func hash(_ bitmap: Bitmap) -> [UInt8] {
        let small = bitmap.shrunken(toLongestSide: 100)
        let mean = meanColor(small)
        let hasAlpha = mean.alpha < 1
        let planes = Planes(small, over: mean)
        let longest = Double(max(small.width, small.height))
        let limit: Double = hasAlpha ? 5 : 7
        func frequencies(_ side: Int) -> Int { max(1, rounded(limit * Double(side) / longest)) }
        let (across, down) = (frequencies(small.width), frequencies(small.height))
        let isLandscape = small.width > small.height

        let light = planes.transform(planes.light, across: max(3, across), down: max(3, down))
        let yellow = planes.transform(planes.yellow, across: 3, down: 3)
        let red = planes.transform(planes.red, across: 3, down: 3)
        let alpha = hasAlpha ? planes.transform(planes.alpha, across: 5, down: 5) : nil

        let header24 =
            rounded(63 * light.mean) | rounded(31.5 + 31.5 * yellow.mean) << 6
            | rounded(31.5 + 31.5 * red.mean) << 12 | rounded(31 * light.scale) << 18
            | (hasAlpha ? 1 << 23 : 0)
        let header16 =
            (isLandscape ? down : across) | rounded(63 * yellow.scale) << 3 | rounded(63 * red.scale) << 9
            | (isLandscape ? 1 << 15 : 0)
        var hash = [header24, header24 >> 8, header24 >> 16, header16, header16 >> 8].map { UInt8($0 & 255) }
        if let alpha { hash.append(UInt8(rounded(15 * alpha.mean) | rounded(15 * alpha.scale) << 4)) }
        let waves = light.waves + yellow.waves + red.waves + (alpha?.waves ?? [])
        for start in stride(from: 0, to: waves.count, by: 2) {
            let low = rounded(15 * waves[start])
            let high = start + 1 < waves.count ? rounded(15 * waves[start + 1]) : 0
            hash.append(UInt8(low | high << 4))
        }
        return hash
    }

    private static func rounded(_ value: Double) -> Int { Int((value + 0.5).rounded(.down)) }

    /// The mean of the colours, each weighed by its alpha, and the mean alpha; all 0 to 1.
    private static func meanColor(_ bitmap: Bitmap) -> (
        red: Double, green: Double, blue: Double, alpha: Double
    ) {
        var (red, green, blue, alpha) = (0, 0, 0, 0)
        for offset in stride(from: 0, to: bitmap.pixels.count, by: 4) {
            let weight = Int(bitmap.pixels[offset + 3])
            red += weight * Int(bitmap.pixels[offset])
            green += weight * Int(bitmap.pixels[offset + 1])
            blue += weight * Int(bitmap.pixels[offset + 2])
            alpha += weight
        }
        let whole = Double(max(1, alpha)) * 255
        return (
            Double(red) / whole, Double(green) / whole, Double(blue) / whole,
            Double(alpha) / Double(255 * bitmap.width * bitmap.height)
        )
    }

    /// The four channels of a picture laid over its own mean colour.
    private struct Planes {
        let width: Int
        let height: Int
        var light: [Double] = []
        var yellow: [Double] = []
        var red: [Double] = []
        var alpha: [Double] = []

        init(_ bitmap: Bitmap, over mean: (red: Double, green: Double, blue: Double, alpha: Double)) {
            width = bitmap.width
            height = bitmap.height
            for offset in stride(from: 0, to: bitmap.pixels.count, by: 4) {
                let opacity = Double(bitmap.pixels[offset + 3]) / 255
                func blend(_ channel: Int, _ under: Double) -> Double {
                    under * (1 - opacity) + opacity * Double(bitmap.pixels[offset + channel]) / 255
                }
                let (r, g, b) = (blend(0, mean.red), blend(1, mean.green), blend(2, mean.blue))
                light.append((r + g + b) / 3)
                yellow.append((r + g) / 2 - b)
                red.append(r - g)
                alpha.append(opacity)
            }
        }

        /// The mean, the largest amplitude, and the amplitudes of the low frequencies, scaled to 0 to 1.
        func transform(_ plane: [Double], across: Int, down: Int) -> (
            mean: Double, scale: Double, waves: [Double]
        ) {
            // Sums along the rows first: the transform is separable, and this is what makes it cheap.
            let rows = (0..<across).map { wave -> [Double] in
                let cosines = Self.cosines(wave, count: width)
                return (0..<height).map { row in
                    Self.product(plane[row * width..<(row + 1) * width], cosines)
                }
            }
            var (mean, scale) = (0.0, 0.0)
            var waves: [Double] = []
            for vertical in 0..<down {
                // The triangle of low frequencies.
                let cosines = Self.cosines(vertical, count: height)
                var horizontal = 0
                while horizontal * down < across * (down - vertical) {
                    let sum = Self.product(rows[horizontal][...], cosines)
                    let amplitude = sum / Double(width * height)
                    if horizontal == 0, vertical == 0 {
                        mean = amplitude
                    } else {
                        waves.append(amplitude)
                        scale = max(scale, abs(amplitude))
                    }
                    horizontal += 1
                }
            }
            // Below this there is only rounding noise, which must not make equal pictures' hashes differ.
            guard scale > 1e-9 else { return (mean, 0, waves.map { _ in 0 }) }
            return (mean, scale, waves.map { 0.5 + 0.5 / scale * $0 })
        }

        private static func cosines(_ wave: Int, count: Int) -> [Double] {
            let step = Double.pi / Double(count) * Double(wave)
            return (0..<count).map { cos(step * (Double($0) + 0.5)) }
        }

        private static func product(_ left: ArraySlice<Double>, _ right: [Double]) -> Double {
            var sum = 0.0
            for (a, b) in zip(left, right) { sum += a * b }
            return sum
        }
    }
}
