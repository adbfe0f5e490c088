// A PNG in memory that holds one picture: what libpng's simplified API decodes. Covers and frames of an animation are
// both put together from the chunks of their file, and both come out here.

internal import CImage
internal import FramemillMedia

enum PNGStream {
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// Chunks that change how a picture looks. The rest would only give libpng more to trip over.
    static let colorChunks: Set<String> = ["PLTE", "tRNS", "gAMA", "sRGB", "cHRM"]

    /// Length, type, data, checksum (PNG specification, second edition, section 5.3).
    static func append(_ type: String, _ body: ArraySlice<UInt8>, to stream: inout [UInt8]) {
        stream += big32(UInt32(truncatingIfNeeded: body.count))
        let start = stream.count
        stream += type.utf8
        stream += body
        stream += big32(checksum(stream[start...]))
    }

    static func big32(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
    }

    /// Decodes to R, G, B, A. A fault behind the first row costs only what follows it: `isWhole` is then false, and what
    /// did not come is 0.
    static func decode(
        _ stream: [UInt8], width: Int, height: Int
    ) throws(Failure) -> (pixels: [UInt8], isWhole: Bool) {
        var image = unsafe png_image()
        unsafe image.version = UInt32(PNG_IMAGE_VERSION)
        // Frees what libpng hangs on the struct, also after a failure.
        defer { unsafe png_image_free(&image) }
        return try unsafe stream.lending { bytes throws(Failure) in
            // libpng reads these bytes until `png_image_free`, which runs after this closure but reads none of them.
            guard unsafe png_image_begin_read_from_memory(&image, bytes.baseAddress, bytes.count) != 0 else {
                throw unsafe failure(image)
            }
            guard unsafe Int(image.width) == width, unsafe Int(image.height) == height else {
                throw Failure(.corrupt, .decode, "the PNG has two headers that differ")
            }
            unsafe image.format = UInt32(PNG_FORMAT_FLAG_COLOR) | UInt32(PNG_FORMAT_FLAG_ALPHA)
            // Without this libpng takes 16-bit files that say nothing of gamma to be linear; they never are.
            unsafe image.flags |= UInt32(PNG_IMAGE_FLAG_16BIT_sRGB)
            var pixels = [UInt8](repeating: 0, count: width * height * 4)
            // The stride 0 means rows without padding: exactly what was allocated.
            let done = unsafe pixels.withUnsafeMutableBytes {
                unsafe png_image_finish_read(&image, nil, $0.baseAddress, 0, nil)
            }
            // libpng wrote the rows before the fault: those are right, and worth more than a refusal.
            guard done != 0 || pixels.contains(where: { $0 != 0 }) else { throw unsafe failure(image) }
            return (pixels, done != 0)
        }
    }

    private static func failure(_ image: png_image) -> Failure {
        // A fixed array of the struct that libpng ends with a zero.
        let words = unsafe withUnsafeBytes(of: image.message) {
            unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
        }
        return Failure(.corrupt, .decode, "libpng could not decode the PNG", cause: words)
    }

    /// CRC-32 as annex D of the PNG specification gives it, eight bytes a step: every byte of a frame's data passes.
    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        var crc: UInt32 = 0xFFFF_FFFF
        unsafe tables.withUnsafeBufferPointer { table in
            unsafe bytes.withUnsafeBytes { bytes in
                var at = 0
                // Eight tables of 256, each index one byte; no load reaches past `bytes.count`.
                while at &+ 8 <= bytes.count {
                    var word = unsafe bytes.loadUnaligned(fromByteOffset: at, as: UInt64.self) ^ UInt64(crc)
                    crc = 0
                    var zeros = 1792
                    while zeros >= 0 {
                        crc ^= unsafe table[zeros &+ Int(truncatingIfNeeded: word & 255)]
                        word &>>= 8
                        zeros &-= 256
                    }
                    at &+= 8
                }
                while at < bytes.count {
                    unsafe crc = table[Int((crc ^ UInt32(bytes[at])) & 255)] ^ crc &>> 8
                    at &+= 1
                }
            }
        }
        return ~crc
    }

    /// What a byte makes of the rest, with 0 to 7 more zero bytes behind it.
    private static let tables: [UInt32] = {
        var tables: [UInt32] = []
        for byte in UInt32(0)..<256 {
            var crc = byte
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
            tables.append(crc)
        }
        for index in 256..<2048 {
            let before = tables[index - 256]
            tables.append(tables[Int(before & 255)] ^ before >> 8)
        }
        return tables
    }()
}
