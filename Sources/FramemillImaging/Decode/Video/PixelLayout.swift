internal import CFFmpeg
internal import FramemillMedia

/// Where the components of a decoded picture lie and what they mean. Covers every layout of whole 8- or 16-bit words:
/// planar, semi-planar and packed. Palettes, bit fields, floats and foreign byte orders go through swscale first.
struct PixelLayout {
    /// Y, Cb, Cr; or G, B, R; or grey alone.
    var planes: [Plane]
    var alpha: Plane?
    var model: ColorModel

    init?(_ picture: borrowing AVPicture) {
        let frame = unsafe picture.pointer.pointee
        guard let description = unsafe av_pix_fmt_desc_get(AVPixelFormat(rawValue: frame.format)) else {
            return nil
        }
        let flags = unsafe description.pointee.flags
        let excluded = [
            AV_PIX_FMT_FLAG_PAL, AV_PIX_FMT_FLAG_BITSTREAM, AV_PIX_FMT_FLAG_HWACCEL, AV_PIX_FMT_FLAG_BAYER,
            AV_PIX_FMT_FLAG_FLOAT,
        ]
        guard excluded.allSatisfy({ flags & UInt64($0) == 0 }) else { return nil }
        let components = unsafe [
            description.pointee.comp.0, description.pointee.comp.1, description.pointee.comp.2,
            description.pointee.comp.3,
        ].prefix(Int(description.pointee.nb_components))
        guard let depth = components.first?.depth, components.allSatisfy({ $0.depth == depth }) else {
            return nil
        }
        guard depth == 8 || (depth > 8 && depth <= 16 && flags & UInt64(AV_PIX_FMT_FLAG_BE) == 0) else {
            return nil
        }
        let isPlanar = flags & UInt64(AV_PIX_FMT_FLAG_PLANAR) != 0 || components.count == 1
        let bytes = depth == 8 ? 1 : 2
        let data = unsafe [frame.data.0, frame.data.1, frame.data.2, frame.data.3]
        let strides = unsafe [frame.linesize.0, frame.linesize.1, frame.linesize.2, frame.linesize.3]
        var found: [Plane] = []
        for (index, component) in components.enumerated() {
            guard component.step % Int32(bytes) == 0, component.offset % Int32(bytes) == 0 else { return nil }
            guard
                component.shift == 0 ? (isPlanar || depth == 8 || depth == 16) : component.shift + depth == 16
            else {
                return nil
            }
            guard let base = unsafe data[Int(component.plane)] else { return nil }
            let isChroma = (index == 1 || index == 2) && components.count >= 3
            let across = isChroma ? unsafe Int(description.pointee.log2_chroma_w) : 0
            let down = isChroma ? unsafe Int(description.pointee.log2_chroma_h) : 0
            unsafe found.append(
                Plane(
                    base: UnsafeRawPointer(base) + Int(component.offset),
                    strideBytes: Int(strides[Int(component.plane)]),
                    width: (Int(frame.width) + (1 << across) - 1) >> across,
                    height: (Int(frame.height) + (1 << down) - 1) >> down, bytesPerSample: bytes,
                    step: Int(component.step) / bytes, shift: Int(component.shift)))
        }
        if flags & UInt64(AV_PIX_FMT_FLAG_ALPHA) != 0 { alpha = found.removeLast() } else { alpha = nil }
        let isRGB = flags & UInt64(AV_PIX_FMT_FLAG_RGB) != 0
        // Descriptors list R, G, B; the converter wants G first, like GBR planes.
        if isRGB, found.count == 3 { found = [found[1], found[2], found[0]] }
        guard found.count == 1 || found.count == 3 else { return nil }
        planes = found
        model = unsafe ColorModel(frame, bits: Int(depth), isRGB: isRGB, isGrey: found.count == 1)
    }
}

extension ColorModel {
    /// Tags first; where they are missing: full range for RGB, grey and the `yuvj` layouts, the matrix by size.
    init(_ frame: AVFrame, bits: Int, isRGB: Bool, isGrey: Bool) {
        let layout = unsafe AVPixelFormat(rawValue: frame.format)
        let isJPEG = [
            AV_PIX_FMT_YUVJ420P, AV_PIX_FMT_YUVJ422P, AV_PIX_FMT_YUVJ444P, AV_PIX_FMT_YUVJ440P,
            AV_PIX_FMT_YUVJ411P,
        ].contains(layout)
        let range = unsafe frame.color_range
        let isFull =
            isRGB || isJPEG || range == AVCOL_RANGE_JPEG || (isGrey && range == AVCOL_RANGE_UNSPECIFIED)
        let curve: Curve =
            switch unsafe frame.color_trc {
            case AVCOL_TRC_SMPTE2084: .pq
            case AVCOL_TRC_ARIB_STD_B67: .hlg
            default: .sdr
            }
        let isHigh = unsafe frame.width >= 1280 || frame.height > 576
        let weights: (red: Float, blue: Float) =
            switch unsafe frame.colorspace {
            case AVCOL_SPC_BT709: Self.bt709
            case AVCOL_SPC_BT470BG, AVCOL_SPC_SMPTE170M: Self.bt601
            case AVCOL_SPC_FCC: Self.fcc
            case AVCOL_SPC_SMPTE240M: Self.smpte240
            case AVCOL_SPC_BT2020_NCL, AVCOL_SPC_BT2020_CL: Self.bt2020
            default: curve != .sdr ? Self.bt2020 : isHigh ? Self.bt709 : Self.bt601
            }
        self.init(
            weights: isRGB ? nil : weights, isFullRange: isFull, bits: bits, isGrey: isGrey,
            curve: curve)
    }
}
