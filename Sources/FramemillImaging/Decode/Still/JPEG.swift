// JPEG. The header is walked by hand: it gives the size before TurboJPEG sees a byte, and the orientation, which
// TurboJPEG does not know. Pixels come from TurboJPEG, whose jumps end inside it.

internal import CImage
internal import FramemillEngine
internal import FramemillMedia

enum JPEGDecoding {
    static func facts(_ source: SourceBytes) throws(Failure) -> StillHeader {
        let header = try JPEGHeader(source)
        try Still.admit(width: header.width, height: header.height, limits: source.limits)
        return (header.facts, header.orientation)
    }

    static func decode(_ source: SourceBytes, targetBox: (width: Int, height: Int)?) throws(Failure)
        -> StillPicture
    {
        var (facts, orientation) = try facts(source)
        try source.fillAll()
        try source.stop.check(.decode)
        let turbo = try TurboDecompressor()
        let size = try turbo.readHeader(source.bytes)
        // A second frame header would let the two readers disagree; the limit must hold for the one that decodes.
        try Still.admit(width: size.width, height: size.height, limits: source.limits)
        let shrink = shrink(size.width, size.height, orientation: orientation, targetBox: targetBox)
        let (bitmap, clean) = try turbo.decode(source.bytes, size, shrink: shrink)
        (facts.storedWidth, facts.storedHeight) = (size.width, size.height)
        facts.degraded = !clean
        return StillPicture(bitmap: bitmap, orientation: orientation, facts: facts)
    }

    /// 1, 2, 4 or 8: the DCT scales that libjpeg-turbo has fast code for; the other eighths are slower than whole.
    private static func shrink(
        _ width: Int, _ height: Int, orientation: Int, targetBox: (width: Int, height: Int)?
    ) -> Int {
        guard let box = targetBox, box.width > 0, box.height > 0 else { return 1 }
        let (across, down) = orientation > 4 ? (box.height, box.width) : (box.width, box.height)
        func covers(_ divisor: Int) -> Bool {
            (width + divisor - 1) / divisor >= across && (height + divisor - 1) / divisor >= down
        }
        for divisor in [8, 4, 2] where covers(divisor) { return divisor }
        return 1
    }
}

/// What stands before the first scan.
private struct JPEGHeader {
    var width = 0
    var height = 0
    var orientation = 1
    private var components: [(across: Int, down: Int)] = []
    private var isProgressive = false

    /// Walks the segments up to the frame header (ITU T.81, B.2). What is between segments is skipped, as libjpeg does.
    init(_ source: SourceBytes) throws(Failure) {
        var offset = 2
        var seenExif = false
        while true {
            guard try source.fill(to: offset + 4) else { throw Self.cutShort }
            guard source.byte(offset) == 0xFF else {
                offset += 1
                continue
            }
            let marker = source.byte(offset + 1)
            switch marker {
            case 0xFF:
                offset += 1
                continue
            case 0x00, 0x01, 0xD0...0xD8:
                offset += 2
                continue
            case 0xD9, 0xDA:
                throw Failure(.corrupt, .probe, "the JPEG has no frame header before its picture data")
            default: break
            }
            let length = source.big16(offset + 2)
            guard length >= 2 else { throw Failure(.corrupt, .probe, "a JPEG segment of \(length) bytes") }
            guard try source.fill(to: offset + 2 + length) else { throw Self.cutShort }
            let body = source.bytes[offset + 4..<offset + 2 + length]
            if marker == 0xE1, !seenExif, body.starts(with: Array("Exif\0\0".utf8)) {
                seenExif = true
                orientation = Exif.orientation(block: body)
            }
            if (0xC0...0xCF).contains(marker), ![0xC4, 0xC8, 0xCC].contains(marker) {
                try readFrame(marker, Array(body))
                return
            }
            offset += 2 + length
        }
    }

    private mutating func readFrame(_ marker: Int, _ body: [UInt8]) throws(Failure) {
        guard body.count >= 6, body.count >= 6 + 3 * Int(body[5]) else {
            throw Failure(.corrupt, .probe, "the JPEG's frame header is shorter than it says")
        }
        height = Int(body[1]) << 8 | Int(body[2])
        width = Int(body[3]) << 8 | Int(body[4])
        isProgressive = [0xC2, 0xC6, 0xCA, 0xCE].contains(marker)
        for index in 0..<Int(body[5]) {
            let factors = Int(body[7 + 3 * index])
            components.append((across: factors >> 4, down: factors & 15))
        }
    }

    var facts: Facts {
        var facts = Facts()
        facts.container = "jpeg"
        facts.codec = "jpeg"
        facts.pixelFormat = pixelFormat
        facts.storedWidth = width
        facts.storedHeight = height
        facts.frameCount = 1
        return facts
    }

    private var pixelFormat: String? {
        switch components.count {
        case 1: return "gray"
        case 4: return "cmyk"
        case 3:
            let (luma, chroma) = (components[0], components[1])
            guard chroma.across > 0, chroma.down > 0 else { return nil }
            let ratio = (luma.across / chroma.across, luma.down / chroma.down)
            return switch ratio {
            case (1, 1): "yuvj444p"
            case (2, 1): "yuvj422p"
            case (2, 2): "yuvj420p"
            case (1, 2): "yuvj440p"
            case (4, 1): "yuvj411p"
            default: nil
            }
        default: return nil
        }
    }

    private static let cutShort = Failure(
        .truncatedHeader, .probe, "the JPEG ends inside its header; fetch it again from its origin")
}

/// TurboJPEG's decompressor.
@safe private struct TurboDecompressor: ~Copyable {
    private let handle: tjhandle

    struct Size {
        var width: Int
        var height: Int
        var isCMYK: Bool
    }

    init() throws(Failure) {
        guard let handle = unsafe tjInitDecompress() else {
            throw Failure(.outOfMemory, .decode, "TurboJPEG could not start")
        }
        unsafe self.handle = handle
    }

    // Ours alone, and nothing made from it outlives it.
    deinit { unsafe tjDestroy(handle) }

    func readHeader(_ bytes: [UInt8]) throws(Failure) -> Size {
        var (width, height, sampling, space) = (Int32(0), Int32(0), Int32(0), Int32(0))
        // TurboJPEG only reads, and only `count` bytes.
        let status = unsafe bytes.withUnsafeBufferPointer {
            unsafe tjDecompressHeader3(
                handle, $0.baseAddress, UInt($0.count), &width, &height, &sampling, &space)
        }
        guard status == 0 || isWarning else { throw failure("read the header of") }
        let isCMYK = space == Int32(TJCS_CMYK.rawValue) || space == Int32(TJCS_YCCK.rawValue)
        return Size(width: Int(width), height: Int(height), isCMYK: isCMYK)
    }

    /// The picture at `1/shrink`, and whether TurboJPEG had nothing to complain of.
    func decode(_ bytes: [UInt8], _ size: Size, shrink: Int) throws(Failure) -> (bitmap: Bitmap, clean: Bool)
    {
        let (width, height) = ((size.width + shrink - 1) / shrink, (size.height + shrink - 1) / shrink)
        var pixels = [UInt8](repeating: 0, count: width * height * 4)
        let format = Int32(size.isCMYK ? TJPF_CMYK.rawValue : TJPF_RGBA.rawValue)
        // A progressive file of thousands of empty scans would decode for hours: TurboJPEG refuses from 500 on.
        let flags = Int32(TJFLAG_LIMITSCANS)
        // `pixels` holds `height` rows of `width * 4`, which is the pitch named.
        let status = unsafe pixels.withUnsafeMutableBufferPointer { target in
            unsafe bytes.withUnsafeBufferPointer { source in
                unsafe tjDecompress2(
                    handle, source.baseAddress, UInt(source.count), target.baseAddress,
                    Int32(width), Int32(width * 4), Int32(height), format, flags)
            }
        }
        // A file cut short or with a bad scan is a warning: the rows up to there are right, the rest is grey.
        guard status == 0 || isWarning else { throw failure("decode") }
        // Bytes between two segments harm nothing and are common.
        let clean = status == 0 || words.contains("extraneous")
        if size.isCMYK { Self.flattenInk(&pixels) }
        return (Bitmap(width: width, height: height, pixels: pixels, hasAlpha: false), clean)
    }

    /// CMYK as every known writer stores it (Adobe's way): 255 is no ink.
    private static func flattenInk(_ pixels: inout [UInt8]) {
        for offset in stride(from: 0, to: pixels.count, by: 4) {
            let black = Int(pixels[offset + 3])
            for channel in offset..<offset + 3 {
                pixels[channel] = UInt8((Int(pixels[channel]) * black + 127) / 255)
            }
            pixels[offset + 3] = 255
        }
    }

    private var isWarning: Bool { unsafe tjGetErrorCode(handle) == Int32(TJERR_WARNING.rawValue) }

    // The text belongs to the handle and is copied at once.
    private var words: String { unsafe String(cString: tjGetErrorStr2(handle)) }

    private func failure(_ act: String) -> Failure {
        let words = words
        let reason: Failure.Reason =
            words.contains("nsupported") || words.contains("precision") ? .unsupportedCodec : .corrupt
        return Failure(reason, .decode, "TurboJPEG could not \(act) the JPEG", cause: words)
    }
}
