internal import CGIF
internal import FramemillEngine
internal import FramemillMedia

/// giflib's reader of one file.
@safe struct GIFContainer: ~Copyable {
    private let file: UnsafeMutablePointer<GifFileType>
    private let feed: GIFFeed

    init(_ source: SourceBytes) throws(Failure) {
        guard try source.fill(to: 13) else {
            throw Failure(.truncatedHeader, .probe, "the GIF ends inside its header")
        }
        let feed = GIFFeed(source)
        var code: Int32 = 0
        // giflib keeps the pointer as long as the file is open; `feed` becomes our own field and lives as long.
        let user = unsafe Unmanaged.passUnretained(feed).toOpaque()
        let opened = unsafe DGifOpen(user, GIFFeed.read, &code)
        guard let opened = unsafe opened else {
            if let failure = feed.failure { throw failure }
            throw Failure(.truncatedHeader, .probe, "the GIF ends inside its header", cause: Self.words(code))
        }
        self.feed = feed
        unsafe file = opened
    }

    deinit {
        var code: Int32 = 0
        // Opened by `init`, closed here and nowhere else.
        _ = unsafe DGifCloseFile(file, &code)
    }

    // Fields of a struct that is alive until `deinit`.
    var width: Int { unsafe Int(file.pointee.SWidth) }
    var height: Int { unsafe Int(file.pointee.SHeight) }
    var words: String? { unsafe Self.words(file.pointee.Error) }

    /// Walks to the first picture. What is wrong with its frame is said before what is wrong with the screen.
    func nextFrame() throws(Failure) -> GIFFrame {
        var control = (transparent: Int?.none, delay: 0)
        while true {
            var record = UNDEFINED_RECORD_TYPE
            let known = unsafe DGifGetRecordType(file, &record) == GIF_OK
            if let failure = feed.failure { throw failure }
            if known, record == EXTENSION_RECORD_TYPE {
                guard let read = readExtension() else {
                    throw Failure(.corrupt, .decode, "the GIF ends before its first picture", cause: words)
                }
                control = read.control ?? control
            } else if known, record == IMAGE_DESC_RECORD_TYPE {
                return try readFrame(control.transparent, control.delay)
            } else if width == 0 || height == 0 {
                throw Failure(.zeroDimensions, .probe, "the GIF's screen is \(width) x \(height) pixels")
            } else {
                throw Failure(.noFrames, .probe, "the GIF has no picture")
            }
        }
    }

    /// The next picture behind a broken one; `nil` if there is no sound one.
    func laterFrame() throws(Failure) -> GIFFrame? {
        do throws(Failure) {
            return try nextFrame()
        } catch {
            if feed.failure != nil { throw error }
            return nil
        }
    }

    private func readFrame(_ transparent: Int?, _ delay: Int) throws(Failure) -> GIFFrame {
        let described = unsafe DGifGetImageDesc(file) == GIF_OK
        if let failure = feed.failure { throw failure }
        guard described else {
            throw Failure(.corrupt, .decode, "the GIF's first picture is broken", cause: words)
        }
        let image = unsafe file.pointee.Image
        let (width, height) = unsafe (Int(image.Width), Int(image.Height))
        guard width > 0, height > 0 else {
            throw Failure(.corrupt, .decode, "the GIF's first picture is \(width) x \(height) pixels")
        }
        // The code size is the byte that giflib has read last.
        return unsafe GIFFrame(
            left: Int(image.Left), top: Int(image.Top), width: width, height: height,
            isInterlaced: image.Interlace, codeSize: feed.lastByte, transparent: transparent, delay: delay,
            colors: Self.colors(image.ColorMap ?? file.pointee.SColorMap, transparent))
    }

    private static func colors(_ map: UnsafeMutablePointer<ColorMapObject>?, _ transparent: Int?) -> [UInt8] {
        var colors = [UInt8](repeating: 0, count: 1024)
        for index in 0..<256 { colors[index * 4 + 3] = index == transparent ? 0 : 255 }
        guard let map = unsafe map, let table = unsafe map.pointee.Colors else { return colors }
        // giflib made the table with as many entries as it says.
        for index in 0..<min(256, unsafe Int(map.pointee.ColorCount)) {
            let color = unsafe table[index]
            (colors[index * 4], colors[index * 4 + 1], colors[index * 4 + 2]) = (
                color.Red, color.Green, color.Blue
            )
        }
        return colors
    }

    /// Draws the frame and says how many of its rows were whole.
    func inflate(_ frame: GIFFrame, into canvas: inout GIFCanvas, stop: Stop) throws(Failure) -> Int {
        // 0 would make a code of one bit that can only say "clear"; giflib itself refuses more than 8.
        guard frame.codeSize > 0 else { return 0 }
        var line = [UInt8](repeating: 0, count: frame.width)
        var rows = 0
        for row in frame.rowOrder {
            if rows & 63 == 0 { try stop.check(.decode) }
            let inflated = unsafe line.withUnsafeMutableBufferPointer {
                // `line` is one row of the frame, and no more is asked for.
                unsafe DGifGetLine(file, $0.baseAddress, Int32(frame.width)) == GIF_OK
            }
            if let failure = feed.failure { throw failure }
            guard inflated else { break }
            canvas.draw(line, row: row, of: frame)
            rows += 1
        }
        return rows
    }

    /// Passes the data of the picture that was described last; `false` if the file ends in it.
    func skipPixels() -> Bool {
        var size: Int32 = 0
        var block: UnsafeMutablePointer<GifByteType>?
        guard unsafe DGifGetCode(file, &size, &block) == GIF_OK else { return false }
        while unsafe block != nil {
            guard unsafe DGifGetCodeNext(file, &block) == GIF_OK else { return false }
        }
        return true
    }

    /// Walks on behind the first picture without inflating anything: is this an animation, and how long?
    ///
    /// - Parameters:
    ///   - after: as many pictures lie behind us.
    ///   - isCounted: the last of them was passed to its end, so that what follows can be found.
    func count(into facts: inout Facts, first: GIFFrame, after: Int, isCounted: Bool) {
        var (frames, hundredths) = (after, first.delay)
        var reachedEnd = false
        var delay = 0
        walk: while isCounted {
            var record = UNDEFINED_RECORD_TYPE
            guard unsafe DGifGetRecordType(file, &record) == GIF_OK else { break }
            switch record {
            case EXTENSION_RECORD_TYPE:
                guard let read = readExtension() else { break walk }
                if let control = read.control { delay = control.delay }
            case IMAGE_DESC_RECORD_TYPE:
                frames += 1
                hundredths += delay
                delay = 0
                guard unsafe DGifGetImageDesc(file) == GIF_OK, skipPixels() else { break walk }
            default:
                reachedEnd = record == TERMINATE_RECORD_TYPE
                break walk
            }
        }
        // Asking for a loop is a sign where the second picture has not come yet.
        facts.animated = frames > 1 || feed.sawLoop && !reachedEnd && feed.isFrozen
        guard reachedEnd || !feed.isFrozen else { return }
        facts.frameCount = frames
        if frames > 1, hundredths > 0 { facts.duration = Double(hundredths) / 100 }
    }

    /// Reads one extension; `nil` if the file ends in it. `control` is what a graphic control said.
    private func readExtension() -> (control: (transparent: Int?, delay: Int)?, Void)? {
        var kind: Int32 = 0
        var block: UnsafeMutablePointer<GifByteType>?
        guard unsafe DGifGetExtension(file, &kind, &block) == GIF_OK else { return nil }
        var control: (transparent: Int?, delay: Int)?
        // giflib hands out a block as its length and then that many bytes.
        while let bytes = unsafe block {
            let body = unsafe Array(UnsafeBufferPointer(start: bytes + 1, count: Int(bytes[0])))
            if kind == GRAPHICS_EXT_FUNC_CODE, body.count >= 4 {
                control = (body[0] & 1 == 1 ? Int(body[3]) : nil, Int(body[1]) | Int(body[2]) << 8)
            }
            if kind == APPLICATION_EXT_FUNC_CODE, body.starts(with: Array("NETSCAPE2.0".utf8)) {
                feed.sawLoop = true
            }
            guard unsafe DGifGetExtensionNext(file, &block) == GIF_OK else { return nil }
        }
        return (control, ())
    }

    private static func words(_ code: Int32) -> String? {
        // A constant text of giflib's, or nothing for a code it does not know.
        unsafe GifErrorString(code).map { unsafe String(cString: $0) }
    }
}

/// What giflib reads from: a place in the source, and the failure that a read ended with, which C can't carry.
private final class GIFFeed {
    private let source: SourceBytes
    private var offset = 0
    private(set) var failure: Failure?
    var sawLoop = false

    init(_ source: SourceBytes) { self.source = source }

    var lastByte: Int { offset > 0 ? source.byte(offset - 1) : 0 }
    var isFrozen: Bool { source.isFrozen }

    /// giflib's `InputFunc`.
    static let read: InputFunc = { file, buffer, count in
        guard let file = unsafe file, let buffer = unsafe buffer, count > 0 else { return 0 }
        // The pointer that `GIFContainer.init` handed in; the container holds the object it points to.
        guard let user = unsafe file.pointee.UserData else { return 0 }
        let feed = unsafe Unmanaged<GIFFeed>.fromOpaque(user).takeUnretainedValue()
        let target = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))
        return Int32(unsafe feed.copy(into: target))
    }

    private func copy(into target: UnsafeMutableRawBufferPointer) -> Int {
        do throws(Failure) {
            _ = try source.fill(to: offset + target.count)
        } catch {
            failure = error
            return 0
        }
        let count = min(target.count, source.bytes.count - offset)
        unsafe target.copyBytes(from: source.bytes[offset..<offset + count])
        offset += count
        return count
    }
}
