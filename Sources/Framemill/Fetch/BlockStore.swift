// What is known of one HTTP source, shared by the thread that reads and the thread that dials.
//
// Ranged servers: pieces in memory, at most `memory` bytes; a read that misses asks for a window that doubles
// while reads run on and falls back to 64 KiB after a jump; a read a little ahead of a transfer under way
// waits for it. `expect` asks for exactly one range. Servers without ranges: the one body goes into a spool
// and reads wait for their offset. Either way a transfer that runs far ahead of the reads is paused, and
// every byte counts against `Limits.sourceBytes`.

internal import Dispatch
internal import FramemillEngine
internal import FramemillMedia
internal import Synchronization

final class BlockStore: Sendable {
    enum Found {
        case bytes(Int)
        case spooled(OpenFile, Int)
        /// Nothing yet: ask again after the signal.
        case wait(DispatchSemaphore)
    }

    /// A transfer under way.
    struct Active {
        var range: Range<Int64>
        /// Where the next byte goes.
        var position: Int64
        /// Up to where it was read, to know how far ahead it is.
        var consumed: Int64
        var isPaused = false
    }

    struct State {
        var location: Location.Web
        var total: Int64?
        var version: String?
        var validator: String?
        /// What the first answer said, and when.
        var answer: Answer?
        var isUnchanged = false
        /// Whether the origin said that `blocks` are of its present version.
        var isConfirmed = false
        var usesBlocks = false
        /// Whether there is something that was not kept before.
        var hasNews = false
        var extents = ExtentCache(capacity: BlockStore.memory)
        var spool: Spool?
        var active: [Int: Active] = [:]
        var isOpen = false
        var bytes: Int64 = 0
        var requests = 0
        var failure: Failure?
        var window = BlockStore.smallestWindow
        /// Where the last window ended: a read there runs on.
        var windowEnd: Int64 = 0
        var readers: [DispatchSemaphore] = []
        var opener: CheckedContinuation<Void, Never>?
    }

    /// No source has a byte here. Files and servers name offsets up to the largest number; sums below this can't
    /// overflow.
    static let farthest: Int64 = 1 << 62
    static let smallestWindow: Int64 = 64 << 10
    static let largestWindow: Int64 = 512 << 10
    /// Two transfers may be this far ahead of their reads and still fit the pieces in memory.
    static let ahead: Int64 = 2 << 20
    static let memory = 8 << 20
    /// Waiting for so many bytes costs about as much as another request.
    static let waitableGap: Int64 = 256 << 10

    let limits: Limits
    let stop: Stop
    let transport: Transport
    let now: @Sendable () -> Int
    /// Of the first request.
    let asked: Int
    /// What is kept of this source: the first request asks for anything else.
    let known: Freshness?
    /// Bytes of it that are kept, to be used if it still is the same version.
    let blocks: SourceBlocks?
    let state: Mutex<State>

    /// - Parameter trusts: whether `blocks` may be used without a question.
    init(
        _ location: Location.Web, unless known: Freshness?, blocks: SourceBlocks? = nil, trusts: Bool = false,
        limits: Limits, stop: Stop, transport: Transport, now: @escaping @Sendable () -> Int
    ) {
        self.now = now
        self.blocks = blocks
        asked = now()
        self.known = known
        self.limits = limits
        self.stop = stop
        self.transport = transport
        var first = State(location: location)
        if let blocks, trusts { Self.use(blocks, &first) }
        first.isOpen = first.usesBlocks
        state = Mutex(first)
    }

    /// Asks for the first block and waits until it is in, or what came of it; nobody, where it may use what is kept.
    func open() async {
        if state.withLock({ $0.isOpen }) { return }
        await withCheckedContinuation { waiter in
            let first = state.withLock { state -> Transfer? in
                guard state.failure == nil else { return nil }
                state.opener = waiter
                state.windowEnd = Self.smallestWindow
                var first = order(0..<Self.smallestWindow, &state)
                first.known = condition
                return first
            }
            if let first { transport.start(first) } else { waiter.resume() }
        }
    }

    func checkOpened() throws(Failure) {
        if let failure = state.withLock({ $0.failure }) { throw failure }
    }

    /// What the first answer said; `nil` where none came.
    var answer: Answer? { state.withLock { $0.answer } }
    /// Whether the source still is what was known of it; there is nothing to read then.
    var isUnchanged: Bool { state.withLock { $0.isUnchanged } }

    var byteCount: Int64? { state.withLock { $0.total } }
    var cost: (bytes: Int64, requests: Int) { state.withLock { ($0.bytes, $0.requests) } }

    /// Ends everything under way; the first failure is the one that counts.
    func fail(_ failure: Failure) {
        let numbers = state.withLock { state in
            if state.failure == nil { state.failure = failure }
            return Array(state.active.keys)
        }
        for number in numbers { transport.cancel(number) }
        tell()
    }

    /// Wakes who waits, outside the lock.
    func tell() {
        let (readers, opener) = state.withLock { state in
            defer { state.readers = [] }
            let isReady = state.isOpen || state.failure != nil
            defer { if isReady { state.opener = nil } }
            return (state.readers, isReady ? state.opener : nil)
        }
        for reader in readers { reader.signal() }
        opener?.resume()
    }
}

// MARK: - The reading side

extension BlockStore {
    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Found {
        let news = DispatchSemaphore(value: 0)
        var orders: [Transfer] = []
        var resumed: [Int] = []
        var dropped: [Int] = []
        let outcome: Result<Found, Failure> = state.withLock { state in
            do throws(Failure) {
                let answer = try unsafe look(at: offset, into: buffer, &state)
                noteReading(at: offset, count: buffer.count, answer, &state, &resumed)
                if let answer {
                    if case .bytes(let count) = answer {
                        readAhead(of: offset + Int64(count), &state, &orders)
                    }
                    return .success(answer)
                }
                if state.spool == nil { try request(offset, buffer.count, &state, &orders, &dropped) }
                state.readers.append(news)
                return .success(.wait(news))
            } catch {
                return .failure(error)
            }
        }
        for number in dropped { transport.cancel(number) }
        for transfer in orders { transport.start(transfer) }
        for number in resumed { transport.resume(number) }
        return try outcome.get()
    }

    /// Asks for exactly this range, less what is there or on its way.
    func expect(_ range: Range<Int64>) {
        let transfer = state.withLock { state -> Transfer? in
            guard state.spool == nil, state.failure == nil else { return nil }
            let start = nextWanted(from: max(0, range.lowerBound), state)
            let end = limit(min(range.upperBound, state.total ?? Self.farthest), after: start, state)
            guard start < end else { return nil }
            guard state.bytes + (end - start) <= limits.sourceBytes else {
                state.failure = overBudget(state.bytes + (end - start), state)
                return nil
            }
            return order(start..<end, &state)
        }
        if let transfer { transport.start(transfer) }
    }

    /// What can be answered at once; `nil` when it takes the network.
    private func look(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer, _ state: inout State
    ) throws(Failure) -> Found? {
        if let total = state.total, offset >= total { return .bytes(0) }
        if let spool = state.spool {
            let count = min(Int64(buffer.count), spool.byteCount - offset)
            if count > 0 { return .spooled(spool.file, Int(count)) }
            if spool.isWhole { return .bytes(0) }
            if offset >= limits.sourceBytes, state.failure == nil {
                let size = state.total.map { "\($0) bytes" } ?? "a body of unknown length"
                throw Failure(
                    .noRange, .fetch,
                    "\(name(state)) serves no ranges, and byte \(offset) of \(size) lies past "
                        + "\(limits.sourceBytes) (Limits.sourceBytes)")
            }
        } else {
            let count = unsafe state.extents.copy(from: offset, into: buffer)
            if count > 0 { return .bytes(count) }
        }
        if let failure = state.failure { throw failure }
        return nil
    }

    /// Lets a paused transfer run on once the reads come near.
    private func noteReading(
        at offset: Int64, count: Int, _ answer: Found?, _ state: inout State, _ resumed: inout [Int]
    ) {
        let end = offset + Int64(count)
        for (number, active) in state.active where active.range.contains(offset) && end > active.consumed {
            state.active[number]!.consumed = min(end, active.range.upperBound)
            if active.isPaused, end + Self.ahead > active.position {
                state.active[number]!.isPaused = false
                resumed.append(number)
            }
        }
    }

    private func request(
        _ offset: Int64, _ count: Int, _ state: inout State, _ orders: inout [Transfer],
        _ dropped: inout [Int]
    ) throws(Failure) {
        let isComing = state.active.values.contains {
            $0.range.contains(offset) && $0.position <= offset && offset - $0.position <= Self.waitableGap
        }
        if isComing { return }
        let left = limits.sourceBytes - state.bytes
        guard left > 0 else { throw overBudget(state.bytes + Int64(count), state) }
        let runsOn = (state.windowEnd...state.windowEnd + Self.smallestWindow).contains(offset)
        state.window = runsOn ? min(state.window * 2, Self.largestWindow) : Self.smallestWindow
        // What is far from this read and has much to come is no longer wanted.
        for (number, active) in state.active
        where active.range.upperBound - active.position > Self.waitableGap {
            state.active[number] = nil
            dropped.append(number)
        }
        let size = max(state.window, min(Int64(count), Self.ahead))
        orders.append(window(from: offset, size: min(size, left), &state))
    }

    /// Once reads run on, the next window is asked for before the last one is used up.
    private func readAhead(of offset: Int64, _ state: inout State, _ orders: inout [Transfer]) {
        guard state.window > Self.smallestWindow, state.active.isEmpty, state.failure == nil,
            offset <= state.windowEnd, offset > state.windowEnd - state.window / 2,
            state.windowEnd < state.total ?? 0, state.extents.gap(from: offset) <= state.windowEnd,
            state.bytes + state.window <= limits.sourceBytes
        else { return }
        state.window = min(state.window * 2, Self.largestWindow)
        orders.append(window(from: state.windowEnd, size: state.window, &state))
    }

    private func window(from offset: Int64, size: Int64, _ state: inout State) -> Transfer {
        let end = limit(min(offset + size, state.total ?? Self.farthest), after: offset, state)
        state.windowEnd = end
        return order(offset..<end, &state)
    }

    /// The first byte from `offset` on that is neither there nor on its way.
    private func nextWanted(from offset: Int64, _ state: State) -> Int64 {
        var next = state.extents.gap(from: offset)
        while let active = state.active.values.first(where: { $0.position <= next && $0.range.contains(next) }
        ) {
            next = state.extents.gap(from: active.range.upperBound)
        }
        return next
    }

    /// A range that starts at `start` ends where pieces begin that are there or on their way.
    private func limit(_ end: Int64, after start: Int64, _ state: State) -> Int64 {
        let coming = state.active.values.map(\.position).filter { $0 > start }.min() ?? .max
        return min(end, state.extents.start(after: start) ?? .max, coming)
    }

    private func order(_ range: Range<Int64>, _ state: inout State) -> Transfer {
        let number = transport.nextNumber()
        state.requests += 1
        state.active[number] = Active(range: range, position: range.lowerBound, consumed: range.lowerBound)
        return Transfer(
            number: number, location: state.location, range: range, validator: state.validator,
            limits: limits, deadline: stop.deadline, sink: self)
    }
}
