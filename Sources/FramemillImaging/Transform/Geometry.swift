// Orientation is kept as the EXIF number, 1 to 8: it can express the four reflections, which an angle cannot.
//   1 as stored          2 mirrored left-right    3 half turn              4 mirrored top-bottom
//   5 transposed         6 quarter turn clockwise 7 anti-transposed        8 quarter turn counter-clockwise

internal import FramemillMedia

enum Geometry {
    /// The orientation that a display matrix means. `(x, y)` maps to `(ax + cy, bx + dy)` (ISO/IEC 14496-12, 6.2.2).
    ///
    /// A matrix more than about 10 degrees off a quarter turn is left as stored: to turn it would cut corners.
    static func orientation(a: Int32, b: Int32, c: Int32, d: Int32) -> Int {
        let (a, b, c, d) = (Double(a), Double(b), Double(c), Double(d))
        let straight = max(abs(b), abs(c)) <= 0.18 * min(abs(a), abs(d))
        let turned = max(abs(a), abs(d)) <= 0.18 * min(abs(b), abs(c))
        if straight {
            switch (a > 0, d > 0) {
            case (true, true): return 1
            case (false, true): return 2
            case (false, false): return 3
            case (true, false): return 4
            }
        }
        if turned {
            switch (b > 0, c > 0) {
            case (true, true): return 5
            case (true, false): return 6
            case (false, false): return 7
            case (false, true): return 8
            }
        }
        return 1
    }

    static func swapsSides(_ orientation: Int) -> Bool { orientation >= 5 }

    /// Degrees clockwise, and whether a mirror comes first.
    static func words(_ orientation: Int) -> (rotation: Int, mirrored: Bool) {
        switch orientation {
        case 2: (0, true)
        case 3: (180, false)
        case 4: (180, true)
        case 5: (270, true)
        case 6: (90, false)
        case 7: (90, true)
        case 8: (270, false)
        default: (0, false)
        }
    }

    /// Where the upright pixel `(x, y)` lies in a stored picture of `width` x `height`, all in continuous coordinates.
    static func stored(
        x: Double, y: Double, orientation: Int, width: Double, height: Double
    ) -> (x: Double, y: Double) {
        switch orientation {
        case 2: (width - x, y)
        case 3: (width - x, height - y)
        case 4: (x, height - y)
        case 5: (y, x)
        case 6: (y, height - x)
        case 7: (width - y, height - x)
        case 8: (width - y, x)
        default: (x, y)
        }
    }

    /// Turns a stored picture upright.
    static func upright(_ bitmap: Bitmap, orientation: Int) -> Bitmap {
        guard (2...8).contains(orientation) else { return bitmap }
        let (width, height) = (bitmap.width, bitmap.height)
        let pixels = upright(
            bitmap.pixels[...], bytesPerPixel: 4, width: width, height: height, orientation: orientation)
        return swapsSides(orientation)
            ? Bitmap(width: height, height: width, pixels: pixels, hasAlpha: bitmap.hasAlpha)
            : Bitmap(width: width, height: height, pixels: pixels, hasAlpha: bitmap.hasAlpha)
    }

    /// The same for the rows of any plane.
    static func upright(
        _ stored: ArraySlice<UInt8>, bytesPerPixel: Int, width: Int, height: Int, orientation: Int
    ) -> [UInt8] {
        let (outWidth, outHeight) = swapsSides(orientation) ? (height, width) : (width, height)
        // The step between neighbours of an upright row, and the start of each row, in stored pixels.
        func index(_ x: Int, _ y: Int) -> Int {
            switch orientation {
            case 2: y * width + (width - 1 - x)
            case 3: (height - 1 - y) * width + (width - 1 - x)
            case 4: (height - 1 - y) * width + x
            case 5: x * width + y
            case 6: (height - 1 - x) * width + y
            case 7: (height - 1 - x) * width + (width - 1 - y)
            case 8: x * width + (width - 1 - y)
            default: y * width + x
            }
        }
        let step = outWidth > 1 ? index(1, 0) - index(0, 0) : 0
        var pixels = [UInt8](repeating: 0, count: stored.count)
        for y in 0..<outHeight {
            var from = stored.startIndex + index(0, y) * bytesPerPixel
            var to = y * outWidth * bytesPerPixel
            for _ in 0..<outWidth {
                for byte in 0..<bytesPerPixel { pixels[to + byte] = stored[from + byte] }
                to += bytesPerPixel
                from += step * bytesPerPixel
            }
        }
        return pixels
    }
}
