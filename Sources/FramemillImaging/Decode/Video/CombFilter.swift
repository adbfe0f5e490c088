internal import CFFmpeg

/// Takes the combs out of a picture woven from two fields of different moments.
///
/// The field shown first is kept. A sample of the other is replaced by the mean of its neighbours above and below where
/// it differs from both in the same direction by more than they differ from each other, which still detail seldom
/// does. So a still picture keeps its full height, where dropping a field would halve it.
enum CombFilter {
    /// Levels of 255 below which a difference is noise.
    private static let threshold = 10

    static func repair(_ picture: borrowing AVPicture) {
        guard unsafe av_frame_make_writable(picture.pointer) >= 0, let layout = PixelLayout(picture) else {
            return
        }
        // Of the rows 0, 1, 2…: the odd ones are the later field when the top field comes first.
        let later = unsafe picture.pointer.pointee.top_field_first != 0 ? 1 : 2
        let unit = 1 << (layout.model.bits - 8)
        for plane in layout.planes where plane.height >= 3 {
            for line in stride(from: later, to: plane.height - 1, by: 2) {
                // Writable by the first line, and `line - 1 ... line + 1` are rows of the plane.
                let row = unsafe UnsafeMutableRawPointer(mutating: plane.base) + line * plane.strideBytes
                if plane.bytesPerSample == 1 {
                    unsafe repair(row.assumingMemoryBound(to: UInt8.self), plane, Self.threshold)
                } else {
                    unsafe repair(
                        row.assumingMemoryBound(to: UInt16.self), plane, Self.threshold * unit << plane.shift)
                }
            }
        }
    }

    private static func repair<Sample: FixedWidthInteger>(
        _ row: UnsafeMutablePointer<Sample>, _ plane: Plane, _ threshold: Int
    ) {
        let stride = plane.strideBytes / plane.bytesPerSample
        for column in 0..<plane.width {
            let at = column &* plane.step
            // One row up and one row down, both inside the plane.
            let above = unsafe Int(row[at - stride])
            let here = unsafe Int(row[at])
            let below = unsafe Int(row[at + stride])
            let (up, down) = (here - above, here - below)
            guard up > 0 && down > 0 || up < 0 && down < 0 else { continue }
            let least = min(abs(up), abs(down))
            if least > threshold, abs(above - below) < least { unsafe row[at] = Sample((above + below) / 2) }
        }
    }
}
