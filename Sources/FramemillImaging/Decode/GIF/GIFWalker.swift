internal import CGIF
internal import FramemillEngine
internal import FramemillMedia

/// giflib's walk through one file: headers and extensions are read, pixel data is passed over block by block.
@safe struct GIFWalker: ~Copyable {
    private let file: UnsafeMutablePointer<GifFileType>
    private let feed: GIFFeed

    init(_ reader: any ByteReader, stop: Stop) throws(Failure) {
        let feed = GIFFeed(reader, stop: stop)
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
    /// The loop count that a NETSCAPE2.0 extension stored, the last one of several.
    var loop: Int? { feed.loop }

    /// The colours that frames without a table of their own have.
    var colors: [UInt32] { unsafe Self.colors(file.pointee.SColorMap) }

    enum Step {
        case frame(GIFRecord)
        /// The trailer, or a file that lacks only this.
        case end
        /// A byte that begins no block. Browsers stop there.
        case stray
        /// The file ends inside a block.
        case cut
    }

    /// Walks to the end of the next frame's data. A frame whose data is cut off is the last one, `isCut` set.
    func next() throws(Failure) -> Step {
        var control = GIFControl()
        while true {
            var record = UNDEFINED_RECORD_TYPE
            let known = unsafe DGifGetRecordType(file, &record) == GIF_OK
            if let failure = feed.failure { throw failure }
            guard known else { return feed.hasEnded ? .end : .stray }
            switch record {
            case EXTENSION_RECORD_TYPE:
                guard readExtension(&control) else {
                    if let failure = feed.failure { throw failure }
                    return .cut
                }
            case IMAGE_DESC_RECORD_TYPE:
                guard let frame = try readFrame(control) else { return .cut }
                return .frame(frame)
            default: return .end
            }
        }
    }

    /// `nil` where the file ends inside the frame's description.
    ///
    /// By `DGifGetImageHeader`, not `DGifGetImageDesc`, which also keeps a description of every frame. Both set up
    /// giflib's own inflater, whose table of 4096 entries takes longer to clear than a small frame to decode; but not
    /// for a code size that they refuse, which is why the feed shows them one and keeps the true one for us.
    private func readFrame(_ control: GIFControl) throws(Failure) -> GIFRecord? {
        feed.hidesCodeSize = true
        _ = unsafe DGifGetImageHeader(file)
        feed.hidesCodeSize = false
        if let failure = feed.failure { throw failure }
        guard let codeSize = feed.takeCodeSize() else { return nil }
        let image = unsafe file.pointee.Image
        var frame = GIFRecord(control)
        // A copy of a C struct; its colour table is alive until the next description.
        unsafe frame.place(
            left: Int(image.Left), top: Int(image.Top), width: Int(image.Width), height: Int(image.Height))
        unsafe frame.isInterlaced = image.Interlace
        frame.localColors = unsafe image.ColorMap.map { unsafe Int($0.pointee.ColorCount) } ?? 0
        frame.codeSize = codeSize
        frame.dataStart = feed.position
        frame.isCut = !skipBlocks()
        if let failure = feed.failure { throw failure }
        frame.dataEnd = feed.position
        return frame
    }

    private func skipBlocks() -> Bool {
        var block: UnsafeMutablePointer<GifByteType>?
        repeat {
            guard unsafe DGifGetCodeNext(file, &block) == GIF_OK else { return false }
        } while unsafe block != nil
        return true
    }

    /// `false` if the file ends in the extension.
    private func readExtension(_ control: inout GIFControl) -> Bool {
        var kind: Int32 = 0
        var block: UnsafeMutablePointer<GifByteType>?
        guard unsafe DGifGetExtension(file, &kind, &block) == GIF_OK else { return false }
        var isLoop = false
        var isFirst = true
        // giflib hands out a block as its length and then that many bytes.
        while let bytes = unsafe block {
            let body = unsafe UnsafeBufferPointer(start: bytes + 1, count: Int(bytes[0]))
            switch kind {
            case GRAPHICS_EXT_FUNC_CODE where isFirst && body.count >= 4:
                unsafe control.read(body)
            case APPLICATION_EXT_FUNC_CODE where isFirst:
                let name = unsafe String(decoding: body, as: UTF8.self)
                isLoop = ["NETSCAPE2.0", "ANIMEXTS1.0"].contains(name)
            // Sub-block 1 is the loop count, 2 a buffer size that nobody uses.
            case APPLICATION_EXT_FUNC_CODE where isLoop && body.count >= 3:
                if unsafe body[0] & 7 == 1 { feed.loop = unsafe Int(body[1]) | Int(body[2]) << 8 }
            default: break
            }
            isFirst = false
            guard unsafe DGifGetExtensionNext(file, &block) == GIF_OK else { return false }
        }
        return true
    }

    /// 256 words of R, G, B, 255. Without a table, and behind its end, they are black, as in browsers.
    private static func colors(_ map: UnsafeMutablePointer<ColorMapObject>?) -> [UInt32] {
        var colors = [UInt32](repeating: 0xFF00_0000, count: 256)
        guard let map = unsafe map, let table = unsafe map.pointee.Colors else { return colors }
        // giflib made the table with as many entries as it says.
        for index in 0..<min(256, unsafe Int(map.pointee.ColorCount)) {
            let color = unsafe table[index]
            colors[index] =
                UInt32(color.Red) | UInt32(color.Green) << 8 | UInt32(color.Blue) << 16 | 0xFF00_0000
        }
        return colors
    }

    private static func words(_ code: Int32) -> String? {
        // A constant text of giflib's, or nothing for a code it does not know.
        unsafe GifErrorString(code).map { unsafe String(cString: $0) }
    }
}
