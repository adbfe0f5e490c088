// The manifest is both the report and the memory of a run: a line is appended when an input has its final
// answer, so that a run that was killed goes on where it stopped. A torn last line is cut off. A line that no
// longer counts (its file is gone, it failed and is to be run again, the list says something else there now)
// is left out by writing the file anew beside the old one and renaming it; nothing is ever changed in place.
//
// In memory there are 24 bytes per line of the list and one dictionary slot per distinct job, never the
// records.

internal import Glibc
import FramemillMedia

final class Manifest {
    /// Where the record of a line stands, and of which job it is. `place` is -1 where there is none.
    private struct Slot {
        var job: UInt64 = 0
        var place: Int = -1
        /// Of the list of this run.
        var isCurrent = false
        var isMade = false
    }

    private let path: String
    private var file: OpenFile
    private var end = 0
    private var slots: [Slot] = []
    /// Which line has the answer of a job.
    private var firstLine: [UInt64: Int] = [:]
    private var recordCount = 0
    private var currentCount = 0

    /// Takes up the manifest at `path`, or starts one.
    /// - Parameter keeps: whether a record found there still holds; the others are dropped.
    init(_ path: String, keeps: (Record) -> Bool) throws(Failure) {
        self.path = path
        file = try Self.openLocked(path)
        var dropped = 0
        var isFirst = true
        try forEachLine { (bytes, offset) throws(Failure) in
            let record = JSON.record(bytes)
            if isFirst, record == nil {
                throw Arguments.usage(
                    "\(path) is no manifest of framemill; name another file with --manifest")
            }
            isFirst = false
            guard let record, record.line > 0, record.line < 1 << 32, keeps(record) else {
                dropped += 1
                return
            }
            if slots.indices.contains(record.line), slots[record.line].place >= 0 { dropped += 1 }
            note(record, at: offset, isCurrent: false)
        }
        try file.truncate(to: end)
        file.seek(to: end)
        if dropped > 0 { try rewrite { _ in true } }
    }

    /// Whether `line` has its final answer already: made or not. `nil` when it must be run.
    func settled(line: Int, job: Job) -> Bool? {
        guard slots.indices.contains(line), slots[line].place >= 0, slots[line].job == job.lineKey else {
            return nil
        }
        if !slots[line].isCurrent {
            slots[line].isCurrent = true
            currentCount += 1
        }
        return slots[line].isMade
    }

    /// The answer that another line has for the same job.
    func answer(to job: Job) throws(Failure) -> Record? {
        guard let line = firstLine[job.number], let record = try record(ofLine: line) else { return nil }
        return record.key == job.key ? record : nil
    }

    func append(_ record: Record) throws(Failure) {
        let bytes = try JSON.line(record) + [UInt8(ascii: "\n")]
        do throws(Failure) { try file.write(bytes) } catch {
            // Nothing of a line, rather than half of one.
            try? file.truncate(to: end)
            throw Failure(.writeFailed, .store, "the manifest \(path) was not written: \(error.message)")
        }
        note(record, at: end, isCurrent: true)
        end += bytes.count
    }

    /// Leaves out what the list of this run does not have. Only after the whole list was read.
    func dropForeignLines() throws(Failure) {
        if recordCount > currentCount { try rewrite(\.isCurrent) }
    }

    /// Every record, in the order of the list.
    func forEach(_ body: (Record) throws(Failure) -> Void) throws(Failure) {
        for line in slots.indices {
            if let record = try record(ofLine: line) { try body(record) }
        }
    }

    private func note(_ record: Record, at offset: Int, isCurrent: Bool) {
        while slots.count <= record.line { slots.append(Slot()) }
        let number = Job.number(record.key)
        recordCount += 1
        if isCurrent { currentCount += 1 }
        slots[record.line] = Slot(
            job: Job.lineKey(record.key, record.id), place: offset, isCurrent: isCurrent,
            isMade: record.isMade)
        if firstLine[number] == nil || isCurrent { firstLine[number] = record.line }
    }

    private func rewrite(_ isKept: (Slot) -> Bool) throws(Failure) {
        let temporary = path + ".new"
        let fresh = try OpenFile(temporary, for: .replace)
        guard fresh.lock() else { throw Self.busy(path) }
        var buffer: [UInt8] = []
        var place = 0
        var kept = 0
        for line in slots.indices where slots[line].place >= 0 {
            guard isKept(slots[line]), let bytes = try bytes(at: slots[line].place) else {
                slots[line] = Slot()
                continue
            }
            slots[line].place = place
            place += bytes.count + 1
            kept += 1
            buffer += bytes
            buffer.append(UInt8(ascii: "\n"))
            if buffer.count > 1 << 20 {
                try fresh.write(buffer)
                buffer = []
            }
        }
        try fresh.write(buffer)
        try fresh.sync()
        // Both paths are used only within the call.
        guard unsafe rename(temporary, path) == 0 else {
            throw SystemError.failure(.writeFailed, "cannot name \(path)")
        }
        file = fresh
        end = place
        recordCount = kept
    }

    private func record(ofLine line: Int) throws(Failure) -> Record? {
        guard slots.indices.contains(line), slots[line].place >= 0 else { return nil }
        guard let bytes = try bytes(at: slots[line].place) else { return nil }
        return JSON.record(bytes)
    }

    /// The line that starts at `offset`, without its end.
    private func bytes(at offset: Int) throws(Failure) -> ArraySlice<UInt8>? {
        var bytes: [UInt8] = []
        while true {
            let block = try file.read(upTo: 4096, at: offset + bytes.count)
            if block.isEmpty { return nil }
            let start = bytes.count
            bytes += block
            if let stop = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) { return bytes[..<stop] }
        }
    }

    /// Every whole line; `end` is then where the last of them ends.
    private func forEachLine(_ body: (ArraySlice<UInt8>, Int) throws(Failure) -> Void) throws(Failure) {
        var carry: [UInt8] = []
        var offset = 0
        while true {
            let block = try file.read(upTo: 1 << 18, at: offset + carry.count)
            if block.isEmpty { break }
            carry += block
            var rest = carry[...]
            while let stop = rest.firstIndex(of: UInt8(ascii: "\n")) {
                try body(rest[..<stop], offset + rest.startIndex)
                rest = rest[(stop + 1)...]
            }
            offset += rest.startIndex
            carry = Array(rest)
        }
        guard carry.isEmpty || carry.first == UInt8(ascii: "{") else {
            throw Arguments.usage("\(path) is no manifest of framemill; name another file with --manifest")
        }
        end = offset
    }

    /// Only one run at a time may hold a manifest. The name is looked at again once the lock is held: the run
    /// before may have put a new file there.
    private static func openLocked(_ path: String) throws(Failure) -> OpenFile {
        while true {
            let file: OpenFile
            do throws(Failure) { file = try OpenFile(path, for: .update) } catch {
                throw Arguments.usage("--manifest \(path) cannot be written: \(error.message)")
            }
            guard file.status?.isRegular == true else {
                throw Arguments.usage("--manifest \(path) must be a file, as a later run reads it again")
            }
            guard file.lock() else { throw busy(path) }
            if file.status?.isSameFile(as: FileStatus(path: path)) == true { return file }
        }
    }

    private static func busy(_ path: String) -> Failure {
        Arguments.usage(
            "another framemill batch is writing \(path); wait for it, or name another with --manifest")
    }
}
