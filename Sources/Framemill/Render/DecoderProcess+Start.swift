internal import CLinux
internal import FramemillBorder
internal import FramemillMedia
internal import Glibc

extension DecoderProcess {
    /// The parent's ends.
    struct Parts {
        var arena: Arena
        var socket: Int32
        var control: Int32
        var bell: Int32
    }

    static func start(_ path: String, _ words: [String]) throws(Failure) -> (Parts, pid_t) {
        // Those of the decoder, away from the numbers that it finds them under.
        var theirs: [Int32] = []
        var ours: [Int32] = []
        defer { for descriptor in theirs { close(descriptor) } }
        func refusal(_ what: String, _ code: Int32) -> Failure {
            for descriptor in ours { close(descriptor) }
            let isFull = [EMFILE, ENFILE, ENOMEM, EAGAIN].contains(code)
            return Failure(
                isFull ? .outOfMemory : .internalError, .decode, "no decoder could be started: \(what)",
                cause: systemWords(code))
        }
        func high(_ descriptor: Int32) -> Int32 {
            guard descriptor >= 0 else { return -1 }
            let copy = fcntl(descriptor, F_DUPFD_CLOEXEC, 16)
            close(descriptor)
            return copy
        }
        var pair: [Int32] = [-1, -1]
        // Each call writes two numbers, which the array has room for.
        guard unsafe socketpair(AF_UNIX, framemill_socket_kind, 0, &pair) == 0 else {
            throw refusal("socketpair", errno)
        }
        ours.append(pair[0])
        theirs.append(high(pair[1]))
        guard unsafe pipe2(&pair, O_CLOEXEC) == 0 else { throw refusal("pipe2", errno) }
        ours.append(pair[1])
        theirs.append(high(pair[0]))
        let bell = eventfd(0, framemill_eventfd_flags)
        guard bell >= 0 else { throw refusal("eventfd", errno) }
        ours.append(bell)
        guard theirs.allSatisfy({ $0 >= 0 }), let arena = Arena() else {
            throw refusal("memory that is shared", errno)
        }
        var pid: pid_t = 0
        let code = spawn(
            path, words + [String(arena.number)],
            [(theirs[0], Border.socket), (theirs[1], Border.control)], &pid)
        guard code == 0 else { throw refusal(path, code) }
        return (Parts(arena: arena, socket: ours[0], control: ours[1], bell: bell), pid)
    }

    private static func spawn(
        _ path: String, _ words: [String], _ descriptors: [(Int32, Int32)], _ pid: inout pid_t
    ) -> Int32 {
        var actions = unsafe posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        // Both are made and ended here; the paths live through the calls.
        unsafe posix_spawn_file_actions_init(&actions)
        unsafe posix_spawnattr_init(&attributes)
        defer {
            unsafe posix_spawn_file_actions_destroy(&actions)
            unsafe posix_spawnattr_destroy(&attributes)
        }
        for number in Int32(0)..<3 {
            unsafe posix_spawn_file_actions_addopen(
                &actions, number, "/dev/null", number == 0 ? O_RDONLY : O_WRONLY, 0)
        }
        for (source, target) in descriptors {
            unsafe posix_spawn_file_actions_adddup2(&actions, source, target)
        }
        // Whatever else a host has open, close-on-exec or not.
        unsafe posix_spawn_file_actions_addclosefrom_np(&actions, Border.control + 1)
        unsafe framemill_spawn_plain_signals(&attributes)
        let flags = Int16(POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF) | framemill_spawn_session
        unsafe posix_spawnattr_setflags(&attributes, flags)
        // Copies, which both lists own until the end of this call.
        var arguments = unsafe ([path] + words).map { unsafe strdup($0) } + [nil]
        var environment = unsafe environment.map { unsafe strdup($0) } + [nil]
        defer { unsafe (arguments + environment).forEach { unsafe free($0) } }
        return unsafe posix_spawn(&pid, path, &actions, &attributes, &arguments, &environment)
    }

    /// Where libraries are, and what sanitizers are told; nothing else of ours.
    private static var environment: [String] {
        var lines: [String] = []
        for name in ["LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS", "UBSAN_OPTIONS"] {
            // The C library's own text, copied at once.
            if let value = unsafe getenv(name) { lines.append(unsafe "\(name)=\(String(cString: value))") }
        }
        return lines
    }
}
