import FramemillMedia

/// What `framemill` tells its caller by its exit status.
enum ExitCode: Int32 {
    case allMade = 0
    case someFailed = 1
    /// Bad usage: nothing was run.
    case usage = 2
    case noneMade = 3
    case ownFault = 70
    case interrupted = 130

    /// Of a command about one picture that ended in `failure`.
    init(_ failure: Failure) {
        switch failure.reason {
        case .badOption: self = .usage
        case _ where failure.reason.fault == .us: self = .ownFault
        default: self = .noneMade
        }
    }

    init(made: Int, failed: Int) {
        if failed == 0 { self = .allMade } else { self = made == 0 ? .noneMade : .someFailed }
    }
}
