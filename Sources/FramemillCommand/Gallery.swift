// One page that needs nothing beside it: every cover is inside as a data URI, styles and script too. It is
// written as the manifest is read, one card at a time, so a list of any length costs the memory of one cover.
// The browser decodes a picture when it comes near the screen.

internal import FoundationEssentials
internal import Glibc
import Framemill

struct Gallery: ~Copyable {
    private let file: OpenFile
    private var buffer: [UInt8] = []

    /// A page that can't be written, or would take the place of something else, is told before anything is made.
    static func check(_ path: String, _ options: BatchOptions) throws(Failure) {
        let wrong = "--gallery \(path) cannot be written"
        if path == options.manifest { throw Arguments.usage("--gallery and --manifest name the same file") }
        if let status = FileStatus(path: path) {
            guard status.isRegular else { throw Arguments.usage("\(wrong): it must be a file") }
            for (name, other) in [("LIST", Optional(options.list)), ("--manifest", options.manifest)]
            where other.map({ status.isSameFile(as: FileStatus(path: $0)) }) ?? false {
                throw Arguments.usage("--gallery and \(name) name the same file")
            }
        }
        do throws(Failure) {
            _ = try Gallery(path + ".new")
        } catch {
            throw Arguments.usage("\(wrong): \(error.message)")
        }
        // The path is used only within the call.
        _ = unsafe unlink(path + ".new")
    }

    /// - Parameter isStopped: asked before each card; the page is then closed where it stands.
    static func write(
        to path: String, from manifest: Manifest, folder: OutputFolder, isStopped: () -> Bool
    ) throws(Failure) {
        let temporary = path + ".new"
        var isWritten = false
        // The path is used only within the call.
        defer { if !isWritten { _ = unsafe unlink(temporary) } }
        var gallery = try Gallery(temporary)
        try gallery.put(GalleryPage.head)
        var made = 0
        var failed = 0
        try manifest.forEach { (record) throws(Failure) in
            if isStopped() { return }
            if record.isMade { made += 1 } else { failed += 1 }
            try gallery.put(GalleryPage.card(record, cover: picture(record, folder)))
        }
        try gallery.put(GalleryPage.tail(made: made, failed: failed))
        try gallery.finish()
        // Both paths are used only within the call.
        guard unsafe rename(temporary, path) == 0 else {
            throw SystemError.failure(.writeFailed, "the gallery \(path) was not written")
        }
        isWritten = true
    }

    private init(_ path: String) throws(Failure) {
        file = try OpenFile(path, for: .replace)
    }

    private mutating func put(_ text: String) throws(Failure) {
        buffer += text.utf8
        if buffer.count > 1 << 18 { try flush() }
    }

    private mutating func flush() throws(Failure) {
        try file.write(buffer)
        buffer.removeAll(keepingCapacity: true)
    }

    private mutating func finish() throws(Failure) {
        try flush()
        try file.sync()
    }

    /// The cover as a data URI; `nil` where its file has gone.
    private static func picture(_ record: Record, _ folder: OutputFolder) throws(Failure) -> String? {
        guard let name = record.file, let facts = record.facts, !name.contains("/") else { return nil }
        let path = folder.place(of: name)
        guard let status = FileStatus(path: path), status.isRegular else { return nil }
        let bytes = try OpenFile(path, for: .read).read(upTo: status.byteCount)
        return "data:image/\(facts.format);base64,\(Data(bytes).base64EncodedString())"
    }
}
