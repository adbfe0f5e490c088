/// What the first bytes of a file say it is. Names and content types are never believed.
public enum Format: String, Sendable {
    case jpeg, png, gif, webp, avif, heic
    /// Anything that libavformat's allowed demuxers may know.
    case container
    /// Text: a page, a playlist, a script. Never handed to a demuxer.
    case text
    case empty

    /// Sniffs up to the first few hundred bytes of a file.
    public static func sniff(_ head: [UInt8]) -> Format {
        func has(_ text: String, at offset: Int = 0) -> Bool {
            let bytes = Array(text.utf8)
            return head.count >= offset + bytes.count && Array(head[offset..<offset + bytes.count]) == bytes
        }
        if head.isEmpty { return .empty }
        if head.starts(with: [0xFF, 0xD8, 0xFF]) { return .jpeg }
        if head.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) { return .png }
        if has("GIF87a") || has("GIF89a") { return .gif }
        if has("RIFF"), has("WEBP", at: 8) { return .webp }
        if has("ftyp", at: 4) { return isoBrand(head) }
        if isText(head) { return .text }
        return .container
    }

    /// The brands of an ISO `ftyp` box (ISO/IEC 14496-12, 4.3): `avif`/`avis` and `heic`/`mif1` name pictures.
    private static func isoBrand(_ head: [UInt8]) -> Format {
        let length = min(head.count, max(16, head[..<4].reduce(0) { $0 << 8 | Int($1) }))
        var brands: [String] = []
        for offset in stride(from: 8, to: length - 3, by: 4) where offset != 12 {
            brands.append(String(decoding: head[offset..<offset + 4], as: UTF8.self))
        }
        guard let major = brands.first else { return .container }
        if major == "avif" || major == "avis" { return .avif }
        if ["heic", "heix", "hevc", "hevx", "heim", "heis"].contains(major) { return .heic }
        if major == "mif1" || major == "msf1" { return brands.contains("avif") ? .avif : .heic }
        return .container
    }

    /// Printable from the first byte to the last looked at, as no media format starts (YUV4MPEG's header aside).
    private static func isText(_ head: [UInt8]) -> Bool {
        if head.starts(with: Array("YUV4MPEG2".utf8)) { return false }
        let body = head.starts(with: [0xEF, 0xBB, 0xBF]) ? head.dropFirst(3) : head[...]
        return body.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 || $0 == 0x0A || $0 == 0x0D }
            && body.prefix(4).allSatisfy { $0 < 0x80 }
    }
}
