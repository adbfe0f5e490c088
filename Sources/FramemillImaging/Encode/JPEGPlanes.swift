/// Three planes as TurboJPEG reads them: 4:4:4, or 4:2:0 with luma's sides rounded up to even ones.
struct JPEGPlanes {
    /// Of the picture, without what was added to make its sides even.
    let width: Int
    let height: Int
    let samples: [UInt8]
    /// Where in `samples` each plane starts, and how far its rows are apart.
    let starts: [Int]
    let strides: [Int32]
}

extension YCbCrPicture {
    /// 4:4:4.
    func whole() -> JPEGPlanes {
        JPEGPlanes(
            width: width, height: height, samples: samples, starts: [0, width * height, 2 * width * height],
            strides: [Int32](repeating: Int32(width), count: 3))
    }

    /// 4:2:0, each chroma sample the mean of four, so in their middle: where JFIF places it. At odd sides the last column
    /// and row are repeated, as a JPEG encoder does.
    func halved() -> JPEGPlanes {
        let (halfWidth, halfHeight) = ((width + 1) / 2, (height + 1) / 2)
        let (lumaWidth, lumaCount, chromaCount) = (
            2 * halfWidth, 4 * halfWidth * halfHeight, halfWidth * halfHeight
        )
        let total = lumaCount + 2 * chromaCount
        let planes = unsafe [UInt8](unsafeUninitializedCapacity: total) { target, count in
            unsafe samples.withUnsafeBufferPointer { source in
                // The source holds three planes of `width * height`, the target has room for `total`; every row and
                // column below is one of theirs, and all of the target is written.
                let (from, to) = (source.baseAddress!, target.baseAddress!)
                for y in 0..<2 * halfHeight {
                    let row = unsafe to + y * lumaWidth
                    unsafe row.update(from: from + min(y, height - 1) * width, count: width)
                    if lumaWidth > width { unsafe row[width] = row[width - 1] }
                }
                for plane in 0..<2 {
                    let chroma = unsafe from + (plane + 1) * width * height
                    for y in 0..<halfHeight {
                        unsafe halve(
                            chroma + 2 * y * width, chroma + min(2 * y + 1, height - 1) * width,
                            // Up and down in turns, so that halves do not brighten the whole.
                            rounding: y % 2 + 1, into: to + lumaCount + plane * chromaCount + y * halfWidth)
                    }
                }
            }
            count = total
        }
        return JPEGPlanes(
            width: width, height: height, samples: planes, starts: [0, lumaCount, lumaCount + chromaCount],
            strides: [Int32(lumaWidth), Int32(halfWidth), Int32(halfWidth)])
    }

    /// One row of means from two rows of `width`.
    @unsafe private func halve(
        _ top: UnsafePointer<UInt8>, _ bottom: UnsafePointer<UInt8>, rounding: Int,
        into row: UnsafeMutablePointer<UInt8>
    ) {
        let bias = UInt16(rounding)
        for x in 0..<width / 2 {
            // 2x and 2x + 1 are below `width`.
            let upper = unsafe UInt16(top[2 &* x]) &+ UInt16(top[2 &* x &+ 1])
            let lower = unsafe UInt16(bottom[2 &* x]) &+ UInt16(bottom[2 &* x &+ 1])
            unsafe row[x] = UInt8(truncatingIfNeeded: (upper &+ lower &+ bias) &>> 2)
        }
        if width % 2 == 1 {
            let edge = unsafe UInt16(top[width - 1]) &+ UInt16(bottom[width - 1])
            unsafe row[width / 2] = UInt8(truncatingIfNeeded: (2 &* edge &+ bias) &>> 2)
        }
    }
}
