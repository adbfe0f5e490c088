/// One row of three components: samples as a stream stores them, or red, green and blue of 0 ... 255.
struct SampleRow: ~Copyable {
    var first: [Float]
    var second: [Float]
    var third: [Float]
    let count: Int

    init(count: Int) {
        self.count = count
        first = [Float](repeating: 0, count: count)
        second = first
        third = first
    }

    /// Each pointer is good for `count` elements while `body` runs.
    @unsafe func withPointers(
        _ body: (UnsafePointer<Float>, UnsafePointer<Float>, UnsafePointer<Float>) -> Void
    ) {
        guard count > 0 else { return }
        unsafe first.withUnsafeBufferPointer { first in
            unsafe second.withUnsafeBufferPointer { second in
                unsafe third.withUnsafeBufferPointer { third in
                    unsafe body(first.baseAddress!, second.baseAddress!, third.baseAddress!)
                }
            }
        }
    }

    /// As `withPointers`, to be written.
    @unsafe mutating func withMutablePointers(
        _ body: (
            UnsafeMutablePointer<Float>, UnsafeMutablePointer<Float>, UnsafeMutablePointer<Float>
        ) -> Void
    ) {
        guard count > 0 else { return }
        unsafe first.withUnsafeMutableBufferPointer { first in
            unsafe second.withUnsafeMutableBufferPointer { second in
                unsafe third.withUnsafeMutableBufferPointer { third in
                    unsafe body(first.baseAddress!, second.baseAddress!, third.baseAddress!)
                }
            }
        }
    }
}

/// The byte nearest to a value, clamped.
///
/// Adding 2^23 leaves the rounded value in the lowest bits of a float. `UInt8(value)` would check for overflow, which
/// keeps the compiler from doing eight at once.
@inline(__always) func byte(_ value: Float) -> UInt8 {
    UInt8(truncatingIfNeeded: (min(255, max(0, value)) + 8_388_608).bitPattern)
}
