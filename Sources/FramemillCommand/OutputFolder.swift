// Covers appear whole or not at all: a unique temporary name in the same directory, sync, rename. What a
// killed run left behind carries the number of its process; the next run sweeps what belongs to processes
// that are gone.
//
// Not O_TMPFILE and linkat: a link cannot take the place of a file that is there.

internal import Glibc
internal import Synchronization
import FramemillMedia

struct OutputFolder: Sendable {
    let path: String
    private static let counter = Atomic<Int>(0)
    private static let mark = ".framemill-"

    private let option: String

    /// - Parameter option: that named it, for what is said of it.
    init(_ path: String, option: String = "--out") {
        self.path = path
        self.option = option
    }

    /// Makes the directory and proves that it can be written, before anything is run.
    func prepare() throws(Failure) {
        do throws(Failure) { try make() } catch {
            throw Failure(.badOption, .input, "\(option) \(path) cannot be made: \(error.message)")
        }
        do throws(Failure) {
            try sweep()
            let name = temporaryName()
            _ = try OpenFile(name, for: .create)
            // The path is used only within the call.
            _ = unsafe unlink(name)
        } catch {
            throw Failure(.badOption, .input, "\(option) \(path) cannot be written: \(error.message)")
        }
    }

    /// The directory, and those above it.
    private func make() throws(Failure) {
        var partial = path.hasPrefix("/") ? "/" : ""
        for part in path.split(separator: "/") {
            partial += "\(part)/"
            if FileStatus(path: partial)?.isDirectory == true { continue }
            // The path is used only within the call. Another process may have been faster.
            if unsafe mkdir(partial, 0o777) != 0, errno != EEXIST {
                throw SystemError.failure(.writeFailed, "cannot make \(partial)")
            }
        }
    }

    /// The path is used only within the call.
    static func isWritable(_ folder: String) -> Bool { unsafe access(folder, W_OK | X_OK) == 0 }

    func place(of name: String) -> String { path + "/" + name }

    func write(_ bytes: [UInt8], as name: String) throws(Failure) {
        try Self.write(bytes, to: place(of: name), temporary: temporaryName())
    }

    private func temporaryName() -> String {
        let number = Self.counter.add(1, ordering: .relaxed).newValue
        return place(of: "\(Self.mark)\(getpid())-\(number).tmp")
    }

    /// Puts one file in place, whole; on any failure nothing is left of it.
    static func write(_ bytes: [UInt8], to path: String, temporary: String) throws(Failure) {
        guard !bytes.isEmpty else { throw Failure(.internalError, .store, "an empty cover is never written") }
        do throws(Failure) {
            let file = try OpenFile(temporary, for: .create)
            try file.write(bytes)
            try file.sync()
            // Both paths are used only within the call.
            guard unsafe rename(temporary, path) == 0 else {
                throw SystemError.failure(.writeFailed, "cannot name \(path)")
            }
        } catch {
            // As above.
            _ = unsafe unlink(temporary)
            throw Failure(
                .writeFailed, .store, "\(path) was not written: \(error.message)", cause: error.cause)
        }
    }

    /// Puts one file in place beside which a temporary one may be made.
    static func write(_ bytes: [UInt8], to path: String) throws(Failure) {
        let number = counter.add(1, ordering: .relaxed).newValue
        let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast()
        let parent = path.contains("/") ? folder.joined(separator: "/") : "."
        try write(bytes, to: path, temporary: "\(parent)/\(mark)\(getpid())-\(number).tmp")
    }

    /// Removes the temporary files of processes that are gone, one name in memory at a time.
    private func sweep() throws(Failure) {
        // The path is used only within the call; the handle is closed below, on every way out.
        guard let directory = unsafe opendir(path) else {
            throw SystemError.failure(.writeFailed, "cannot list \(path)")
        }
        defer { _ = unsafe closedir(directory) }
        // The entry belongs to the handle until the next call; its name is copied before that.
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
            }
            guard name.hasPrefix(Self.mark), name.hasSuffix(".tmp") else { continue }
            guard let owner = Int32(name.dropFirst(Self.mark.count).prefix { $0 != "-" }), owner > 0 else {
                continue
            }
            // A new process may have the old one's number, most of all in a container.
            let isGone = owner == getpid() || kill(owner, 0) != 0 && errno == ESRCH
            // As above.
            if isGone { _ = unsafe unlink(place(of: name)) }
        }
    }
}
