internal import CFFmpeg
internal import FramemillMedia

/// Decoded pictures to RGBA, shrunk on the way.
enum PictureConverter {
    /// The part `plan` names, at the plan's size, not yet turned upright.
    static func bitmap(
        _ picture: borrowing AVPicture, plan: Plan, orientation: Int
    ) throws(Failure) -> Bitmap {
        if unsafe picture.pointer.pointee.interlaced_frame != 0 { CombFilter.repair(picture) }
        guard let layout = PixelLayout(picture) else {
            return Resampler.resize(try viaSwscale(picture), plan: plan, orientation: orientation)
        }
        let size = plan.sizeBeforeTurn(orientation)
        let enlarges = plan.cropWidth < Double(size.width) || plan.cropHeight < Double(size.height)
        guard layout.alpha != nil || enlarges else {
            return reduce(
                layout, x: plan.cropX, y: plan.cropY, cropWidth: plan.cropWidth, cropHeight: plan.cropHeight,
                width: size.width, height: size.height)
        }
        // Alpha must weigh the colours, and enlarging must interpolate: both work on whole RGBA pictures.
        let width = layout.planes[0].width
        let height = layout.planes[0].height
        let whole = reduce(
            layout, x: 0, y: 0, cropWidth: Double(width), cropHeight: Double(height), width: width,
            height: height)
        return Resampler.resize(whole, plan: plan, orientation: orientation)
    }

    private static func reduce(
        _ layout: PixelLayout, x: Double, y: Double, cropWidth: Double, cropHeight: Double, width: Int,
        height: Int
    ) -> Bitmap {
        let full = layout.planes[0]
        func reducer(_ plane: Plane) -> AreaReducer {
            // A subsampled plane covers the same picture with fewer samples; an odd edge is half covered.
            let across = plane.width == full.width ? 1 : (full.width + plane.width - 1) / plane.width
            let down = plane.height == full.height ? 1 : (full.height + plane.height - 1) / plane.height
            return AreaReducer(
                plane,
                across: Footprints(
                    start: x / Double(across), length: cropWidth / Double(across), count: plane.width,
                    pieces: width),
                down: Footprints(
                    start: y / Double(down), length: cropHeight / Double(down), count: plane.height,
                    pieces: height))
        }
        var reducers = layout.planes.map(reducer)
        var alphaReducer = layout.alpha.map(reducer)
        let converter = ColorConverter(layout.model)
        var rows = [[Float]](repeating: [Float](repeating: 0, count: width), count: 3)
        var alphaRow = [Float](repeating: 0, count: alphaReducer == nil ? 0 : width)
        var pixels = [UInt8](repeating: 0, count: width * height * 4)
        for line in 0..<height {
            for index in reducers.indices { reducers[index].row(line, into: &rows[index]) }
            alphaReducer?.row(line, into: &alphaRow)
            converter.convert(
                rows[0], rows[1], rows[2], alpha: alphaRow, count: width, into: &pixels, at: line * width * 4)
        }
        return Bitmap(width: width, height: height, pixels: pixels, hasAlpha: layout.alpha != nil)
    }

    /// Palettes, bit fields and other rare layouts: unpacked to RGBA at full size, without scaling.
    private static func viaSwscale(_ picture: borrowing AVPicture) throws(Failure) -> Bitmap {
        let frame = unsafe picture.pointer.pointee
        let format = unsafe AVPixelFormat(rawValue: frame.format)
        let (width, height) = unsafe (Int(frame.width), Int(frame.height))
        let flags = SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT
        let scaler = unsafe sws_getContext(
            frame.width, frame.height, format, frame.width, frame.height, AV_PIX_FMT_RGBA, flags, nil, nil,
            nil)
        guard let scaler = unsafe scaler else {
            throw Failure(.unsupportedFormat, .transform, "no conversion from this pixel layout")
        }
        defer { unsafe sws_freeContext(scaler) }
        var pixels = [UInt8](repeating: 0, count: width * height * 4)
        let rows = unsafe pixels.withUnsafeMutableBufferPointer { target in
            let source = unsafe [
                UnsafePointer(frame.data.0), UnsafePointer(frame.data.1), UnsafePointer(frame.data.2),
                UnsafePointer(frame.data.3),
            ]
            let sourceStrides = unsafe [
                frame.linesize.0, frame.linesize.1, frame.linesize.2, frame.linesize.3,
            ]
            // The target holds `height` rows of `width * 4` bytes.
            let targets = unsafe [target.baseAddress, nil, nil, nil]
            return unsafe sws_scale(
                scaler, source, sourceStrides, 0, Int32(height), targets, [Int32(width * 4), 0, 0, 0])
        }
        guard rows == Int32(height) else {
            throw Failure(
                .corrupt, .transform, "the picture could not be converted", cause: "sws_scale \(rows)")
        }
        let description = unsafe av_pix_fmt_desc_get(format)
        let flagsOfFormat = unsafe description?.pointee.flags ?? 0
        // A palette may hold transparent entries, as its descriptor says.
        let hasAlpha = flagsOfFormat & UInt64(AV_PIX_FMT_FLAG_ALPHA) != 0
        return Bitmap(width: width, height: height, pixels: pixels, hasAlpha: hasAlpha)
    }
}
