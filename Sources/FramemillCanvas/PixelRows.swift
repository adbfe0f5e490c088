internal import FramemillMedia

/// How pixels with alpha meet those below: the formats' own decoders round differently, and the reference of each is
/// followed to the bit.
enum BlendArithmetic: Sendable {
    /// GIF: a pixel is there or it is not.
    case none
    /// libwebp's `BlendPixelNonPremult` (src/demux/anim_decode.c).
    case webp
    /// The APNG specification's sample code, in whole numbers.
    case apng
}

/// One row of a frame, drawn.
enum PixelRows {
    /// `count` indices to colours. A colour of 0 leaves what is below, unless `isOpaque`: then every pixel is written.
    /// - Parameter palette: 256 colours.
    @inline(__always)
    static func map(
        _ source: UnsafePointer<UInt8>, count: Int, palette: UnsafePointer<UInt32>,
        to target: UnsafeMutableRawPointer, isOpaque: Bool
    ) {
        if isOpaque {
            unsafe opaque(source, count, palette, target)
        } else {
            unsafe transparent(source, count, palette, target)
        }
    }

    /// Eight indices a load, two pixels a store: the palette lookups are the cost, and they stay independent.
    @inline(__always)
    private static func opaque(
        _ source: UnsafePointer<UInt8>, _ count: Int, _ palette: UnsafePointer<UInt32>,
        _ target: UnsafeMutableRawPointer
    ) {
        var x = 0
        while x &+ 8 <= count {
            let eight = unsafe UnsafeRawPointer(source + x).loadUnaligned(as: UInt64.self)
            var pair = 0
            while pair < 4 {
                let two = eight &>> UInt64(truncatingIfNeeded: pair &* 16)
                let low = unsafe UInt64(palette[Int(truncatingIfNeeded: two & 255)])
                let high = unsafe UInt64(palette[Int(truncatingIfNeeded: two &>> 8 & 255)])
                unsafe (target + (x &+ pair &* 2) &* 4).storeBytes(of: low | high &<< 32, as: UInt64.self)
                pair &+= 1
            }
            x &+= 8
        }
        while x < count {
            unsafe (target + x &* 4).storeBytes(of: palette[Int(source[x])], as: UInt32.self)
            x &+= 1
        }
    }

    /// Maps a few hundred pixels into the first-level cache, then selects eight at a time: no branch a pixel.
    private static func transparent(
        _ source: UnsafePointer<UInt8>, _ count: Int, _ palette: UnsafePointer<UInt32>,
        _ target: UnsafeMutableRawPointer
    ) {
        unsafe withUnsafeTemporaryAllocation(byteCount: 1024, alignment: 16) { mapped in
            let colors = mapped.baseAddress!
            var x = 0
            while x < count {
                let part = min(256, count &- x)
                unsafe opaque(source + x, part, palette, colors)
                let below = unsafe target + x &* 4
                var done = 0
                while done &+ 8 <= part {
                    let new = unsafe (colors + done &* 4).loadUnaligned(as: SIMD8<Int32>.self)
                    let old = unsafe (below + done &* 4).loadUnaligned(as: SIMD8<Int32>.self)
                    // The sign is alpha's top bit: all ones where a pixel is drawn. (`replacing(with:where:)` is
                    // compiled to a branch a lane.)
                    let drawn = new | (old & ~(new &>> 31))
                    unsafe (below + done &* 4).storeBytes(of: drawn, as: SIMD8<Int32>.self)
                    done &+= 8
                }
                while done < part {
                    let new = unsafe (colors + done &* 4).load(as: UInt32.self)
                    if new != 0 { unsafe (below + done &* 4).storeBytes(of: new, as: UInt32.self) }
                    done &+= 1
                }
                x &+= part
            }
        }
    }

    /// `count` pixels R, G, B, A over as many of the same.
    static func blend(
        _ pixels: UnsafeRawPointer, count: Int, to target: UnsafeMutableRawPointer,
        _ arithmetic: BlendArithmetic
    ) {
        for x in 0..<count {
            // Both sides hold `count` pixels, by the caller's word.
            let source = unsafe pixels.loadUnaligned(fromByteOffset: x * 4, as: UInt32.self)
            let place = unsafe target + x * 4
            let below = unsafe place.loadUnaligned(as: UInt32.self)
            let alpha = source >> 24
            if alpha == 255 || alpha > 0 && below >> 24 == 0 && arithmetic != .webp {
                unsafe place.storeBytes(of: source, as: UInt32.self)
            } else if alpha > 0 {
                let mixed = arithmetic == .webp ? webp(source, below) : apng(source, below)
                unsafe place.storeBytes(of: mixed, as: UInt32.self)
            }
        }
    }

    /// Not exact even on a transparent pixel, where it makes 16, 16, 16, 3 of 17, 17, 17, 3; so libwebp has it.
    private static func webp(_ source: UInt32, _ below: UInt32) -> UInt32 {
        let alpha = source >> 24
        let rest = ((below >> 24) * (256 - alpha)) >> 8
        let sum = alpha + rest
        let scale = (1 << 24) / sum
        var mixed = sum << 24
        for shift in [UInt32(0), 8, 16] {
            let both = (source >> shift & 255) * alpha + (below >> shift & 255) * rest
            // At most 255 * 255 * 2^24 / 255: 32 bits hold it (libwebp's own argument).
            mixed |= ((both * scale) >> 24) << shift
        }
        return mixed
    }

    private static func apng(_ source: UInt32, _ below: UInt32) -> UInt32 {
        let alpha = source >> 24
        let (over, under) = (alpha * 255, (255 - alpha) * (below >> 24))
        let sum = over + under
        var mixed = (sum / 255) << 24
        for shift in [UInt32(0), 8, 16] {
            let both = (source >> shift & 255) * over + (below >> shift & 255) * under
            mixed |= (both / sum) << shift
        }
        return mixed
    }
}
