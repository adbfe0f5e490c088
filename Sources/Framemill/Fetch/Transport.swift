// One thread owns a curl multi handle and with it every connection: hundreds of transfers cost one thread.
// Others talk to it through a mailbox and a wake-up; nothing of curl's is touched from elsewhere but
// `curl_multi_wakeup`, which is made for that ("this function is thread-safe").
//
// Deadlines are kept here and not by curl: a transfer that waits for a free connection to its host has no
// timer there.

internal import CCurl
internal import Dispatch
internal import Foundation
internal import FramemillEngine
internal import FramemillMedia
internal import Synchronization

/// The network thread.
final class Transport: Sendable {
    enum Command: Sendable {
        case start(Transfer)
        case resume(Int)
        case cancel(Int)
    }

    /// What the thread holds: not the transport itself, so that one nobody holds any more closes.
    final class Mailbox: Sendable {
        private struct State {
            var commands: [Command] = []
            var isClosed = false
            /// The multi handle's address, for the wake-up alone; `nil` once the thread is about to free it.
            var multi: UInt?
        }
        private let state: Mutex<State>

        init(multi: UInt) { state = Mutex(State(multi: multi)) }

        func post(_ command: Command) -> Bool {
            state.withLock { state in
                guard !state.isClosed else { return false }
                state.commands.append(command)
                Self.wake(state)
                return true
            }
        }
        func close() {
            state.withLock { state in
                state.isClosed = true
                Self.wake(state)
            }
        }
        func take() -> (commands: [Command], isClosed: Bool) {
            state.withLock { state in
                defer { state.commands = [] }
                return (state.commands, state.isClosed)
            }
        }
        func forgetMulti() { state.withLock { $0.multi = nil } }

        private static func wake(_ state: State) {
            // The handle lives as long as its address is here: `forgetMulti` comes first, under the same
            // lock.
            if let multi = state.multi {
                _ = unsafe curl_multi_wakeup(UnsafeMutableRawPointer(bitPattern: multi))
            }
        }
    }

    private let mailbox: Mailbox
    private let counter = Atomic<Int>(0)
    let meters: Meters

    /// curl wants this once per process, before any other call.
    static let isCurlReady = curl_global_init(Int(CURL_GLOBAL_DEFAULT)) == CURLE_OK

    init(perHost: Int, userAgent: String, guard networks: NetworkGuard, meters: Meters) throws(Failure) {
        guard Self.isCurlReady, let multi = unsafe curl_multi_init() else {
            throw Failure(.internalError, .fetch, "libcurl could not be started")
        }
        // Two options that take a long; the handle was just made.
        _ = unsafe framemill_multi_setopt_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, max(1, perHost))
        _ = unsafe framemill_multi_setopt_long(multi, CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX))
        let address = UInt(bitPattern: multi)
        mailbox = Mailbox(multi: address)
        self.meters = meters
        let thread = Thread { [mailbox] in
            Switchboard(
                multi: address, mailbox: mailbox, userAgent: userAgent, guard: networks, meters: meters
            ).run()
        }
        thread.name = "network"
        thread.start()
    }

    func nextNumber() -> Int { counter.add(1, ordering: .relaxed).newValue }

    func start(_ transfer: Transfer) {
        guard !mailbox.post(.start(transfer)) else { return }
        transfer.sink.end(transfer.number, Self.closed)
    }
    func resume(_ number: Int) { _ = mailbox.post(.resume(number)) }
    func cancel(_ number: Int) { _ = mailbox.post(.cancel(number)) }

    /// Refuses new transfers and ends those that run.
    func close() { mailbox.close() }

    static var closed: Failure { Failure(.closed, .fetch, "the fetcher is closed") }

    deinit { close() }
}

/// What runs on the network thread, from its first line to its last.
/// Safe: the one handle is used on the network thread alone and freed as its last act.
@safe private final class Switchboard {
    private let multi: UnsafeMutableRawPointer
    private let mailbox: Transport.Mailbox
    private let userAgent: String
    private let networks: NetworkGuard
    private let meters: Meters
    private var exchanges: [Int: Exchange] = [:]
    /// From a handle's address to the number of its transfer.
    private var numbers: [UInt: Int] = [:]

    init(
        multi: UInt, mailbox: Transport.Mailbox, userAgent: String, guard networks: NetworkGuard,
        meters: Meters
    ) {
        // The address of a handle that the transport made a moment ago, so it is not zero.
        unsafe self.multi = UnsafeMutableRawPointer(bitPattern: multi)!
        self.mailbox = mailbox
        self.userAgent = userAgent
        self.networks = networks
        self.meters = meters
    }

    func run() {
        Self.blockBrokenPipes()
        while obeyCommands() {
            var running: Int32 = 0
            // The handle is ours alone, and so is the counter.
            unsafe curl_multi_perform(multi, &running)
            handOutResults()
            let wait = endOverdue()
            unsafe curl_multi_poll(multi, nil, 0, wait, nil)
        }
        for number in Array(exchanges.keys) { end(number, Transport.closed) }
        mailbox.forgetMulti()
        // No easy handle is left in it.
        unsafe curl_multi_cleanup(multi)
    }

    /// libcurl with NOSIGNAL leaves SIGPIPE to us, and OpenSSL writes to sockets without MSG_NOSIGNAL.
    private static func blockBrokenPipes() {
        var signals = sigset_t()
        // The set is a local that outlives the three calls.
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }

    /// `false` once the transport is closed. In a function of its own, so that no command is held during the poll: it
    /// holds a sink, which may hold the transport, which then would never close.
    private func obeyCommands() -> Bool {
        let (commands, isClosed) = mailbox.take()
        for command in commands { obey(command) }
        return !isClosed
    }

    private func obey(_ command: Transport.Command) {
        switch command {
        case .start(let transfer):
            guard let exchange = Exchange(transfer, userAgent: userAgent, guard: networks) else {
                transfer.sink.end(
                    transfer.number, Failure(.outOfMemory, .fetch, "libcurl has no memory for a transfer"))
                return
            }
            exchanges[transfer.number] = exchange
            numbers[exchange.key] = transfer.number
            add(exchange)
        case .resume(let number): exchanges[number]?.resume()
        case .cancel(let number): end(number, nil)
        }
    }

    private func add(_ exchange: Exchange) {
        meters.add("fetch.requests")
        // Both handles are alive, and the easy one is in no multi handle.
        if unsafe curl_multi_add_handle(multi, exchange.handle) != CURLM_OK {
            end(exchange.transfer.number, Failure(.internalError, .fetch, "libcurl refused a transfer"))
        }
    }

    private func handOutResults() {
        var left: Int32 = 0
        // A message is valid until the next multi call, so its two facts are copied out first.
        while let message = unsafe curl_multi_info_read(multi, &left) {
            guard unsafe message.pointee.msg == CURLMSG_DONE, let handle = unsafe message.pointee.easy_handle
            else { continue }
            let code = unsafe message.pointee.data.result
            let key = UInt(bitPattern: handle)
            guard let number = numbers[key], let exchange = exchanges[number] else { continue }
            meters.add("fetch.connections", exchange.connectionsMade)
            switch exchange.outcome(code) {
            case .again:
                meters.add("fetch.redirects")
                unsafe curl_multi_remove_handle(multi, handle)
                add(exchange)
            case .retry:
                meters.add("fetch.retries")
                unsafe curl_multi_remove_handle(multi, handle)
                add(exchange)
            case .done(let failure): end(number, failure)
            }
        }
    }

    /// Ends what is past its deadline and says for how many milliseconds the thread may sleep.
    private func endOverdue() -> Int32 {
        let now = ContinuousClock.now
        var next = Duration.seconds(60)
        for (number, exchange) in exchanges {
            let left = now.duration(to: exchange.transfer.deadline)
            if left <= .zero {
                end(number, exchange.overdue)
            } else {
                next = min(next, left)
            }
        }
        return Int32(next / .milliseconds(1)) + 1
    }

    private func end(_ number: Int, _ failure: Failure?) {
        guard let exchange = exchanges.removeValue(forKey: number) else { return }
        numbers[exchange.key] = nil
        // Both handles are alive; the exchange frees its own when the last reference goes, after this line.
        unsafe curl_multi_remove_handle(multi, exchange.handle)
        exchange.transfer.sink.end(number, failure)
    }
}
