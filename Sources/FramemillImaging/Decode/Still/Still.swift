// Still pictures: what a file's header says, and its one picture. One file a format; the switch below is all that
// joins them. Nothing here turns, fits or encodes.

internal import FramemillEngine
internal import FramemillMedia

/// One decoded picture, as it is stored: `orientation` says how it is meant to be shown.
struct StillPicture {
    var bitmap: Bitmap
    /// EXIF orientation, 1 to 8.
    var orientation: Int
    /// `storedWidth` and `storedHeight` are those of the file, also where a smaller bitmap was decoded.
    var facts: Facts
}

/// What a header tells.
typealias StillHeader = (facts: Facts, orientation: Int)

enum Still {
    /// Decodes the picture: of a GIF or animated WebP or AVIF its first frame, of an APNG its default image (which a
    /// viewer without animation shows, and which broken animation chunks can't spoil).
    ///
    /// - Parameter targetBox: what the upright result must still cover in both directions. JPEG and WebP then may be
    ///   decoded smaller, which is faster; never smaller than that. `nil` is full size.
    static func decode(
        _ format: Format, _ reader: any ByteReader, limits: Limits, stop: Stop,
        targetBox: (width: Int, height: Int)?
    ) throws(Failure) -> StillPicture {
        // Nothing is read before a decoder asks, and a GIF's reads by itself.
        let source = SourceBytes(reader, limits: limits, stop: stop)
        var picture =
            switch format {
            case .jpeg: try JPEGDecoding.decode(source, targetBox: targetBox)
            case .png: try PNGDecoding.decode(source)
            case .gif: try GIFCover.decode(reader, limits: limits, stop: stop)
            case .webp: try WebPDecoding.decode(source, targetBox: targetBox)
            case .avif: try AVIFDecoding.decode(source)
            case .heic, .container, .text, .empty: throw refusal(format)
            }
        sayPictureUsed(&picture.facts)
        return picture
    }

    /// What the picture's header says; reads no further than that where the format allows.
    static func facts(
        _ format: Format, _ reader: any ByteReader, limits: Limits, stop: Stop
    ) throws(Failure) -> StillHeader {
        let source = SourceBytes(reader, limits: limits, stop: stop)
        var header =
            switch format {
            case .jpeg: try JPEGDecoding.facts(source)
            case .png: try PNGDecoding.facts(source)
            case .gif: try GIFCover.facts(reader, limits: limits, stop: stop)
            case .webp: try WebPDecoding.facts(source)
            case .avif: try AVIFDecoding.facts(source)
            case .heic, .container, .text, .empty: throw refusal(format)
            }
        sayPictureUsed(&header.facts)
        return header
    }

    /// An animation's cover is its first frame, where the format knows no other picture.
    private static func sayPictureUsed(_ facts: inout Facts) {
        if facts.animated, facts.pictureUsed == nil { facts.pictureUsed = .firstFrame }
    }

    /// Asks `Limits.pixelsPerFrame` about a size that a header names, before anything is allocated for it.
    static func admit(width: Int, height: Int, limits: Limits) throws(Failure) {
        guard width > 0, height > 0 else {
            throw Failure(.zeroDimensions, .probe, "the picture says it is \(width) x \(height) pixels")
        }
        let (pixels, overflow) = width.multipliedReportingOverflow(by: height)
        guard overflow || pixels > limits.pixelsPerFrame else { return }
        let product = overflow ? "" : " = \(megapixels(pixels))"
        let most = megapixels(limits.pixelsPerFrame)
        throw Failure(
            .tooLarge, .probe, "\(width) x \(height)\(product) exceeds \(most) (Limits.pixelsPerFrame)")
    }

    private static func megapixels(_ pixels: Int) -> String {
        pixels < 1_000_000 ? "\(pixels) px" : "\((pixels + 500_000) / 1_000_000) Mpx"
    }

    static func refusal(_ format: Format) -> Failure {
        switch format {
        case .heic:
            Failure(
                .unsupportedFormat, .probe,
                "HEIC pictures are not decoded (no free decoder is linked); JPEG, PNG, WebP, GIF and AVIF are"
            )
        case .empty: Failure(.empty, .probe, "the source has no bytes")
        default: Failure(.notMedia, .probe, "the bytes are not of a still picture format")
        }
    }
}
