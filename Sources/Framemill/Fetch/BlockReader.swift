internal import Dispatch
internal import FramemillEngine
internal import FramemillMedia

/// Random access to a source over HTTP. When the reader goes, so do its transfers.
final class BlockReader: ByteReader {
    private let store: BlockStore
    private let stop: Stop
    private let permits: Permits
    private let urgency: Urgency
    private let ticket: Int

    /// - Parameter urgency: what whoever reads has taken its permit with.
    init(_ store: BlockStore, stop: Stop, permits: Permits, urgency: Urgency) {
        self.store = store
        self.stop = stop
        self.permits = permits
        self.urgency = urgency
        ticket = stop.onRaise { [weak store] in
            store?.fail(Failure(.cancelled, .fetch, "cancelled by the caller"))
        }
    }

    deinit {
        stop.forget(ticket)
        store.fail(Failure(.cancelled, .fetch, "nobody reads any more"))
    }

    var byteCount: Int64? { store.byteCount }
    var isLocal: Bool { false }
    var cost: (bytes: Int64, requests: Int) { store.cost }
    func expect(_ range: Range<Int64>) { store.expect(range) }

    func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) throws(Failure) -> Int {
        guard offset >= 0, offset < BlockStore.farthest, buffer.count > 0 else { return 0 }
        while true {
            try stop.check(.fetch)
            switch unsafe try store.read(at: offset, into: buffer) {
            case .bytes(let count): return count
            case .spooled(let file, let count):
                // No more than the buffer holds, and the spool has them.
                let part = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<count])
                guard let count = unsafe file.read(at: offset, into: part), count > 0 else {
                    throw Failure(
                        .writeFailed, .fetch, "the temporary file can't be read", cause: systemWords())
                }
                return count
            case .wait(let news): wait(for: news)
            }
        }
    }

    /// Until something came, the job was cancelled, or its deadline passed.
    private func wait(for news: DispatchSemaphore) {
        let (seconds, attoseconds) = stop.remaining.components
        let nanoseconds = min(seconds, 1 << 30) * 1_000_000_000 + attoseconds / 1_000_000_000
        permits.lending(urgency: urgency) {
            _ = news.wait(timeout: .now() + .nanoseconds(Int(nanoseconds)))
        }
    }
}
