// The pages that canvases lie on. Advice to the system: where it is not taken, nothing changes but the time.

internal import Glibc

enum CanvasPages {
    /// From here on glibc gets memory from the system for one canvas alone, whatever it is set to.
    static let giantBytes = 32 << 20

    /// A new canvas of many megabytes costs more to get from the system, by pages of 4 KiB, than to draw. Advice: where it
    /// is not taken, nothing changes.
    static func preferLarge(_ room: UnsafeMutableRawBufferPointer) {
        guard room.count >= 4 << 20, let pages = unsafe pages(in: room) else { return }
        _ = unsafe madvise(pages.baseAddress, pages.count, MADV_HUGEPAGE)
    }

    /// Makes a canvas transparent by leaving its pages to the system, which gives zeros for them once they are touched
    /// (madvise(2), MADV_DONTNEED on memory of one's own): a small picture on a giant canvas then writes a few pages, not
    /// all of them. Only where `malloc` has just got these pages by themselves, as glibc does from 32 MiB on whatever it is
    /// set to; to throw away used ones would cost more than to clear them.
    static func areZero(_ address: UInt, byteCount: Int) -> Bool {
        // The canvas that `arrays` holds open.
        let room = unsafe UnsafeMutableRawBufferPointer(
            start: UnsafeMutableRawPointer(bitPattern: address), count: byteCount)
        guard byteCount >= giantBytes, let pages = unsafe pages(in: room), let start = room.baseAddress,
            let first = pages.baseAddress, unsafe madvise(first, pages.count, MADV_DONTNEED) == 0
        else { return false }
        // What lies before the first whole page and behind the last.
        let before = unsafe first - start
        unsafe start.initializeMemory(as: UInt8.self, repeating: 0, count: before)
        unsafe (first + pages.count).initializeMemory(
            as: UInt8.self, repeating: 0, count: byteCount - before - pages.count)
        return true
    }

    /// The whole pages inside of memory, which belong to nobody else.
    private static func pages(in room: UnsafeMutableRawBufferPointer) -> UnsafeMutableRawBufferPointer? {
        let page = 4096
        guard let start = room.baseAddress else { return nil }
        let skipped = -Int(bitPattern: start) & (page - 1)
        guard room.count >= skipped + page else { return nil }
        return unsafe UnsafeMutableRawBufferPointer(
            start: start + skipped, count: (room.count - skipped) & ~(page - 1))
    }
}
