// Finished pictures in, an animated WebP out. Comparing with what is shown goes in order, encoding side by side, and
// appending in order again. What is held is one window of pictures and the encoded bytes.

internal import FramemillEngine
internal import FramemillMedia

/// One picture at its final size, upright.
struct TimedPicture: Sendable {
    /// Milliseconds from the beginning.
    var start: Int
    var bitmap: Bitmap
}

struct AnimationAssembly {
    private let manner: WebPEncoding.Manner
    private let maxFrames: Int
    private let crew: Crew
    private let stop: Stop
    private var difference: CanvasDifference?
    private var file: WebPAnimationFile?
    /// The only frame so far, which is a file of its own.
    private var lone: [UInt8]?
    private var starts: [Int] = []
    private var end: Int?

    private(set) var first: Bitmap?
    /// No more frames are taken.
    var isFull: Bool { end != nil }

    init(manner: WebPEncoding.Manner, maxFrames: Int?, crew: Crew, stop: Stop) {
        self.manner = manner
        self.maxFrames = maxFrames ?? .max
        self.crew = crew
        self.stop = stop
    }

    /// Pictures of one size, in order.
    mutating func add(_ pictures: [TimedPicture]) throws(Failure) {
        var pieces: [CanvasPiece] = []
        for picture in pictures where !isFull {
            try stop.check(.encode)
            if let piece = piece(picture) { pieces.append(piece) }
        }
        let (manner, stop, all) = (manner, stop, pieces)
        let files = try crew.map(pieces.count) { (index) throws(Failure) in
            let piece = all[index]
            return try WebPEncoding.encode(
                piece.bitmap, manner, keepsHidden: piece.blends && !manner.isLossless, stop: stop)
        }
        for (encoded, piece) in zip(files, pieces) {
            if file == nil {
                file = WebPAnimationFile(width: piece.bitmap.width, height: piece.bitmap.height)
                lone = encoded
            } else {
                lone = nil
            }
            file?.append(encoded, piece)
        }
    }

    /// What is new in a picture. Pictures that look like the one before are not written; it is shown for longer.
    private mutating func piece(_ picture: TimedPicture) -> CanvasPiece? {
        if first == nil {
            first = picture.bitmap
            difference = CanvasDifference(
                width: picture.bitmap.width, height: picture.bitmap.height, manner: manner)
        }
        let isLong = picture.start - (starts.last ?? 0) > WebPAnimationFile.longestMilliseconds
        guard let piece = difference?.piece(of: picture.bitmap, isForced: isLong) else { return nil }
        guard starts.count < maxFrames else {
            end = picture.start
            return nil
        }
        starts.append(picture.start)
        return piece
    }

    /// The file, and what is to be said of it; no animation where all pictures were one.
    /// - Parameter end: milliseconds at which the last picture is over.
    consuming func finish(end: Int, plays: Int) throws(Failure) -> (bytes: [UInt8], facts: Facts.Animation?) {
        let end = self.end ?? end
        if let lone { return (lone, nil) }
        guard let file else { throw Failure(.noFrames, .encode, "the animation has no picture") }
        let times = zip(starts, starts.dropFirst() + [end]).map {
            min($1 - $0, WebPAnimationFile.longestMilliseconds)
        }
        let facts = Facts.Animation(
            frameCount: starts.count, plays: min(plays, WebPAnimationFile.mostPlays),
            duration: Double(times.reduce(0, +)) / 1000)
        return (file.finish(milliseconds: times, plays: plays), facts)
    }
}
