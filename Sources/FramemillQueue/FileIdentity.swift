internal import Glibc

/// Which file a path leads to, whatever it is called by now.
struct FileIdentity: Equatable {
    private var device: UInt64
    private var number: UInt64

    /// `nil` where nothing is.
    init?(_ path: String) {
        var status = stat()
        // The path and `status` live until the call is over.
        guard unsafe stat(path, &status) == 0 else { return nil }
        (device, number) = (UInt64(status.st_dev), UInt64(status.st_ino))
    }
}
