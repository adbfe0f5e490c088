internal import FramemillMedia

/// A picture at its final size, in the form that the way into its file is shortest from.
enum SmallPicture: Sendable {
    case pixels(Bitmap)
    /// Video on its way into a JPEG.
    case planes(YCbCrPicture)

    func upright(orientation: Int) -> SmallPicture {
        switch self {
        case .pixels(let bitmap): .pixels(Geometry.upright(bitmap, orientation: orientation))
        case .planes(let picture): .planes(picture.upright(orientation: orientation))
        }
    }

    var size: (width: Int, height: Int) {
        switch self {
        case .pixels(let bitmap): (bitmap.width, bitmap.height)
        case .planes(let picture): (picture.width, picture.height)
        }
    }

    var bitmap: Bitmap {
        switch self {
        case .pixels(let bitmap): bitmap
        case .planes(let picture): picture.bitmap()
        }
    }

    /// At most 100 pixels on the longest side: what placeholders are computed from.
    var sketch: Bitmap {
        switch self {
        case .pixels(let bitmap): bitmap.shrunken(toLongestSide: 100)
        case .planes(let picture): picture.bitmap(longestSide: 100)
        }
    }
}
