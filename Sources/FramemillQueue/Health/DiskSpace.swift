internal import Glibc

package enum DiskSpace {
    /// What an ordinary user may still write there; `nil` where nobody can say. Asks the file system, which may take its
    /// time.
    package static func freeBytes(at path: String) -> Int? {
        var info = statvfs()
        // The path and `info` live until the call is over.
        guard unsafe statvfs(path, &info) == 0 else { return nil }
        return Int(clamping: info.f_bavail) * Int(clamping: info.f_frsize)
    }
}
