internal import CFFmpeg
internal import FramemillMedia

/// Decoded pictures to small ones, shrunk before their colours are converted.
enum PictureConverter {
    /// The part `plan` names, at the plan's size, not yet turned upright.
    ///
    /// - Parameter toPlanes: give Y, Cb, Cr for a JPEG where that is possible, else RGBA.
    static func shrink(
        _ picture: borrowing AVPicture, plan: Plan, orientation: Int, toPlanes: Bool
    ) throws(Failure) -> SmallPicture {
        if unsafe picture.pointer.pointee.interlaced_frame != 0 { CombFilter.repair(picture) }
        guard let layout = PixelLayout(picture) else {
            return .pixels(
                Resampler.resize(try viaSwscale(picture), plan: plan, orientation: orientation))
        }
        let size = plan.sizeBeforeTurn(orientation)
        let enlarges = plan.cropWidth < Double(size.width) || plan.cropHeight < Double(size.height)
        let converter = ColorConverter(layout.model)
        guard layout.alpha != nil || enlarges else {
            var reducer = PlaneReducer(
                layout.planes, across: (plan.cropX, plan.cropWidth), down: (plan.cropY, plan.cropHeight),
                width: size.width, height: size.height)
            return toPlanes ? .planes(reducer.planes(converter)) : .pixels(reducer.bitmap(converter))
        }
        // Alpha must weigh the colours, and enlarging must interpolate: both work on whole RGBA pictures.
        let width = layout.planes[0].width
        let height = layout.planes[0].height
        var reducer = PlaneReducer(
            layout.planes, alpha: layout.alpha, across: (0, Double(width)), down: (0, Double(height)),
            width: width, height: height)
        return .pixels(Resampler.resize(reducer.bitmap(converter), plan: plan, orientation: orientation))
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
