// A picture as JPEG keeps it. A cover made from video goes from the shrunk planes to these and from these into the
// file: it is never stored as RGB on the way.
//
// The road not taken: planes to planes by one matrix, or by swscale. swscale from YUV to JPEG's YUV leaves the matrix
// out, so BT.709 video comes out with the colours of BT.601; one matrix leaves out the clamp, so samples that no display
// can show (a limited-range white of 254, say) shift their neighbours' hue. So a row goes through clamped red, green and
// blue after all, as floats: exact, and still cheaper than the bytes that TurboJPEG would have to take apart again.

internal import FramemillMedia

/// An opaque picture in the Y, Cb, Cr of JFIF: ITU-R BT.601, full range, one byte a sample, chroma as large as luma.
struct YCbCrPicture: Sendable, Equatable {
    let width: Int
    let height: Int
    /// The planes one after the other, `width * height` bytes each.
    private(set) var samples: [UInt8]

    init(width: Int, height: Int) {
        self.init(width: width, height: height, samples: [UInt8](repeating: 0, count: width * height * 3))
    }

    private init(width: Int, height: Int, samples: [UInt8]) {
        (self.width, self.height, self.samples) = (width, height, samples)
    }

    /// Sets row `y` from `width` colours of 0 ... 255.
    mutating func set(_ y: Int, _ colors: borrowing SampleRow) {
        let (width, area) = (width, width * height)
        precondition(y < height && colors.count == width)
        unsafe samples.withUnsafeMutableBufferPointer { samples in
            unsafe colors.withPointers { red, green, blue in
                // Row `y` of three planes, and three rows of colours: `width` elements each, as asked above.
                let luma = unsafe samples.baseAddress! + y * width
                let (cb, cr) = unsafe (luma + area, luma + 2 * area)
                for x in 0..<width {
                    // JFIF 1.02, "Conversion to and from RGB".
                    let (r, g, b) = unsafe (red[x], green[x], blue[x])
                    unsafe luma[x] = byte(0.299 * r + 0.587 * g + 0.114 * b)
                    unsafe cb[x] = byte(-0.168736 * r - 0.331264 * g + 0.5 * b + 128)
                    unsafe cr[x] = byte(0.5 * r - 0.418688 * g - 0.081312 * b + 128)
                }
            }
        }
    }

    func upright(orientation: Int) -> YCbCrPicture {
        guard (2...8).contains(orientation) else { return self }
        let planes = (0..<3).flatMap { plane in
            Geometry.upright(
                samples[plane * width * height..<(plane + 1) * width * height], bytesPerPixel: 1,
                width: width,
                height: height, orientation: orientation)
        }
        return Geometry.swapsSides(orientation)
            ? YCbCrPicture(width: height, height: width, samples: planes)
            : YCbCrPicture(width: width, height: height, samples: planes)
    }

    /// As RGBA, shrunk until neither side is longer than `side`.
    func bitmap(longestSide side: Int = .max) -> Bitmap {
        let size = Resampler.size(width, height, longestSide: side) ?? (width, height)
        let model = ColorModel(
            weights: ColorModel.bt601, isFullRange: true, bits: 8, isGrey: false, curve: .sdr)
        return unsafe samples.withUnsafeBytes { bytes in
            let planes = (0..<3).map { index in
                // `samples` holds the three planes for the length of this closure, and the planes stay in it.
                unsafe Plane(
                    base: bytes.baseAddress! + index * width * height, strideBytes: width, width: width,
                    height: height, bytesPerSample: 1, step: 1, shift: 0)
            }
            var reducer = PlaneReducer(
                planes, across: (0, Double(width)), down: (0, Double(height)), width: size.width,
                height: size.height)
            return reducer.bitmap(ColorConverter(model))
        }
    }
}
