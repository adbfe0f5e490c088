internal import FramemillEngine
internal import FramemillMedia
internal import Glibc

/// The one door to bytes: opens `http`, `https`, `file:` and plain paths for random access.
final class Fetcher: Sendable {
    private let transport: Transport
    private let networks: NetworkGuard
    private let allowsFiles: Bool
    let ignoredQuery: IgnoredQuery
    /// Opening a file may wait for a disk, so it has threads of its own.
    private let files: Lane<Void>
    /// `fetch.requests`, `fetch.connections`, `fetch.redirects`.
    let meters: Meters
    private let now: @Sendable () -> Int

    /// Fails with `badOption` when `allowNet` holds something that is no network, `denyHosts` what is no host, or
    /// `ignoredQuery` what is no name.
    ///
    /// - Parameter now: seconds since 1970, for the age of answers.
    init(
        _ configuration: Configuration, meters: Meters = Meters(),
        now: @escaping @Sendable () -> Int = { WallClock.system.seconds }
    ) throws(Failure) {
        self.meters = meters
        self.now = now
        allowsFiles = configuration.allowFiles
        ignoredQuery = try IgnoredQuery(configuration.ignoredQuery, configuration.ignoredQueryPresets)
        networks = try NetworkGuard(configuration)
        transport = try Transport(
            perHost: configuration.perHost, userAgent: configuration.userAgent,
            guard: networks, meters: meters)
        files = Lane("files", width: 2) {}
    }

    /// Returns once the first bytes are in, so that what comes next seldom waits. No thread waits meanwhile.
    ///
    /// Cancelling the task raises `stop`. A source of no bytes fails with `empty`.
    /// - Parameters:
    ///   - known: what is made of this source, so that it need not be sent again.
    ///   - blocks: bytes of it that are kept.
    ///   - trusts: whether these may be used without a question.
    func open(
        _ url: String, unless known: Freshness? = nil, blocks: SourceBlocks? = nil, trusts: Bool = false,
        limits: Limits, stop: Stop, permits: Permits,
        urgency: Urgency = Urgency(.interactive)
    ) async throws(Failure) -> Opened {
        try stop.check(.fetch)
        switch try Location(url) {
        case .http(let web):
            try networks.hosts.admit(web)
            let store = BlockStore(
                web, unless: known, blocks: blocks, trusts: trusts, limits: limits, stop: stop,
                transport: transport, now: now)
            // From here on the reader owns the transfers: dropping it ends them, also when the next line
            // throws.
            let reader = BlockReader(store, stop: stop, permits: permits, urgency: urgency)
            await withTaskCancellationHandler {
                await store.open()
            } onCancel: {
                stop.raise()
            }
            try store.checkOpened()
            return Opened(
                reader: store.isUnchanged ? nil : reader, answer: store.answer, basis: store.basis,
                store: store)
        case .file(let path):
            guard allowsFiles else {
                throw Failure(
                    .badURL, .input, "\(path) is a local file, which is not allowed here (allowFiles)")
            }
            let reader = try await files.run(stop: stop) { (_, _) throws(Failure) in
                try FileReader(path: path)
            }
            return Opened(reader: reader, answer: nil)
        }
    }

    /// As `identity`, where that takes no look at the disk: `nil` for a file, and for what is no URL.
    func identityAtOnce(of url: String) -> String? {
        if Location.isCanonical(url) { return ignoredQuery.reduced(url) }
        // Whoever asks for it in earnest learns what is wrong with it.
        guard let location = try? Location(url), case .http(let web) = location else { return nil }
        return ignoredQuery.reduced(web.canonical)
    }

    /// What the cache key hashes for a URL: its canonical text without the parameters that are not looked at; for a local
    /// file also its size and time of change, since files are overwritten in place and nothing else says so. A file that
    /// can't be looked at has its path alone: opening it will say why.
    func identity(of url: String, stop: Stop) async throws(Failure) -> String {
        if let identity = identityAtOnce(of: url) { return identity }
        let location = try Location(url)
        guard case .file(let path) = location, allowsFiles else { return location.identity(ignoredQuery) }
        return try await files.run(stop: stop) { (_, _) throws(Failure) in
            Self.identity(ofFile: path, location)
        }
    }

    /// The same on the caller's own thread, which waits for the disk if it is a file.
    func identityHere(of url: String) -> String? {
        if let identity = identityAtOnce(of: url) { return identity }
        // As above.
        guard let location = try? Location(url), case .file(let path) = location, allowsFiles else {
            return nil
        }
        return Self.identity(ofFile: path, location)
    }

    static func identity(ofFile path: String, _ location: Location) -> String {
        var facts = stat()
        // Writes one `stat`, which `facts` is; the path lives through the call.
        guard unsafe stat(path, &facts) == 0 else { return location.canonical }
        let change = facts.st_mtim
        return "\(location.canonical) bytes=\(facts.st_size) changed=\(change.tv_sec).\(change.tv_nsec)"
    }

    /// Refuses new work and ends every transfer with `closed`.
    func close() {
        transport.close()
        files.close()
    }
}

/// A source that answered.
struct Opened: Sendable {
    /// `nil` where it still is what was known of it.
    var reader: (any ByteReader)?
    /// `nil` for a file, and where nobody was asked.
    var answer: Answer?
    /// What the answer confirms, or what is used without one.
    var basis: Freshness?
    /// Whose bytes may be kept.
    var store: BlockStore?

    /// How long it holds; `nil` where nothing may be kept, and for a file.
    func freshness(_ defaults: FreshnessDefaults) -> Freshness? {
        guard let answer else { return basis }
        return answer.freshness(confirming: basis, defaults)
    }
}

/// What an origin said about its answer, and when by our clock.
struct Answer: Sendable {
    var head: ResponseHead
    /// Seconds since 1970.
    var asked: Int
    var answered: Int

    /// How long it holds. A confirmation, which may say less, renews `known`.
    func freshness(confirming known: Freshness?, _ defaults: FreshnessDefaults) -> Freshness? {
        if let known {
            return known.renewed({ head[$0] }, asked: asked, answered: answered, defaults: defaults)
        }
        return Freshness({ head[$0] }, asked: asked, answered: answered, defaults: defaults)
    }
}
