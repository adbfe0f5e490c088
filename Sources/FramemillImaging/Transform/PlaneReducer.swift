internal import FramemillMedia

/// Shrinks the planes of one picture together and gives whole pixels.
struct PlaneReducer {
    private var reducers: [AreaReducer]
    private var alpha: AreaReducer?
    private let width: Int
    private let height: Int

    /// - Parameters: one plane (grey) or three, which may be subsampled; the part of the picture used, as start and
    ///   length in samples of the first plane; the size of the result.
    init(
        _ planes: [Plane], alpha: Plane? = nil, across: (start: Double, length: Double),
        down: (start: Double, length: Double), width: Int, height: Int
    ) {
        let full = planes[0]
        func reducer(_ plane: Plane) -> AreaReducer {
            // A subsampled plane covers the same picture with fewer samples; an odd edge is half covered.
            let stepX = plane.width == full.width ? 1 : Double((full.width + plane.width - 1) / plane.width)
            let stepY =
                plane.height == full.height ? 1 : Double((full.height + plane.height - 1) / plane.height)
            return AreaReducer(
                plane,
                across: Footprints(
                    start: across.start / stepX, length: across.length / stepX, count: plane.width,
                    pieces: width),
                down: Footprints(
                    start: down.start / stepY, length: down.length / stepY, count: plane.height,
                    pieces: height))
        }
        reducers = planes.map(reducer)
        self.alpha = alpha.map(reducer)
        (self.width, self.height) = (width, height)
    }

    mutating func bitmap(_ converter: ColorConverter) -> Bitmap {
        var row = SampleRow(count: width)
        var alphaRow = [Float](repeating: 0, count: alpha == nil ? 0 : width)
        var pixels = [UInt8](repeating: 0, count: width * height * 4)
        for y in 0..<height {
            reduce(y, into: &row)
            alpha?.row(y, into: &alphaRow)
            converter.convert(&row)
            converter.pack(row, alpha: alphaRow, into: &pixels, at: y * width * 4)
        }
        return Bitmap(width: width, height: height, pixels: pixels, hasAlpha: alpha != nil)
    }

    /// Without alpha.
    mutating func planes(_ converter: ColorConverter) -> YCbCrPicture {
        var row = SampleRow(count: width)
        var picture = YCbCrPicture(width: width, height: height)
        for y in 0..<height {
            reduce(y, into: &row)
            converter.convert(&row)
            picture.set(y, row)
        }
        return picture
    }

    private mutating func reduce(_ y: Int, into row: inout SampleRow) {
        reducers[0].row(y, into: &row.first)
        guard reducers.count == 3 else { return }
        reducers[1].row(y, into: &row.second)
        reducers[2].row(y, into: &row.third)
    }
}
