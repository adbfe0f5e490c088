// A decoder that does what its source says: crash, loop, eat memory, try to get out. Behind the same walls, by the same
// code, as the real one; what is no such word, it decodes as that does.

internal import CFaults
internal import FramemillChild
internal import FramemillEngine
internal import FramemillImaging
internal import FramemillMedia
internal import Glibc

@main
enum Main {
    static func main() {
        let words = Array(CommandLine.arguments.dropFirst())
        // Without walls, to see that it is they who refuse.
        if words.first == "attempts" { return print(Attempts.all.map(\.line).joined(separator: "\n")) }
        DecoderChild.run(Faults(), words)
    }
}

struct Faults: FrameRenderer {
    private let imaging = Imaging()

    func render(
        _ reader: any ByteReader, recipe: Recipe, limits: Limits, crew: Crew, stop: Stop
    ) throws(Failure) -> Artifact {
        try obey(reader, stop)
        return try imaging.render(reader, recipe: recipe, limits: limits, crew: crew, stop: stop)
    }

    func probe(_ reader: any ByteReader, limits: Limits, stop: Stop) throws(Failure) -> Facts {
        try obey(reader, stop)
        return try imaging.probe(reader, limits: limits, stop: stop)
    }

    func animation(
        _ reader: any ByteReader, limits: Limits, stop: Stop
    ) throws(Failure) -> any AnimationDecoder {
        try obey(reader, stop)
        return try imaging.animation(reader, limits: limits, stop: stop)
    }

    func fit(_ bitmap: Bitmap, into box: Recipe.Box, stop: Stop) throws(Failure) -> Bitmap {
        try imaging.fit(bitmap, into: box, stop: stop)
    }

    func encode(_ bitmap: Bitmap, recipe: Recipe, stop: Stop) throws(Failure) -> [UInt8] {
        try imaging.encode(bitmap, recipe: recipe, stop: stop)
    }

    /// `FAULT word`, as the first bytes of a source.
    private func obey(_ reader: any ByteReader, _ stop: Stop) throws(Failure) {
        var head = [UInt8](repeating: 0, count: 32)
        var failure: Failure?
        let count = unsafe head.withUnsafeMutableBytes { room in
            do throws(Failure) { return try unsafe reader.read(at: 0, into: room) } catch {
                failure = error
                return 0
            }
        }
        if let failure { throw failure }
        let words = String(decoding: head[..<count], as: UTF8.self).split(whereSeparator: \.isWhitespace)
        guard words.first == "FAULT", words.count > 1 else { return }
        switch words[1] {
        // Where nothing is, not even in a sanitizer's memory.
        case "segv": unsafe UnsafeMutablePointer<UInt8>(bitPattern: 8)!.pointee = 1
        case "abort": abort()
        // The trap of a Swift program that finds itself wrong: what the pool has to take for a crash, and the test asks for.
        case "trap": fatalError("as asked")
        case "kill": Self.kill(SIGKILL)
        case "exit": exit(3)
        case "loop": while !stop.isCancelled || head.count == 32 {}
        case "patient": while true { try stop.check(.decode) }
        case "memory":
            var all: [[UInt8]] = []
            while true { all.append([UInt8](repeating: 1, count: 16 << 20)) }
        case "stack": _ = Self.deep(0)
        case "attempts":
            throw Failure(.notSupported, .decode, Attempts.all.map(\.line).joined(separator: "\n"))
        case "open": throw Failure(.notSupported, .decode, Attempts.descriptors)
        case "lie": throw Failure(.http(404), .fetch, "as asked")
        default: throw Failure(.badOption, .decode, "no fault of that name")
        }
    }

    /// The one signal that it can send: to itself.
    private static func kill(_ signal: Int32) { framemill_attempt_raise(signal) }

    private static func deep(_ level: Int) -> Int {
        // Memory of the stack, which ends; a compiler would make a loop of less.
        unsafe withUnsafeTemporaryAllocation(byteCount: 1000, alignment: 1) { room in
            unsafe room[level % 1000] = UInt8(truncatingIfNeeded: level)
            return unsafe deep(level + 1) &+ Int(room[level % 7])
        }
    }
}

struct Attempts {
    var name: String
    var code: Int32
    var line: String { "\(name) \(code)" }

    static var all: [Attempts] {
        [
            // The literals live through the calls.
            Attempts(name: "connect", code: framemill_attempt_connect()),
            Attempts(name: "socket", code: framemill_attempt_socket()),
            Attempts(name: "open", code: unsafe framemill_attempt_open("/etc/passwd")),
            Attempts(name: "open-proc", code: unsafe framemill_attempt_open("/proc/self/mem")),
            Attempts(name: "open-nothing", code: unsafe framemill_attempt_open("/no/such/file")),
            Attempts(name: "openat", code: unsafe framemill_attempt_openat(".")),
            Attempts(name: "create", code: unsafe framemill_attempt_create("/no/such/folder/file")),
            Attempts(name: "stat", code: unsafe framemill_attempt_stat("/")),
            Attempts(name: "fork", code: framemill_attempt_fork()),
            Attempts(name: "clone", code: framemill_attempt_thread()),
            Attempts(name: "exec", code: unsafe framemill_attempt_exec("/no/such/program")),
            Attempts(name: "ptrace", code: framemill_attempt_ptrace()),
            Attempts(name: "kill", code: framemill_attempt_kill()),
            Attempts(name: "signal-parent", code: framemill_attempt_signal_parent()),
            Attempts(name: "run-data", code: framemill_attempt_run_data()),
            Attempts(name: "io_uring", code: framemill_attempt_ring()),
        ]
    }

    /// The descriptors that are open, one by one: a poll of a closed one says so.
    static var descriptors: String {
        (Int32(0)..<256).filter { number in
            var place = pollfd(fd: number, events: 0, revents: 0)
            // One place, which is ours.
            return unsafe poll(&place, 1, 0) >= 0 && place.revents & Int16(POLLNVAL) == 0
        }.map(String.init).joined(separator: " ")
    }
}
