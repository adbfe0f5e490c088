/// The one thing wanted of EXIF: how the picture is meant to be turned. Written by hand, because the bytes are
/// anybody's: every offset is checked against the block it points into.
enum Exif {
    /// The orientation, 1 to 8, that a TIFF block's first directory names; 1 where it names none or is broken.
    static func orientation(tiff: ArraySlice<UInt8>) -> Int {
        let block = Array(tiff.prefix(1 << 16))
        guard block.count >= 8 else { return 1 }
        let little = block[0] == 0x49 && block[1] == 0x49
        guard little || block[0] == 0x4D && block[1] == 0x4D else { return 1 }
        func short(_ offset: Int) -> Int? {
            guard offset >= 0, offset + 2 <= block.count else { return nil }
            let (first, second) = (Int(block[offset]), Int(block[offset + 1]))
            return little ? second << 8 | first : first << 8 | second
        }
        func long(_ offset: Int) -> Int? {
            guard let first = short(offset), let second = short(offset + 2) else { return nil }
            return little ? second << 16 | first : first << 16 | second
        }
        guard short(2) == 42, let directory = long(4), let entries = short(directory) else { return 1 }
        for index in 0..<entries {
            let entry = directory + 2 + index * 12
            guard let tag = short(entry), let type = short(entry + 2) else { return 1 }
            guard tag == 0x0112 else { continue }
            // SHORT by the standard; some writers use LONG.
            let value = type == 4 ? long(entry + 8) : short(entry + 8)
            return value.flatMap { (1...8).contains($0) ? $0 : nil } ?? 1
        }
        return 1
    }

    /// The same for a block that may begin with JPEG's `Exif\0\0` (WebP files carry it with and without).
    static func orientation(block: ArraySlice<UInt8>) -> Int {
        orientation(tiff: block.starts(with: Array("Exif\0\0".utf8)) ? block.dropFirst(6) : block)
    }
}
