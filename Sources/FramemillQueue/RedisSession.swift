internal import FramemillMedia

/// What the lane's thread holds: a connection, made when it is needed and again when it is gone, and the
/// names under which Redis keeps our scripts.
struct Session: ~Copyable {
    private let address: RedisAddress
    private var connection: RedisConnection?
    private var names: [Script: String] = [:]
    /// The most that connecting and each answer may take. Scripts take milliseconds; a server that forks to
    /// save, some hundred.
    private static let seconds = 5

    init(_ address: RedisAddress) {
        self.address = address
        connection = nil
    }

    mutating func run(_ script: Script, _ prefix: String, _ arguments: [String]) throws(Failure) -> Reply {
        try answered(script.rawValue) { (session) throws(Failure) in
            let name = try session.name(of: script)
            let reply = try session.command(["EVALSHA", name, "1", prefix] + arguments)
            guard case .error(let words) = reply, words.hasPrefix("NOSCRIPT") else { return reply }
            // Redis was restarted, or somebody flushed its scripts.
            session.names = [:]
            return try session.command(["EVALSHA", session.name(of: script), "1", prefix] + arguments)
        }
    }

    mutating func ask(_ words: [String]) throws(Failure) -> Reply {
        try answered(words[0]) { (session) throws(Failure) in try session.command(words) }
    }

    /// Once more over a new connection when the old one is gone, or leads to a server that can't be written
    /// any more.
    private mutating func answered(
        _ what: String, _ body: (inout Session) throws(Failure) -> Reply
    ) throws(Failure) -> Reply {
        let isFresh = connection == nil
        do throws(Failure) { return try Self.checked(what, address, try body(&self)) } catch {
            guard error.reason == .unreachable else { throw error }
            drop()
            if isFresh { throw error }
        }
        do throws(Failure) { return try Self.checked(what, address, try body(&self)) } catch {
            if error.reason == .unreachable { drop() }
            throw error
        }
    }

    private mutating func drop() {
        connection = nil
        names = [:]
    }

    private static func checked(
        _ what: String, _ address: RedisAddress, _ reply: Reply
    ) throws(Failure) -> Reply {
        guard case .error(let words) = reply else { return reply }
        throw RedisProblem.failure(words, what, address.displayName)
    }

    private mutating func name(of script: Script) throws(Failure) -> String {
        if let name = names[script] { return name }
        let reply = try Self.checked("SCRIPT LOAD", address, try command(["SCRIPT", "LOAD", script.text]))
        guard let name = reply.text else {
            throw Failure(.internalError, .queue, "\(address.displayName) gave no name for a script")
        }
        names[script] = name
        return name
    }

    private mutating func command(_ words: [String]) throws(Failure) -> Reply {
        if connection == nil { connection = try .open(address, seconds: Self.seconds) }
        return try connection!.command(words)
    }
}
