// Pictures in, an animated WebP out, by windows. Three steps overlap: while a window is being decoded, the one before is
// resized and what is new in the one before that is encoded, picture by picture on whatever threads are there. Comparing
// with what is shown goes in order, between two windows, and takes a hundredth of the time of encoding; appending too.
// Whoever decodes joins in once its own window is done, so no core waits while there is a picture left. What is held is
// two windows of pictures, the pieces of a third, and the encoded bytes. Nothing in the result depends on who was
// faster: a window read ahead counts only once it is added.

internal import FramemillEngine
internal import FramemillMedia

/// One picture, upright.
struct TimedPicture: Sendable {
    /// Milliseconds from the beginning.
    var start: Int
    var bitmap: Bitmap
    /// Nothing was missing in it, nor in what was shown since the one before.
    var isWhole = true
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
    /// Compared, but not encoded yet.
    private var pieces: [CanvasPiece] = []
    private var starts: [Int] = []
    private var end: Int?

    private(set) var first: Bitmap?
    /// Every picture that was taken was whole.
    private(set) var isWhole = true
    /// No more frames are taken.
    var isFull: Bool { end != nil }

    init(manner: WebPEncoding.Manner, maxFrames: Int?, crew: Crew, stop: Stop) {
        self.manner = manner
        self.maxFrames = maxFrames ?? .max
        self.crew = crew
        self.stop = stop
    }

    /// Takes windows of pictures, in order, until there are no more or no more are wanted. Each is made while the one before
    /// is worked on; one that is not wanted any more is dropped, with its failure.
    ///
    /// - Parameters:
    ///   - plan: how they get the size that all have in the end; `nil` where they have it.
    ///   - window: `nil` behind the last. Called on this thread.
    mutating func addAll(
        resizedBy plan: Plan? = nil, _ window: () throws(Failure) -> [TimedPicture]?
    ) throws(Failure) {
        var next = try window()
        while let pictures = next {
            let made = try add(pictures, plan, while: window)
            if isFull { return }
            next = try made.get()
        }
    }

    private mutating func add<Next>(
        _ pictures: [TimedPicture], _ plan: Plan? = nil, while next: () throws(Failure) -> Next
    ) throws(Failure) -> Result<Next, Failure> {
        let (manner, stop, ready) = (manner, stop, pieces)
        let count = ready.count + (plan == nil ? 0 : pictures.count)
        let made = try crew.map(count) { (index) throws(Failure) -> Part in
            try stop.check(.encode)
            if index < ready.count { return .encoded(try ready[index].encoded(manner, stop)) }
            let bitmap = pictures[index - ready.count].bitmap
            return .resized(plan.map { Resampler.resize(bitmap, plan: $0, orientation: 1) } ?? bitmap)
        } meanwhile: { () throws(Failure) in
            try next()
        }
        pieces = []
        var pictures = pictures[...]
        for (index, part) in made.parts.enumerated() {
            switch part {
            case .encoded(let bytes): append(bytes, ready[index])
            case .resized(let bitmap): pictures[index - ready.count].bitmap = bitmap
            }
        }
        for picture in pictures where !isFull {
            try stop.check(.encode)
            if let piece = piece(picture) { pieces.append(piece) }
            if !isFull { isWhole = isWhole && picture.isWhole }
        }
        return made.own
    }

    private enum Part: Sendable {
        case encoded([UInt8])
        case resized(Bitmap)
    }

    private mutating func append(_ encoded: [UInt8], _ piece: CanvasPiece) {
        lone = file == nil ? encoded : nil
        if file == nil { file = WebPAnimationFile(width: piece.box.width, height: piece.box.height) }
        file?.append(encoded, piece)
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
        // What was compared last is encoded here.
        _ = try add([]) {}.get()
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

extension CanvasPiece {
    fileprivate func encoded(_ manner: WebPEncoding.Manner, _ stop: Stop) throws(Failure) -> [UInt8] {
        try WebPEncoding.encode(bitmap, manner, keepsHidden: blends && !manner.isLossless, stop: stop)
    }
}
