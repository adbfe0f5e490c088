// PNG through libpng, behind the shim that contains its jumps. Deflate's level, its strategy and the row filter are
// chosen by content: on photos, Paeth with Huffman coding alone takes a sixth of the time of libpng's defaults for
// 1.4% more bytes; on drawings and screenshots matching runs are what makes the file small.

internal import CImage
internal import FramemillMedia

enum PNGEncoding {
    /// - Parameter effort: 0 (fast) to 6 (small); `nil` chooses by content.
    static func encode(_ bitmap: Bitmap, effort: Int?) throws(Failure) -> [UInt8] {
        let choice = Choice(bitmap, effort: effort)
        var message = [CChar](repeating: 0, count: 128)
        var length = 0
        // The shim reads `height` rows of `width * 4` bytes, which a bitmap holds, and ends its text with a zero inside
        // the 128 bytes given. The buffer that it hands out is ours to free.
        let buffer = unsafe bitmap.pixels.withUnsafeBufferPointer {
            unsafe framemill_png_encode(
                $0.baseAddress, UInt32(bitmap.width), UInt32(bitmap.height), bitmap.hasAlpha ? 1 : 0,
                choice.level,
                choice.strategy, choice.filter, &length, &message, message.count)
        }
        guard let buffer = unsafe buffer else {
            let words = String(
                decoding: message.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            throw Failure(.internalError, .encode, "libpng could not encode the picture", cause: words)
        }
        defer { unsafe free(buffer) }
        return unsafe [UInt8](UnsafeBufferPointer(start: buffer, count: length))
    }

    private struct Choice {
        var level: Int32
        /// 0 zlib's default, 2 Huffman only.
        var strategy: Int32
        var filter: Int32

        init(_ bitmap: Bitmap, effort: Int?) {
            let isDrawn = Choice.isDrawn(bitmap)
            let (none, paeth, all): (Int32, Int32, Int32) = (0x08, 0x80, 0xF8)
            switch (effort, isDrawn) {
            case (nil, false): (level, strategy, filter) = (1, 2, paeth)
            case (nil, true): (level, strategy, filter) = (6, 0, none)
            case (let effort?, false):
                (level, strategy, filter) = effort < 2 ? (1, 2, paeth) : (Int32(effort) + 3, 0, all)
            case (let effort?, true): (level, strategy, filter) = (Int32(max(1, effort + 3)), 0, none)
            }
        }

        /// At least half of the pixels equal their left neighbour: a drawing, a screenshot, a blank.
        private static func isDrawn(_ bitmap: Bitmap) -> Bool {
            var (same, seen) = (0, 0)
            // Every fourth row tells as much as all.
            for row in stride(from: 0, to: bitmap.height, by: 4) {
                let start = row * bitmap.width * 4
                seen += bitmap.width - 1
                for offset in stride(from: start + 4, to: start + bitmap.width * 4, by: 4)
                where bitmap.pixels[offset] == bitmap.pixels[offset - 4]
                    && bitmap.pixels[offset + 1] == bitmap.pixels[offset - 3]
                    && bitmap.pixels[offset + 2] == bitmap.pixels[offset - 2]
                    && bitmap.pixels[offset + 3] == bitmap.pixels[offset - 1]
                {
                    same += 1
                }
            }
            return same * 2 >= seen
        }
    }
}
