internal import Glibc
import FramemillMedia

/// The same program with the same words in the same process: for systemd and for containers nothing has happened, which
/// no exit code can say to both, and it needs neither of them.
enum Restart {
    /// - Returns: why it could not be.
    static func now() -> Failure {
        // The words of this process live as long as it does. "/proc/self/exe" is the file that was started, although
        // another may have its name by now.
        _ = unsafe execv("/proc/self/exe", CommandLine.unsafeArgv)
        // A text that lives until the next call of its kind.
        return Failure(
            .internalError, .input, "cannot start again",
            cause: unsafe String(cString: strerror(errno)))
    }
}
