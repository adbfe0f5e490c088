internal import CFFmpeg
internal import FramemillMedia

/// Tells a reader which bytes of an ISO file will be asked for, so that each comes in one request of the right size.
enum IndexHint {
    /// Walks the top-level boxes that `head`, the start of the file, shows (ISO/IEC 14496-12, 4.2) and expects the
    /// index: up to the end of `moov`, or all behind `mdat` when the index is at the end.
    static func index(_ head: [UInt8], of reader: any ByteReader) {
        guard !reader.isLocal, head.count >= 12, Array(head[4..<8]) == Array("ftyp".utf8) else { return }
        var offset: Int64 = 0
        while offset <= Int64(head.count) - 16 {
            let at = Int(offset)
            func number(_ start: Int, _ count: Int) -> Int64 {
                head[start..<start + count].reduce(0) { $0 << 8 | Int64($1) }
            }
            let kind = String(decoding: head[at + 4..<at + 8], as: UTF8.self)
            var length = number(at, 4)
            if length == 1 { length = number(at + 8, 8) }
            guard length >= 8 else { return }
            let (end, overflow) = offset.addingReportingOverflow(length)
            guard !overflow else { return }
            if kind == "moov" {
                if end > Int64(head.count) { reader.expect(offset..<end) }
                return
            }
            if kind == "mdat", let whole = reader.byteCount, end < whole, end > Int64(head.count) {
                // An index is some hundred kilobytes an hour; a longer tail is read as it comes.
                reader.expect(end..<min(whole, end + (8 << 20)))
                return
            }
            offset = end
        }
    }

    /// Expects exactly the first key sample, as the index that was just read places it.
    static func firstSample(_ input: borrowing AVInput, stream index: Int) {
        guard !input.io.reader.isLocal, let stream = unsafe input.pointer.pointee.streams[index] else {
            return
        }
        for number in 0..<min(16, unsafe avformat_index_get_entries_count(stream)) {
            guard let entry = unsafe avformat_index_get_entry(stream, number)?.pointee else { return }
            guard entry.flags & AVINDEX_KEYFRAME != 0, entry.size > 0, entry.pos >= 0 else { continue }
            // A file may place its sample anywhere, the largest number included.
            let (end, overflow) = entry.pos.addingReportingOverflow(Int64(entry.size))
            if !overflow { input.io.reader.expect(entry.pos..<end) }
            return
        }
    }
}
