internal import FramemillMedia

/// Shrinks or enlarges RGBA pictures.
enum Resampler {
    /// The part `plan` names of `bitmap` (stored orientation), at the plan's size before the turn.
    ///
    /// Shrinking averages areas with colours weighted by alpha, so that what is invisible does not bleed. Enlarging
    /// interpolates between the four neighbours.
    static func resize(_ bitmap: Bitmap, plan: Plan, orientation: Int) -> Bitmap {
        let size = plan.sizeBeforeTurn(orientation)
        let across = Footprints(
            start: plan.cropX, length: plan.cropWidth, count: bitmap.width, pieces: size.width)
        let down = Footprints(
            start: plan.cropY, length: plan.cropHeight, count: bitmap.height, pieces: size.height)
        if across.isCopy && down.isCopy { return bitmap }
        if plan.cropWidth < Double(size.width) || plan.cropHeight < Double(size.height) {
            return enlarge(bitmap, plan: plan, width: size.width, height: size.height)
        }
        return shrink(bitmap, across: across, down: down, width: size.width, height: size.height)
    }

    /// What fits in a square of `longestSide`; `nil` where the picture does already.
    static func size(_ width: Int, _ height: Int, longestSide: Int) -> (width: Int, height: Int)? {
        let longest = max(width, height)
        guard longest > longestSide else { return nil }
        func scaled(_ length: Int) -> Int { max(1, (length * longestSide + longest / 2) / longest) }
        return (scaled(width), scaled(height))
    }

    fileprivate static func shrink(
        _ bitmap: Bitmap, across: Footprints, down: Footprints, width: Int, height: Int
    ) -> Bitmap {
        var pixels = [UInt8](repeating: 0, count: width * height * 4)
        var sums = [Float](repeating: 0, count: bitmap.width * 4)
        for y in 0..<height {
            for index in sums.indices { sums[index] = 0 }
            let first = Int(down.first[y])
            let last = Int(down.last[y])
            for line in first...last {
                let weight = line == first ? down.firstWeight[y] : line == last ? down.lastWeight[y] : 1
                if weight > 0 { add(bitmap, line, weight, to: &sums) }
            }
            for x in 0..<width {
                var (red, green, blue, alpha): (Float, Float, Float, Float) = (0, 0, 0, 0)
                let low = Int(across.first[x])
                let high = Int(across.last[x])
                for column in low...high {
                    let weight =
                        column == low ? across.firstWeight[x] : column == high ? across.lastWeight[x] : 1
                    red += sums[column * 4] * weight
                    green += sums[column * 4 + 1] * weight
                    blue += sums[column * 4 + 2] * weight
                    alpha += sums[column * 4 + 3] * weight
                }
                let to = (y * width + x) * 4
                guard alpha > 0 else { continue }
                pixels[to] = byte(red / alpha)
                pixels[to + 1] = byte(green / alpha)
                pixels[to + 2] = byte(blue / alpha)
                pixels[to + 3] = byte(alpha * across.norm[x] * down.norm[y])
            }
        }
        return Bitmap(width: width, height: height, pixels: pixels, hasAlpha: bitmap.hasAlpha)
    }

    /// Adds one source row: colours times alpha, and alpha.
    private static func add(_ bitmap: Bitmap, _ line: Int, _ weight: Float, to sums: inout [Float]) {
        let start = line * bitmap.width * 4
        unsafe bitmap.pixels.withUnsafeBufferPointer { source in
            unsafe sums.withUnsafeMutableBufferPointer { sums in
                // Both hold `width * 4` elements from where they start.
                var index = 0
                while index < sums.count {
                    let alpha = unsafe Float(source[start &+ index &+ 3]) * weight
                    unsafe sums[index] += Float(source[start &+ index]) * alpha
                    unsafe sums[index &+ 1] += Float(source[start &+ index &+ 1]) * alpha
                    unsafe sums[index &+ 2] += Float(source[start &+ index &+ 2]) * alpha
                    unsafe sums[index &+ 3] += alpha
                    index &+= 4
                }
            }
        }
    }

    private static func enlarge(_ bitmap: Bitmap, plan: Plan, width: Int, height: Int) -> Bitmap {
        var pixels = [UInt8](repeating: 0, count: width * height * 4)
        func place(_ piece: Int, _ start: Double, _ length: Double, _ pieces: Int, _ count: Int) -> (
            Int, Int, Float
        ) {
            let center = start + (Double(piece) + 0.5) * length / Double(pieces) - 0.5
            let clamped = min(max(0, center), Double(count - 1))
            let low = Int(clamped)
            return (low, min(count - 1, low + 1), Float(clamped - Double(low)))
        }
        for y in 0..<height {
            let (top, bottom, downShare) = place(y, plan.cropY, plan.cropHeight, height, bitmap.height)
            for x in 0..<width {
                let (left, right, acrossShare) = place(x, plan.cropX, plan.cropWidth, width, bitmap.width)
                var (red, green, blue, alpha): (Float, Float, Float, Float) = (0, 0, 0, 0)
                for (row, rowShare) in [(top, 1 - downShare), (bottom, downShare)] {
                    for (column, columnShare) in [(left, 1 - acrossShare), (right, acrossShare)] {
                        let from = (row * bitmap.width + column) * 4
                        let share = rowShare * columnShare * Float(bitmap.pixels[from + 3])
                        red += Float(bitmap.pixels[from]) * share
                        green += Float(bitmap.pixels[from + 1]) * share
                        blue += Float(bitmap.pixels[from + 2]) * share
                        alpha += share
                    }
                }
                guard alpha > 0 else { continue }
                let to = (y * width + x) * 4
                pixels[to] = byte(red / alpha)
                pixels[to + 1] = byte(green / alpha)
                pixels[to + 2] = byte(blue / alpha)
                pixels[to + 3] = byte(alpha)
            }
        }
        return Bitmap(width: width, height: height, pixels: pixels, hasAlpha: bitmap.hasAlpha)
    }

    private static func byte(_ value: Float) -> UInt8 { UInt8(min(255, max(0, value + 0.5))) }
}

extension Bitmap {
    /// Shrunk until neither side is longer than `side`.
    func shrunken(toLongestSide side: Int) -> Bitmap {
        guard let size = Resampler.size(width, height, longestSide: side) else { return self }
        return Resampler.shrink(
            self, across: Footprints(start: 0, length: Double(width), count: width, pieces: size.width),
            down: Footprints(start: 0, length: Double(height), count: height, pieces: size.height),
            width: size.width, height: size.height)
    }
}
