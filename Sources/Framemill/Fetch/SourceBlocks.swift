// What was received of a source, with what is needed to use it again: how long it holds, what tells it from another
// version, and where each piece belongs. Kept as one entry of a cache of its own (`SourceStore`), which says by its
// checksums that it is whole.
//
//     8      length of the head
//     head   total, version, validator, freshness, and the place and length of each piece
//            the pieces, one after the other

internal import FramemillMedia

struct SourceBlocks: Sendable, Equatable {
    struct Piece: Sendable, Equatable {
        var offset: Int64
        var bytes: [UInt8]
    }
    /// Bytes of the whole source.
    var total: Int64
    /// Its entity tag, or else when it was last changed.
    var version: String
    /// What a request for more of it is bound to (`If-Range`).
    var validator: String
    var freshness: Freshness
    /// In order of their offsets.
    var pieces: [Piece]

    init(total: Int64, version: String, validator: String, freshness: Freshness, pieces: [Piece]) {
        (self.total, self.version, self.validator) = (total, version, validator)
        (self.freshness, self.pieces) = (freshness, pieces)
    }

    var encoded: [UInt8] {
        var writer = FieldWriter()
        var copy = self
        copy.passHead(&writer)
        var (count, length) = (pieces.count, FieldWriter())
        writer.pass(&count)
        for piece in pieces {
            var (offset, count) = (piece.offset, piece.bytes.count)
            writer.pass(&offset)
            writer.pass(&count)
        }
        var headCount = writer.bytes.count
        length.pass(&headCount)
        return pieces.reduce(into: length.bytes + writer.bytes) { $0 += $1.bytes }
    }

    /// `nil` for anything that is not what `encoded` gave.
    init?(decoding bytes: [UInt8]) {
        self.init(total: 0, version: "", validator: "", freshness: .never, pieces: [])
        var places: [(offset: Int64, count: Int)] = []
        let end = unsafe bytes.withUnsafeBytes { all -> Int? in
            // Both readers are used in here alone, where the bytes hold still.
            var front = unsafe FieldReader(UnsafeRawBufferPointer(rebasing: all.prefix(8)))
            var headCount = 0
            unsafe front.pass(&headCount)
            guard unsafe front.isDone, headCount >= 0, headCount <= all.count - 8 else { return nil }
            var reader = unsafe FieldReader(UnsafeRawBufferPointer(rebasing: all[8..<8 + headCount]))
            unsafe passHead(&reader)
            var count = 0
            unsafe reader.pass(&count)
            // 16 bytes each, so that a wild number makes no room.
            guard unsafe !reader.isSpoiled, count >= 0, count <= headCount / 16 else { return nil }
            for _ in 0..<count {
                var place: (offset: Int64, count: Int) = (0, 0)
                unsafe reader.pass(&place.offset)
                unsafe reader.pass(&place.count)
                places.append(place)
            }
            return unsafe reader.isDone ? 8 + headCount : nil
        }
        guard var at = end, total > 0 else { return nil }
        for place in places {
            guard place.count > 0, place.count <= bytes.count - at, place.offset >= 0,
                place.offset <= total - Int64(place.count)
            else { return nil }
            pieces.append(Piece(offset: place.offset, bytes: Array(bytes[at..<at + place.count])))
            at += place.count
        }
        guard at == bytes.count else { return nil }
    }

    private mutating func passHead(_ coder: inout some FieldCoder) {
        coder.pass(&total)
        coder.pass(&version)
        coder.pass(&validator)
        coder.pass(&freshness.entityTag)
        coder.pass(&freshness.lastModified)
        coder.pass(&freshness.checkedAt)
        coder.pass(&freshness.freshUntil)
        coder.pass(&freshness.usableUntil)
        coder.pass(&freshness.standsInUntil)
    }
}

extension Freshness {
    static let never = Freshness(
        entityTag: nil, lastModified: nil, checkedAt: 0, freshUntil: 0, usableUntil: 0, standsInUntil: 0)
}
