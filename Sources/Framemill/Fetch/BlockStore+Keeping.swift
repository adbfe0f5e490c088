internal import FramemillMedia
internal import Synchronization

/// Bytes that are kept from one job to the next.
extension BlockStore {
    /// The kept bytes are of the version that the source has now.
    static func use(_ blocks: SourceBlocks, _ state: inout State) {
        (state.total, state.version, state.validator) = (blocks.total, blocks.version, blocks.validator)
        for piece in blocks.pieces { state.extents.insert(piece.bytes, at: piece.offset) }
        state.windowEnd = state.extents.gap(from: 0)
        state.usesBlocks = true
    }

    var usesBlocks: Bool { state.withLock { $0.usesBlocks } }

    /// What the first request asks to be spared.
    var condition: Freshness? { known ?? blocks?.freshness }

    /// What the first answer confirmed, or what was used without a question.
    var basis: Freshness? {
        state.withLock { state in
            if state.isUnchanged { return known }
            return state.isConfirmed || state.answer == nil ? blocks?.freshness : nil
        }
    }

    /// What there is to keep, `nil` where that is nothing new, or of no version that it could be bound to. Its freshness
    /// is for the caller to set. Reads a file where the server has no ranges.
    func kept() -> SourceBlocks? {
        let (blocks, spool) = state.withLock { state -> (SourceBlocks?, OpenFile?) in
            guard state.hasNews, let total = state.total, total > 0, let version = state.version,
                let validator = state.validator
            else { return (nil, nil) }
            let blocks = SourceBlocks(
                total: total, version: version, validator: validator, freshness: condition ?? .never,
                pieces: state.extents.pieces)
            guard let spool = state.spool else { return (blocks.pieces.isEmpty ? nil : blocks, nil) }
            // Of a server without ranges all or nothing.
            return spool.isWhole && total <= Int64(Self.memory) ? (blocks, spool.file) : (nil, nil)
        }
        guard var blocks, let spool else { return blocks }
        var filled = 0
        let all = unsafe [UInt8](unsafeUninitializedCapacity: Int(blocks.total)) { room, count in
            // The rest of the room, and as many bytes of it as were read.
            while filled < room.count,
                let got = unsafe spool.read(
                    at: Int64(filled),
                    into: UnsafeMutableRawBufferPointer(
                        rebasing: UnsafeMutableRawBufferPointer(room)[filled...])),
                got > 0
            { filled += got }
            count = filled
        }
        guard filled == blocks.total else { return nil }
        blocks.pieces = [.init(offset: 0, bytes: all)]
        return blocks
    }
}
