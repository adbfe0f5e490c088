internal import FramemillBorder
internal import FramemillEngine
internal import FramemillMedia
internal import Glibc

extension DecoderPool {
    /// Why a decoder that is gone did not give what it was asked for.
    func failure(
        _ error: LineError, _ ending: DecoderProcess.Ending, _ stop: Stop, hasGreeted: Bool
    ) -> Failure {
        switch error {
        case .nonsense(let words):
            return Self.crash("broke the rules of its border", words)
        case .late where stop.isCancelled:
            return Failure(.cancelled, .decode, "cancelled by the caller")
        case .late:
            return Self.late
        case .ended:
            break
        }
        if !hasGreeted {
            // Before it had a byte of the source.
            return Failure(
                .internalError, .decode,
                "the decoder process ended before it began; does it run, and find its libraries?",
                cause: Self.words(ending))
        }
        switch ending {
        case .code(Border.Ending.memory): return tooMuchMemory(nil)
        case .signal(SIGXCPU): return Self.late
        case .code: return Self.crash("ended by itself", Self.words(ending))
        case .signal(SIGKILL):
            return Self.crash("was killed, as the system does when memory runs out", Self.words(ending))
        case .signal: return Self.crash("crashed", Self.words(ending))
        case .unknown: return Self.crash("is gone", nil)
        }
    }

    func tooMuchMemory(_ cause: String?) -> Failure {
        Failure(
            .tooMuchMemory, .decode,
            "the picture needs more than the \(memoryBytes >> 20) MiB that a decoder may take "
                + "(DecoderOptions.memoryBytes)", cause: cause)
    }

    static func crash(_ what: String, _ cause: String?) -> Failure {
        Failure(.decoderCrashed, .decode, "the decoder process \(what); others are not touched", cause: cause)
    }

    private static var late: Failure {
        Failure(
            .timeout, .decode,
            "the decoder did not end by the deadline and was killed (Limits.deadline, --deadline SECONDS)")
    }

    private static func words(_ ending: DecoderProcess.Ending) -> String? {
        let names = [
            SIGKILL: "SIGKILL", SIGSEGV: "SIGSEGV", SIGABRT: "SIGABRT", SIGILL: "SIGILL", SIGBUS: "SIGBUS",
            SIGTRAP: "SIGTRAP",
            SIGFPE: "SIGFPE", SIGTERM: "SIGTERM", SIGSYS: "SIGSYS",
        ]
        return switch ending {
        case .code(let code): "exit code \(code)"
        case .signal(let number): "signal \(number)" + (names[number].map { ", \($0)" } ?? "")
        case .unknown: nil
        }
    }
}
