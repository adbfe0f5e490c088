// An animated WebP that is already what the recipe asks for is handed on: encoding it again would cost time and look
// worse. Asked for it is when it has the size and no more frames than allowed, and the recipe leaves it to us how pixels
// are written: a quality, an effort or `lossless` is a wish that only encoding fulfils.
//
// Not quite byte for byte: as in every result, no metadata of the source is left (EXIF, XMP, and whatever else stands
// between the frames). A file with none is handed on to the byte. One with a colour profile is made anew, as results carry
// none; so is one that libwebp can't decode to its end, for a result must be whole.
//
// Not by libwebpmux: it can't say which chunks it does not know, in the file or in a frame. Taking every frame over to a
// new file would leave them out, but copies the whole twice and keeps no file the same to the byte.

internal import FramemillEngine
internal import FramemillMedia

struct PassThrough {
    let recipe: Recipe
    let animated: Recipe.Animated
    let limits: Limits
    let stop: Stop

    /// Whether the recipe asks for nothing that the source is not.
    func isWanted(_ source: AnimationFacts, _ plan: Plan) -> Bool {
        guard source.container == "webp", !source.partial, recipe.quality == nil, recipe.effort == nil,
            !animated.lossless, (plan.width, plan.height) == (source.width, source.height),
            (plan.cropWidth, plan.cropHeight) == (Double(source.width), Double(source.height)),
            source.frameCount <= animated.maxFrames ?? .max
        else { return false }
        var thinner = FrameThinner(maxFramesPerSecond: animated.maxFramesPerSecond)
        var clock = 0
        return source.frames.allSatisfy { frame in
            defer { clock += frame.delay }
            return thinner.keeps(clock)
        }
    }

    /// The file without its metadata, and its first canvas; `nil` where it has to be made anew.
    func file(
        _ reader: any ByteReader, _ decoder: any AnimationDecoder, crew: Crew
    ) throws(Failure) -> (bytes: [UInt8], first: Bitmap)? {
        let source = SourceBytes(reader, limits: limits, stop: stop)
        try source.fillAll()
        guard let bytes = Self.bare(source.bytes) else { return nil }
        var place = AnimationPlace()
        var first: Bitmap?
        while true {
            try stop.check(.decode)
            let frames = try decoder.frames(
                from: &place, windowBytes: AnimationResize.windowBytes, crew: crew, stop: stop)
            if frames.isEmpty { break }
            guard frames.allSatisfy(\.isWhole) else { return nil }
            first = first ?? frames[0].bitmap
        }
        return first.map { (bytes, $0) }
    }

    /// The frames and what they need, no other chunk; `nil` for a file that is not built as an animation is.
    static func bare(_ file: [UInt8]) -> [UInt8]? {
        guard file.count >= 12 else { return nil }
        let end = number(file, 4) + 8
        guard end <= file.count, var chunks = chunks(file, 12..<end), let head = chunks.first,
            head.name == "VP8X", head.range.count >= 18, !chunks.contains(where: { $0.name == "ICCP" })
        else { return nil }
        for chunk in chunks where chunk.name == "ANMF" {
            // 8 bytes of chunk header, 16 of the frame's own; then what a still file would hold.
            guard chunk.range.count >= 24,
                let parts = self.chunks(file, chunk.range.lowerBound + 24..<chunk.range.upperBound),
                parts.allSatisfy({ ["ALPH", "VP8 ", "VP8L"].contains($0.name) })
            else { return nil }
        }
        chunks.removeAll { !["VP8X", "ANIM", "ANMF"].contains($0.name) }
        var bare = Array(file[..<12])
        for chunk in chunks { bare += file[chunk.range] }
        // Of the flags, animation and alpha stay: EXIF and XMP are gone.
        bare[20] &= 0x12
        let size = bare.count - 8
        for byte in 0..<4 { bare[4 + byte] = UInt8(truncatingIfNeeded: size >> (byte * 8)) }
        return bare
    }

    /// The chunks in a range, headers and padding included; `nil` where they don't fill it.
    private static func chunks(_ file: [UInt8], _ range: Range<Int>) -> [(name: String, range: Range<Int>)]? {
        var chunks: [(String, Range<Int>)] = []
        var offset = range.lowerBound
        while offset + 8 <= range.upperBound {
            let size = number(file, offset + 4)
            let end = offset + 8 + size + size % 2
            guard end <= range.upperBound else { return nil }
            chunks.append((String(decoding: file[offset..<offset + 4], as: UTF8.self), offset..<end))
            offset = end
        }
        return offset == range.upperBound ? chunks : nil
    }

    private static func number(_ file: [UInt8], _ offset: Int) -> Int {
        (0..<4).reduce(0) { $0 | Int(file[offset + $1]) << ($1 * 8) }
    }
}
