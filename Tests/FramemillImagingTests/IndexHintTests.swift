import FramemillMedia
import Testing

@testable import FramemillImaging

@Suite struct IndexHintTests {
    /// A box may say that it ends at the largest number there is; looking for the next one must not go past it.
    @Test(arguments: [Int64.max, Int64.max - 8, Int64.max - 16])
    func takesABoxThatEndsAtTheLargestNumber(_ end: Int64) {
        let brand: [UInt8] = [0, 0, 0, 16] + Array("ftypisom".utf8) + [0, 0, 0, 0]
        let length = UInt64(end - Int64(brand.count))
        let lengthBytes = stride(from: 56, through: 0, by: -8).map {
            UInt8(truncatingIfNeeded: length >> UInt64($0))
        }
        let head = brand + [0, 0, 0, 1] + Array("free".utf8) + lengthBytes + [UInt8](repeating: 0, count: 64)
        IndexHint.index(head, of: EndlessReader(head))
    }
}
