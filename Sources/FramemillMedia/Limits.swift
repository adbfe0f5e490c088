/// What one job may cost. Each limit is asked before the memory or the time is spent that it bounds.
public struct Limits: Sendable, Equatable {
    /// Bytes read from one source over the network, all requests together. 64 MiB: an index of a 10-hour film is 20.
    public var sourceBytes: Int64 = 64 << 20
    /// Pixels of one stored picture or canvas, and of a result. 8192 x 8192: an 8K frame fits, a bomb does not.
    public var pixelsPerFrame: Int = 8192 * 8192
    /// Frames of one animation. Each costs some 100 bytes of index before anything is decoded.
    public var frames: Int = 100_000
    /// Pixels of all frames of one animation together, asked where all of them are wanted. 2^34: 60,000 frames of
    /// 500 x 500, half an hour of work for one core; a first frame is given all the same.
    public var totalPixels: Int = 1 << 34
    /// Wall time of one job from call to answer, waiting included.
    public var deadline: Duration = .seconds(20)
    /// Redirects followed for one request.
    public var redirects: Int = 8
    /// Bytes that the container probe may read before it must know the format.
    public var probeBytes: Int64 = 2 << 20
    /// Frames decoded in the search for a good picture.
    public var scanFrames: Int = 400
    /// Seconds of media looked at in the search for a good picture.
    public var scanSeconds: Double = 16
    /// Bytes read in the search for a good picture.
    public var scanBytes: Int64 = 16 << 20
    /// A transfer slower than this many bytes a second for `slowSeconds` is given up as too slow.
    public var slowBytesPerSecond: Int = 64
    public var slowSeconds: Int = 10
    /// Seconds until a connection must stand.
    public var connectSeconds: Int = 10
    /// Streams in one container.
    public var streams: Int = 100

    public init() {}
}
