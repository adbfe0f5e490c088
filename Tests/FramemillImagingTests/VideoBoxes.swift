import Testing

/// An ISO file (ISO/IEC 14496-12) whose boxes a test changes. Only for files with `moov` at the end, where a box that
/// grows moves no sample.
struct Boxes {
    private(set) var bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Bytes before the children of a box that are its own.
    private static let ownBytes: [String: Int] = ["stsd": 8, "hvc1": 78, "hev1": 78, "avc1": 78]

    func number(at offset: Int) -> Int { bytes[offset..<offset + 4].reduce(0) { $0 << 8 | Int($1) } }

    /// Where each box of the path starts, from the outermost on.
    func places(_ path: String...) throws -> [Int] { try places(path) }

    private func places(_ path: [String]) throws -> [Int] {
        var places: [Int] = []
        var children = 0..<bytes.count
        for name in path {
            var place = children.lowerBound
            while place < children.upperBound,
                String(decoding: bytes[place + 4..<place + 8], as: UTF8.self) != name
            {
                // A length of 1 is followed by a long one, which no file of a test needs.
                try #require(number(at: place) >= 8)
                place += number(at: place)
            }
            try #require(place < children.upperBound, "no box \(path)")
            places.append(place)
            children = place + 8 + Self.ownBytes[name, default: 0]..<place + number(at: place)
        }
        return places
    }

    /// Puts a box behind the last child of the box that `path` names.
    mutating func append(_ name: String, _ content: [UInt8], to path: String...) throws {
        let places = try places(path)
        let box = Self.bytes(of: content.count + 8) + Array(name.utf8) + content
        bytes.insert(contentsOf: box, at: places.last! + number(at: places.last!))
        for place in places {
            bytes.replaceSubrange(place..<place + 4, with: Self.bytes(of: number(at: place) + box.count))
        }
    }

    /// Writes the display matrix of the first track: a b, c d in whole numbers, nothing moved.
    mutating func turn(_ a: Int, _ b: Int, _ c: Int, _ d: Int) throws {
        let place = try places("moov", "trak", "tkhd").last!
        try #require(bytes[place + 8] == 0)  // version 0: the matrix starts 48 bytes into the box
        let matrix = [a << 16, b << 16, 0, c << 16, d << 16, 0, 0, 0, 1 << 30].flatMap(Self.bytes(of:))
        bytes.replaceSubrange(place + 48..<place + 48 + matrix.count, with: matrix)
    }

    private static func bytes(of number: Int) -> [UInt8] {
        let word = UInt32(truncatingIfNeeded: number)
        return [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: word >> $0) }
    }
}
