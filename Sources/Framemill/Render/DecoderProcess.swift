// One decoder: started, spoken to, and waited for. It gets two descriptors (the socket, and a pipe that says which job
// is not wanted any more), memory that both share, a session of its own, and no environment to speak of: secrets of
// the program are none of its business. The rest of its walls it puts up itself, before it reads anything.

internal import CLinux
internal import FramemillBorder
internal import FramemillMedia
internal import Glibc
internal import Synchronization

final class DecoderProcess: Sendable {
    let pid: pid_t
    let arena: Arena
    /// Held by the one who has a job for it.
    let talk: Mutex<Talk>
    private let socket: Int32
    private let control: Int32
    /// Raised by whoever cancels, for the thread that waits on the socket.
    private let bell: Int32
    /// `/proc/PID/statm`; -1 where that is not to be had.
    private let memory: Int32
    private let ending = Mutex<Ending?>(nil)

    struct Talk: ~Copyable {
        var line: Line
        var hasGreeted = false
        /// Jobs begun.
        var jobs = 0
        /// The animation that it had last.
        var session = 0
    }

    /// How it ended.
    enum Ending: Sendable, Equatable {
        case code(Int32)
        case signal(Int32)
        /// Somebody else has waited for it.
        case unknown
    }

    init(_ path: String, helpers: Int, memoryBytes: Int) throws(Failure) {
        let (parts, pid) = try Self.start(path, [String(helpers), String(memoryBytes)])
        self.pid = pid
        (arena, socket, control, bell) = (parts.arena, parts.socket, parts.control, parts.bell)
        talk = Mutex(Talk(line: Line(parts.socket)))
        memory = unsafe open("/proc/\(pid)/statm", O_RDONLY | O_CLOEXEC)
    }

    deinit {
        end()
        for descriptor in [socket, control, bell, memory] where descriptor >= 0 { close(descriptor) }
    }

    var isRunning: Bool {
        ending.withLock { ending in
            if ending == nil { ending = wait(WNOHANG) }
            return ending == nil
        }
    }

    /// Kills it if it still runs, waits for it, and says how it ended.
    @discardableResult
    func end() -> Ending {
        ending.withLock { ending in
            if let ending { return ending }
            // It is not waited for yet, so that the number is still its.
            kill(pid, SIGKILL)
            let end = wait(0) ?? .unknown
            ending = end
            return end
        }
    }

    private func wait(_ flags: Int32) -> Ending? {
        var status: Int32 = 0
        while true {
            let got = unsafe waitpid(pid, &status, flags)
            if got == 0 { return nil }
            if got < 0, errno == EINTR { continue }
            if got < 0 { return .unknown }
            let signal = status & 0x7F
            return signal == 0 ? .code(status >> 8 & 0xFF) : .signal(signal)
        }
    }

    /// What it has in memory now.
    var residentBytes: Int {
        var text = [UInt8](repeating: 0, count: 128)
        guard memory >= 0 else { return 0 }
        // No more than the array holds.
        let count = unsafe text.withUnsafeMutableBytes { unsafe pread(memory, $0.baseAddress, $0.count, 0) }
        let words = String(decoding: text[..<max(0, count)], as: UTF8.self).split(separator: " ")
        return words.count > 1 ? (Int(words[1]) ?? 0) * Int(getpagesize()) : 0
    }

    /// Lets it compute for so many more seconds of all its threads, in case nobody is left to kill it in time.
    func allow(cpuSeconds: Int) {
        var clock: clockid_t = 0
        var used = timespec()
        // Both are ours to write to. Where the system does not tell, the deadline alone holds.
        guard unsafe clock_getcpuclockid(pid, &clock) == 0, unsafe clock_gettime(clock, &used) == 0 else {
            return
        }
        var limit = rlimit(rlim_cur: rlim_t(used.tv_sec + cpuSeconds + 1), rlim_max: rlim_t.max)
        _ = unsafe prlimit(pid, RLIMIT_CPU.rawValue, &limit, nil)
    }

    /// Tells it that nobody wants this job any more.
    func cancel(_ job: Int) {
        var number = UInt64(job)
        // Eight bytes, which a pipe takes whole; a decoder that is gone needs no word.
        _ = unsafe write(control, &number, 8)
    }

    func ring() { Self.add(1, to: bell) }

    func quiet() {
        var count: UInt64 = 0
        // Eight bytes, or nothing where nobody has rung.
        _ = unsafe read(bell, &count, 8)
    }

    private static func add(_ number: UInt64, to bell: Int32) {
        var number = number
        // As many bytes as it has.
        _ = unsafe write(bell, &number, 8)
    }

    enum News { case message, bell, nothing }

    /// Waits until there is something to receive, somebody rings, or so much time has passed.
    func listen(_ limit: Duration) -> News {
        var places = [
            pollfd(fd: socket, events: Int16(POLLIN), revents: 0),
            pollfd(fd: bell, events: Int16(POLLIN), revents: 0),
        ]
        let (seconds, attoseconds) = limit.components
        // Rounded up, or it would ask again and again within the last millisecond.
        let milliseconds = min(seconds, 1 << 20) * 1000 + attoseconds / 1_000_000_000_000_000 + 1
        // The array has two places.
        let count = unsafe places.withUnsafeMutableBufferPointer {
            unsafe poll($0.baseAddress, 2, Int32(milliseconds))
        }
        if count <= 0 { return .nothing }
        return places[1].revents != 0 ? .bell : .message
    }
}
