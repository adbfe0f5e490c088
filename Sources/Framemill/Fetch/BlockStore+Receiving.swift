internal import FramemillMedia
internal import Synchronization

/// The network thread's side.
extension BlockStore: TransferSink {
    func begin(_ number: Int, _ head: ResponseHead, from location: Location.Web) -> Failure? {
        let failure = state.withLock { state -> Failure? in
            guard let active = state.active[number] else { return nil }
            if state.isOpen {
                let problem = Self.problem(head, active, name(state), state)
                if problem == nil, let content = head.contentRange {
                    state.active[number]!.range = Self.used(content.range, of: active)
                }
                return problem
            }
            state.location = location
            return accept(head, number, &state)
        }
        return failure
    }

    func receive(_ number: Int, _ bytes: UnsafeRawBufferPointer) -> Flow {
        let flow = state.withLock { state -> Flow in
            guard let active = state.active[number], state.failure == nil, !state.isUnchanged else {
                return .enough
            }
            if active.position - active.consumed >= Self.ahead {
                state.active[number]!.isPaused = true
                return .pause
            }
            do throws(Failure) {
                return try unsafe keep(bytes, number, active, &state)
            } catch {
                state.failure = error
                return .enough
            }
        }
        if flow != .pause { tell() }
        return flow
    }

    func end(_ number: Int, _ failure: Failure?) {
        state.withLock { state in
            guard let active = state.active.removeValue(forKey: number) else { return }
            if state.isUnchanged {
                state.isOpen = true
                return
            }
            if state.spool != nil, failure == nil, state.failure == nil, state.bytes < limits.sourceBytes {
                state.spool!.isWhole = true
                state.total = state.spool!.byteCount
            }
            // What broke off after some bytes is asked for again from there; without any, there is no use.
            let gaveSome = state.spool == nil && active.position > active.range.lowerBound
            if let failure, state.failure == nil, !gaveSome || !failure.isBreak { state.failure = failure }
            if failure == nil, state.failure == nil, active.position < active.range.upperBound {
                endedShort(active, &state)
            }
            if state.total == 0, state.failure == nil {
                state.failure = Failure(.empty, .fetch, "\(name(state)) is empty (0 bytes)")
            }
            state.isOpen = true
        }
        tell()
    }

    /// Fewer bytes than announced, and yet no error: the end, if nobody told where it is.
    private func endedShort(_ active: Active, _ state: inout State) {
        if state.total == nil { state.total = active.position }
        // Asking again without end would help nobody.
        guard state.spool == nil, active.position == active.range.lowerBound, active.position < state.total!
        else { return }
        state.failure = Failure(
            .badResponse, .fetch,
            "\(name(state)) has \(state.total!) bytes, but sent none from byte \(active.position) on")
    }

    /// The first answer decides how this source is read.
    private func accept(_ head: ResponseHead, _ number: Int, _ state: inout State) -> Failure? {
        state.version = head.version
        state.answer = Answer(head: head, asked: asked, answered: now())
        // The same tag names the same bytes, also where the server does not look at conditions.
        let tag = condition?.entityTag.flatMap { $0.hasPrefix("W/") ? nil : $0 }
        if head.status == 304 || (200...206).contains(head.status) && tag != nil && tag == head["etag"] {
            guard known == nil, let blocks else {
                state.isUnchanged = true
                return nil
            }
            Self.use(blocks, &state)
            // What this transfer brings is here already.
            state.active[number] = nil
            (state.isConfirmed, state.hasNews, state.isOpen) = (true, true, true)
            return nil
        }
        state.validator = head.strongValidator
        switch head.status {
        case 206:
            guard let content = head.contentRange, content.range.lowerBound == 0 else {
                return Self.wrongRange(head, 0, name(state))
            }
            state.total = content.total
            if let blocks, blocks.version == head.version, blocks.total == content.total {
                Self.use(blocks, &state)
            }
            let used = Self.used(content.range, of: state.active[number]!)
            state.active[number]!.range = used
            state.windowEnd = used.upperBound
            return nil
        case 416:
            // Not even the first byte is there.
            state.total = 0
            return nil
        default:
            state.total = head.status == 204 ? 0 : head.length
            state.active[number]!.range = 0..<Int64.max
            do throws(Failure) {
                state.spool = try Spool()
                return nil
            } catch {
                return error
            }
        }
    }

    /// Whether a later answer belongs to the same bytes and to what was asked.
    private static func problem(
        _ head: ResponseHead, _ active: Active, _ name: String, _ state: borrowing State
    ) -> Failure? {
        func changed(_ how: String) -> Failure {
            Failure(.sourceChanged, .fetch, "\(name) changed while it was read: \(how)")
        }
        switch head.status {
        case 206:
            guard let content = head.contentRange, content.range.lowerBound == active.range.lowerBound
            else { return wrongRange(head, active.range.lowerBound, name) }
            if let old = state.total, let new = content.total, old != new {
                return changed("\(old) bytes before, \(new) now")
            }
            if let old = state.version, let new = head.version, old != new {
                return changed("it is another version")
            }
            return nil
        case 416:
            // Past the end of a source whose length nobody had told.
            return state.total == nil ? nil : changed("byte \(active.range.lowerBound) is no longer there")
        default:
            return changed("a request for a range got the whole")
        }
    }

    /// A server may give less than was asked for: the next read asks on from there. It may also give all that is left
    /// and not look at where the range ends: what is past it is not read.
    private static func used(_ given: Range<Int64>, of active: Active) -> Range<Int64> {
        given.lowerBound..<min(given.upperBound, active.range.upperBound)
    }

    private static func wrongRange(_ head: ResponseHead, _ offset: Int64, _ name: String) -> Failure {
        Failure(
            .badResponse, .fetch,
            "\(name) answered 206 with a range that was not asked for (from byte \(offset))",
            cause: "Content-Range: \(head["content-range"] ?? "missing")")
    }

    private func keep(
        _ bytes: UnsafeRawBufferPointer, _ number: Int, _ active: Active, _ state: inout State
    ) throws(Failure) -> Flow {
        state.hasNews = true
        let count = Int64(bytes.count)
        let left = limits.sourceBytes - state.bytes
        if state.spool != nil {
            // Up to the cap; what lies past it is `noRange` for whoever asks.
            let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[..<Int(min(count, left))])
            try unsafe state.spool!.append(part)
            state.bytes += Int64(part.count)
        } else {
            guard count <= left else { throw overBudget(state.bytes + count, state) }
            let wanted = min(count, active.range.upperBound - active.position)
            // A copy of the front of the buffer.
            state.extents.insert(unsafe Array(bytes[..<Int(wanted)]), at: active.position)
            state.bytes += count
            let position = active.position + wanted
            state.active[number]!.position = position
            // All is here, whether or not the server ends its body now.
            if position == active.range.upperBound { state.isOpen = true }
            return wanted < count ? .enough : .taken
        }
        state.active[number]!.position += min(count, left)
        if state.spool!.byteCount >= Self.smallestWindow { state.isOpen = true }
        return count < left ? .taken : .enough
    }

    func name(_ state: State) -> String { Location.http(state.location).displayName }

    func overBudget(_ bytes: Int64, _ state: State) -> Failure {
        Failure(
            .tooLarge, .fetch,
            "\(bytes) bytes from \(name(state)) exceed \(limits.sourceBytes) (Limits.sourceBytes)")
    }
}

extension Failure {
    /// A connection that broke, as opposed to an answer that was no.
    fileprivate var isBreak: Bool { reason == .badResponse || reason == .unreachable }
}
