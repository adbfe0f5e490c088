// Shrinks one plane of samples by averaging the area that each result pixel covers. Every source sample is read once,
// row after row, into one row of sums: memory is a row, whatever the picture's size. At one to one it copies; below
// (chroma of a subsampled picture at full size) it repeats, which is what swscale does.
//
// Not swscale: it shifts chroma by a fraction of a sample at odd sizes, shrinks before it converts in one pass with
// fewer bits, and its fast paths point-sample.

internal import FramemillMedia

/// A plane of 8- or 16-bit samples as libav or a bitmap lays it out.
@safe struct Plane {
    let base: UnsafeRawPointer
    let strideBytes: Int
    let width: Int
    let height: Int
    /// 1 or 2.
    let bytesPerSample: Int
    /// Samples from one to the next of the same component: 1 for planar, 2 for the chroma of NV12.
    let step: Int
    /// Bits to drop from the low end (P010 keeps its 10 bits at the top).
    let shift: Int
}

/// Which samples one result pixel covers, along one axis.
struct Footprints {
    let first: [Int32]
    let last: [Int32]
    let firstWeight: [Float]
    let lastWeight: [Float]
    /// 1 / covered length.
    let norm: [Float]
    let isCopy: Bool

    /// - Parameters: the part `start ..< start + length` of `count` samples, cut into `pieces`.
    init(start: Double, length: Double, count: Int, pieces: Int) {
        var first: [Int32] = []
        var last: [Int32] = []
        var firstWeight: [Float] = []
        var lastWeight: [Float] = []
        var norm: [Float] = []
        isCopy = pieces == count && abs(start) < 1e-9 && abs(length - Double(count)) < 1e-9
        let unit = length / Double(pieces)
        for piece in 0..<pieces {
            let from = min(max(0, start + Double(piece) * unit), Double(count) - 1e-6)
            let to = min(max(from + 1e-6, start + Double(piece + 1) * unit), Double(count))
            let low = min(count - 1, Int(from + 1e-7))
            let high = max(low, min(count - 1, Int((to - 1e-7).rounded(.down))))
            let headWeight = high == low ? max(1e-6, to - from) : Double(low + 1) - from
            let tailWeight = high == low ? 0 : to - Double(high)
            let total = headWeight + tailWeight + Double(max(0, high - low - 1))
            first.append(Int32(low))
            last.append(Int32(high))
            firstWeight.append(Float(headWeight))
            lastWeight.append(Float(tailWeight))
            norm.append(Float(1 / total))
        }
        self.first = first
        self.last = last
        self.firstWeight = firstWeight
        self.lastWeight = lastWeight
        self.norm = norm
    }
}

/// Gives the rows of one shrunk plane from top to bottom.
struct AreaReducer {
    private let plane: Plane
    private let across: Footprints
    private let down: Footprints
    /// Weighted column sums of the rows under one result row.
    private var sums: [Float]
    /// Whole rows first gather here: integer adds are the inner loop.
    private var whole: [UInt32]

    init(_ plane: Plane, across: Footprints, down: Footprints) {
        self.plane = plane
        self.across = across
        self.down = down
        sums = [Float](repeating: 0, count: plane.width)
        whole = [UInt32](repeating: 0, count: plane.width)
    }

    /// Writes result row `y`, in sample units of the source, to `row`.
    mutating func row(_ y: Int, into row: inout [Float]) {
        let first = Int(down.first[y])
        let last = Int(down.last[y])
        // Near one to one a result row covers two source rows at most: nothing to add up first.
        let between = last - first > 1
        if between {
            unsafe whole.withUnsafeMutableBufferPointer { unsafe $0.update(repeating: 0) }
            for line in first + 1..<last { addWhole(line) }
        }
        startSums(first, down.firstWeight[y], withWhole: between)
        if last > first, down.lastWeight[y] > 0 { addSums(last, down.lastWeight[y]) }
        gather(down.norm[y], into: &row)
    }

    /// Sums along the row, where pieces cover more than one sample.
    private func gather(_ scale: Float, into row: inout [Float]) {
        let pieces = across.first.count
        precondition(row.count >= pieces)
        unsafe sums.withUnsafeBufferPointer { sums in
            unsafe row.withUnsafeMutableBufferPointer { row in
                // Footprints were cut to 0 ..< plane.width, the length of `sums`; `row` holds `pieces`.
                if across.isCopy {
                    for x in 0..<pieces { unsafe row[x] = sums[x] * scale }
                    return
                }
                for x in 0..<pieces {
                    let low = Int(across.first[x])
                    let high = Int(across.last[x])
                    var sum = unsafe sums[low] * across.firstWeight[x]
                    if high > low {
                        var column = low + 1
                        while column < high {
                            unsafe sum += sums[column]
                            column &+= 1
                        }
                        unsafe sum += sums[high] * across.lastWeight[x]
                    }
                    unsafe row[x] = sum * across.norm[x] * scale
                }
            }
        }
    }

    /// Adds a whole source row to the integer sums. 16-bit samples of 65,536 rows still fit 32 bits.
    private mutating func addWhole(_ line: Int) {
        let width = plane.width
        let step = plane.step
        // The plane promises `height` rows of `width * step` samples at `strideBytes`.
        let source = unsafe plane.base + line * plane.strideBytes
        unsafe whole.withUnsafeMutableBufferPointer { whole in
            if plane.bytesPerSample == 1 {
                let samples = unsafe source.assumingMemoryBound(to: UInt8.self)
                if step == 1 {
                    for x in 0..<width { unsafe whole[x] &+= UInt32(samples[x]) }
                } else {
                    for x in 0..<width { unsafe whole[x] &+= UInt32(samples[x &* step]) }
                }
            } else {
                let samples = unsafe source.assumingMemoryBound(to: UInt16.self)
                let shift = UInt32(plane.shift)
                for x in 0..<width { unsafe whole[x] &+= UInt32(samples[x &* step]) &>> shift }
            }
        }
    }

    /// The sums are those of the whole rows, or nothing, and a share of row `line`.
    private mutating func startSums(_ line: Int, _ weight: Float, withWhole: Bool) {
        unsafe sums.withUnsafeMutableBufferPointer { sums in
            unsafe whole.withUnsafeBufferPointer { whole in
                // Both hold `plane.width`.
                if withWhole {
                    for x in 0..<plane.width { unsafe sums[x] = Float(whole[x]) }
                } else {
                    unsafe sums.update(repeating: 0)
                }
            }
        }
        addSums(line, weight)
    }

    private mutating func addSums(_ line: Int, _ weight: Float) {
        let width = plane.width
        let step = plane.step
        // As in `addWhole`.
        let source = unsafe plane.base + line * plane.strideBytes
        unsafe sums.withUnsafeMutableBufferPointer { sums in
            if plane.bytesPerSample == 1 {
                let samples = unsafe source.assumingMemoryBound(to: UInt8.self)
                if step == 1 {
                    for x in 0..<width { unsafe sums[x] += Float(samples[x]) * weight }
                } else {
                    for x in 0..<width { unsafe sums[x] += Float(samples[x &* step]) * weight }
                }
            } else {
                let samples = unsafe source.assumingMemoryBound(to: UInt16.self)
                let shift = UInt16(plane.shift)
                for x in 0..<width { unsafe sums[x] += Float(samples[x &* step] &>> shift) * weight }
            }
        }
    }
}
