internal import FramemillMedia

/// A finished bitmap into the bytes of a file: sRGB, and nothing of the source but its pixels. No file carries
/// metadata or a colour profile; each of the three formats means sRGB where it says nothing.
///
/// `effort` is 0 (fast) to 6 (small): the method of libwebp, the level of deflate, and from 4 on progressive JPEG.
enum Encoder {
    static func encode(_ picture: SmallPicture, recipe: Recipe) throws(Failure) -> [UInt8] {
        if case .planes(let planes) = picture, recipe.format == .jpeg {
            try check(recipe)
            return try JPEGEncoding.encode(planes, quality: recipe.quality ?? 80, effort: effort(recipe))
        }
        return try encode(picture.bitmap, recipe: recipe)
    }

    static func encode(_ bitmap: Bitmap, recipe: Recipe) throws(Failure) -> [UInt8] {
        try check(recipe)
        switch recipe.format {
        case .jpeg:
            let opaque = bitmap.hasAlpha ? bitmap.flattened(on: recipe.background) : bitmap
            return try JPEGEncoding.encode(opaque, quality: recipe.quality ?? 80, effort: effort(recipe))
        case .png: return try PNGEncoding.encode(bitmap, effort: recipe.effort)
        case .webp: return try WebPEncoding.encode(bitmap, WebPEncoding.Manner(recipe))
        }
    }

    private static func effort(_ recipe: Recipe) -> Int { recipe.effort ?? 2 }

    static func check(_ recipe: Recipe) throws(Failure) {
        if let quality = recipe.quality, !(1...100).contains(quality) {
            throw Failure(.badOption, .encode, "quality \(quality) is not in 1...100")
        }
        if let effort = recipe.effort, !(0...6).contains(effort) {
            throw Failure(.badOption, .encode, "effort \(effort) is not in 0...6")
        }
    }
}

extension Bitmap {
    /// Laid on one colour; opaque.
    func flattened(on background: Recipe.RGB) -> Bitmap {
        let under = [Int(background.red), Int(background.green), Int(background.blue)]
        var pixels = pixels
        for offset in stride(from: 0, to: pixels.count, by: 4) where pixels[offset + 3] != 255 {
            let alpha = Int(pixels[offset + 3])
            for channel in 0..<3 {
                let sum = Int(pixels[offset + channel]) * alpha + under[channel] * (255 - alpha)
                pixels[offset + channel] = UInt8((sum + 127) / 255)
            }
            pixels[offset + 3] = 255
        }
        return Bitmap(width: width, height: height, pixels: pixels, hasAlpha: false)
    }
}
