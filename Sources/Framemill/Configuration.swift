internal import FramemillEngine
public import FramemillMedia

/// How one `Framemill` is set up. Every default carries its reason.
public struct Configuration: Sendable {
    /// Pictures worked on at once, most of them waiting for bytes. 16 per core keeps two cores busy over slow origins.
    public var jobs: Int = Processors.available * 16
    /// Threads that compute at once: the CPU quota. A thread that waits for bytes does not count.
    public var permits: Int = Processors.available
    /// Pictures of one host worked on at once, and connections to it. 6 is what browsers use. Fewer where the host turns
    /// some away (429, 503, closed connections): as many as it has room for.
    public var perHost: Int = 6
    /// Whether `file:` and plain paths may be read. The command line says yes; a server should not.
    public var allowFiles: Bool = false
    /// Networks (CIDR) that may be dialled although the guard would refuse them, such as `127.0.0.1/32`.
    public var allowNet: [String] = []
    /// Hosts that are never asked: names, with all below them, and addresses, whatever name leads to them.
    public var denyHosts: [String] = []
    /// Ports that may be asked. None given: all but those that browsers refuse, which belong to other protocols.
    public var allowPorts: [ClosedRange<Int>] = []
    /// Query parameters that the cache does not tell links apart by: names, or beginnings of names with a `*` behind
    /// them (`X-Amz-*`). The whole link is fetched all the same. Nothing by default: where such a parameter does select
    /// bytes, the wrong picture would be shown.
    public var ignoredQuery: [String] = []
    /// The same for whole families of links, by their names.
    public var ignoredQueryPresets: Set<QueryPreset> = []
    /// Where level 2 of the cache lives; `nil` keeps covers in memory alone.
    public var cacheDirectory: String?
    /// Level 1, true cost in bytes. 64 MiB hold about 3,000 covers of 20 KB.
    public var memoryCacheBytes: Int = 64 << 20
    /// Level 2. 1 GiB hold about 50,000 covers of 20 KB.
    public var diskCacheBytes: Int64 = 1 << 30
    /// Bytes of sources that are kept on disk, in `source` below `cacheDirectory`, at most 8 MiB of each: a second size of
    /// the same clip then asks nobody while they are fresh, and a whole download goes on from what is there. 0, none, by
    /// default: who makes one cover of each source would only write them.
    public var sourceCacheBytes: Int64 = 0
    /// Level 2, in entries. Bounds the files on the disk, of which some file systems have few.
    public var diskCacheEntries: Int = 1_000_000
    /// Pixels of one playing animation in memory: what is being decoded, what waits for the consumer, and the canvas
    /// that the next frame is drawn on. 16 MiB are 12 frames of 500 x 500, enough for every core of a small machine; a
    /// canvas that is larger by itself is decoded frame by frame.
    public var animationWindowBytes: Int = 16 << 20
    /// Tries after the first, within the deadline of a job, where a failure may pass. 3 get over a restart of a server
    /// and over one `Retry-After`; 0 tries once.
    public var retries: Int = 3
    /// How long a cover holds whose origin says nothing of it. A day: media seldom change under their URL, and asking is
    /// one small request. Where the origin names the last change, a tenth of the time since then, up to a week.
    public var assumedMaxAge: Duration = .seconds(86_400)
    /// For how long after that a cover is given at once and asked for behind, where the origin does not say. 0, so that
    /// a changed picture shows on the next read.
    public var staleWhileRevalidate: Duration = .zero
    /// For how long after that a cover stands in while its origin fails, where the origin does not say. A week: an old
    /// cover is better than none.
    public var staleIfError: Duration = .seconds(604_800)
    public var limits = Limits()
    /// Sent as `User-Agent`.
    public var userAgent: String = "framemill/\(Framemill.version)"

    public init() {}
}
