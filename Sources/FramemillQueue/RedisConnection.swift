// The wall to hiredis: one blocking connection, used by one lane thread. Every command goes by
// `redisCommandArgv`, with lengths, so that no byte of a job is ever read as a format or as the end of a
// text.

internal import CRedis
internal import FramemillMedia
internal import Glibc

/// What Redis answered.
indirect enum Reply {
    case text(String)
    case number(Int64)
    case list([Reply])
    case none
    /// Redis's own words, such as `NOSCRIPT No matching script`.
    case error(String)

    var text: String? {
        switch self {
        case .text(let text): text
        case .number(let number): "\(number)"
        case .list, .none, .error: nil
        }
    }
    var number: Int64? {
        switch self {
        case .number(let number): number
        case .text(let text): Int64(text)
        case .list, .none, .error: nil
        }
    }
    var list: [Reply] {
        if case .list(let replies) = self { replies } else { [] }
    }
}

@safe struct RedisConnection: ~Copyable {
    private let context: UnsafeMutablePointer<redisContext>
    private let name: String

    /// Connects, logs in and chooses the database.
    /// - Parameter seconds: the most that connecting, and later each answer, may take.
    static func open(_ address: RedisAddress, seconds: Int) throws(Failure) -> RedisConnection {
        blockPipeSignal()
        let limit = timeval(tv_sec: seconds, tv_usec: 0)
        let connection = try RedisConnection(address, limit)
        try connection.settle(address, limit)
        return connection
    }

    private init(_ address: RedisAddress, _ limit: timeval) throws(Failure) {
        // The texts live until the calls are over; hiredis keeps copies.
        let opened =
            switch address.place {
            case .host(let host, let port): unsafe redisConnectWithTimeout(host, CInt(port), limit)
            case .socket(let path): unsafe redisConnectUnixWithTimeout(path, limit)
            }
        guard let opened = unsafe opened else {
            throw Failure(.outOfMemory, .queue, "no memory for a connection")
        }
        unsafe context = opened
        name = address.displayName
    }

    private func settle(_ address: RedisAddress, _ limit: timeval) throws(Failure) {
        // Whether it stands is told by a field of the context.
        guard unsafe context.pointee.err == 0 else { throw lost() }
        guard unsafe redisSetTimeout(context, limit) == REDIS_OK else { throw lost() }
        // A peer that vanished without a word is found out even while nothing is asked.
        if case .host = address.place { _ = unsafe redisEnableKeepAlive(context) }
        if let password = address.password {
            try agree(["AUTH"] + (address.user.map { [$0] } ?? []) + [password], "logging in")
        }
        if address.database != 0 { try agree(["SELECT", "\(address.database)"], "choosing the database") }
    }

    deinit { unsafe redisFree(context) }

    /// One command and its answer.
    /// - Throws: `unreachable` when the connection is gone; then it is of no use any more.
    func command(_ words: [String]) throws(Failure) -> Reply {
        let bytes = words.map { Array($0.utf8) }
        var lengths = bytes.map(\.count)
        let joined = bytes.flatMap { $0 }
        // The pointers lead into `joined`, which holds still in the closure; an empty word may stand at its
        // end.
        let answer: UnsafeMutableRawPointer? = unsafe joined.withUnsafeBytes { all in
            guard let start = unsafe all.baseAddress?.assumingMemoryBound(to: CChar.self) else { return nil }
            var offset = 0
            var pointers: [UnsafePointer<CChar>?] = unsafe []
            for length in lengths {
                unsafe pointers.append(start + offset)
                offset += length
            }
            return unsafe redisCommandArgv(context, CInt(lengths.count), &pointers, &lengths)
        }
        guard let answer = unsafe answer else { throw lost() }
        // The answer is ours until it is freed, and only values of it leave.
        defer { unsafe freeReplyObject(answer) }
        return unsafe Self.value(answer.assumingMemoryBound(to: redisReply.self))
    }

    private func agree(_ words: [String], _ what: String) throws(Failure) {
        if case .error(let problem) = try command(words) { throw RedisProblem.failure(problem, what, name) }
    }

    private static func value(_ reply: UnsafePointer<redisReply>) -> Reply {
        // hiredis fills the fields that belong to the type: `len` bytes at `str`, `elements` pointers at
        // `element`.
        switch unsafe reply.pointee.type {
        case REDIS_REPLY_STRING, REDIS_REPLY_STATUS: return .text(unsafe words(reply))
        case REDIS_REPLY_ERROR: return .error(unsafe words(reply))
        case REDIS_REPLY_INTEGER: return .number(unsafe reply.pointee.integer)
        case REDIS_REPLY_ARRAY:
            var list: [Reply] = []
            unsafe list.reserveCapacity(reply.pointee.elements)
            for index in 0..<(unsafe reply.pointee.elements) {
                if let element = unsafe reply.pointee.element[index] { list.append(unsafe value(element)) }
            }
            return .list(list)
        default: return .none
        }
    }

    private static func words(_ reply: UnsafePointer<redisReply>) -> String {
        let bytes = unsafe UnsafeRawBufferPointer(start: reply.pointee.str, count: reply.pointee.len)
        return unsafe String(decoding: bytes, as: UTF8.self)
    }

    private func lost() -> Failure {
        let words = unsafe withUnsafePointer(to: &context.pointee.errstr) {
            // hiredis ends its words with a zero.
            unsafe String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self))
        }
        return Failure(.unreachable, .queue, "no answer from \(name)", cause: words.isEmpty ? nil : words)
    }

    /// hiredis writes without MSG_NOSIGNAL: to a peer that is gone that would end the process, unless the
    /// thread that writes does not take the signal.
    private static func blockPipeSignal() {
        var mask = sigset_t()
        // `mask` outlives the calls, which fill and read it.
        unsafe sigemptyset(&mask)
        _ = unsafe sigaddset(&mask, SIGPIPE)
        _ = unsafe pthread_sigmask(SIG_BLOCK, &mask, nil)
    }
}

/// From Redis's words to ours: the first of them is a code.
enum RedisProblem {
    /// Whether another connection, or a moment later, may do: a replica that took over, a server that still
    /// loads.
    static func isPassing(_ words: String) -> Bool {
        ["READONLY", "LOADING", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "BUSY"].contains(code(words))
    }

    static func failure(_ words: String, _ what: String, _ name: String) -> Failure {
        switch code(words) {
        case _ where isPassing(words):
            Failure(.unreachable, .queue, "\(name) can't be written now, \(what)", cause: words)
        case "NOAUTH", "WRONGPASS", "NOPERM":
            Failure(.badOption, .queue, "\(name) refuses us, \(what): check user and password", cause: words)
        case "OOM":
            Failure(.writeFailed, .queue, "\(name) is full (its maxmemory), \(what)", cause: words)
        case "MISCONF":
            Failure(
                .writeFailed, .queue, "\(name) can't save to its disk and refuses writes, \(what)",
                cause: words)
        case "WRONGTYPE":
            Failure(
                .writeFailed, .queue,
                "\(name) has something else under a name of the queue's, \(what): use another database, or remove it",
                cause: words)
        // Without a code of their own.
        case _ where words.contains("DB index"):
            Failure(.badOption, .queue, "\(name) has no such database: look at the address", cause: words)
        case _ where words.contains("AUTH") && words.contains("without any password"):
            Failure(.badOption, .queue, "\(name) wants no password: leave it out", cause: words)
        default: Failure(.internalError, .queue, "\(name) did not understand us, \(what)", cause: words)
        }
    }

    /// An error from inside a script carries the code too, in some versions behind `ERR`.
    private static func code(_ words: String) -> String {
        let parts = words.split(separator: " ")
        let first = parts.first.map(String.init) ?? ""
        if first == "ERR", let second = parts.dropFirst().first, second == "OOM" || second == "READONLY" {
            return String(second)
        }
        return first
    }
}
