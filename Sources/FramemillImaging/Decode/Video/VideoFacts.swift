internal import CFFmpeg
internal import FramemillMedia

extension Facts {
    /// Adds what only the decoded picture knows for sure.
    mutating func add(_ picture: borrowing AVPicture, aspect: (num: Int, den: Int)) {
        let frame = unsafe picture.pointer.pointee
        storedWidth = unsafe Int(frame.width)
        storedHeight = unsafe Int(frame.height)
        pixelAspect = "\(aspect.num):\(aspect.den)"
        if let description = unsafe av_pix_fmt_desc_get(AVPixelFormat(rawValue: frame.format)) {
            pixelFormat = unsafe String(cString: description.pointee.name)
            alpha = unsafe description.pointee.flags & UInt64(AV_PIX_FMT_FLAG_ALPHA) != 0
        }
        switch unsafe frame.color_trc {
        case AVCOL_TRC_SMPTE2084: hdr = "pq"
        case AVCOL_TRC_ARIB_STD_B67: hdr = "hlg"
        default: hdr = nil
        }
        if unsafe frame.colorspace != AVCOL_SPC_UNSPECIFIED,
            let name = unsafe av_color_space_name(frame.colorspace)
        {
            colorMatrix = unsafe String(cString: name)
        }
        if unsafe frame.color_range != AVCOL_RANGE_UNSPECIFIED,
            let name = unsafe av_color_range_name(frame.color_range)
        {
            colorRange = unsafe String(cString: name)
        }
    }
}
