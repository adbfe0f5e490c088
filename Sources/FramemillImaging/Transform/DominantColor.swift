internal import FramemillMedia

/// The colour that most of a picture has.
///
/// Pixels are sorted into 4096 boxes by the upper half of each channel; the answer is the mean of the fullest box. A
/// mean over everything would be grey for most photos, and finer boxes would split one sky over many.
enum DominantColor {
    /// `#rrggbb`. Pixels that are less than half opaque do not count; where none counts, black.
    static func hex(_ bitmap: Bitmap) -> String {
        var boxes = [(count: Int, red: Int, green: Int, blue: Int)](repeating: (0, 0, 0, 0), count: 4096)
        // About 10,000 pixels tell as much as all of them; an odd step does not fall into the rhythm of the columns.
        let step = (bitmap.pixels.count / 4 / 10_000) | 1
        for offset in stride(from: 0, to: bitmap.pixels.count, by: 4 * step)
        where bitmap.pixels[offset + 3] >= 128 {
            let (red, green, blue) = (
                Int(bitmap.pixels[offset]), Int(bitmap.pixels[offset + 1]), Int(bitmap.pixels[offset + 2])
            )
            let box = (red >> 4) << 8 | (green >> 4) << 4 | blue >> 4
            boxes[box].count += 1
            boxes[box].red += red
            boxes[box].green += green
            boxes[box].blue += blue
        }
        guard let fullest = boxes.max(by: { $0.count < $1.count }), fullest.count > 0 else {
            return "#000000"
        }
        func two(_ sum: Int) -> String {
            let text = String((sum + fullest.count / 2) / fullest.count, radix: 16)
            return text.count < 2 ? "0\(text)" : text
        }
        return "#\(two(fullest.red))\(two(fullest.green))\(two(fullest.blue))"
    }
}
