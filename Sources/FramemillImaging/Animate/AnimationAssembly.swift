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

struct AnimationAssembly: ~Copyable {
    /// One frame of the result.
    private struct Frame {
        var start: Int
        var piece: CanvasPiece
    }

    private let manner: WebPEncoding.Manner
    private let maxFrames: Int
    private let crew: Crew
    private let stop: Stop
    private var difference: CanvasDifference?
    private var file: WebPAnimationFile?
    /// Compared, but not encoded yet.
    private var waiting: [Frame] = []
    /// The last one that is encoded: how long it is shown is known once the next one comes, and if none comes it is a file
    /// of its own.
    private var held: (frame: Frame, bytes: [UInt8])?
    private var frameCount = 0
    private var lastStart = 0
    private var milliseconds = 0
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
        let (manner, stop, ready) = (manner, stop, waiting)
        let count = ready.count + (plan == nil ? 0 : pictures.count)
        let made = try crew.map(count) { (index) throws(Failure) -> Part in
            try stop.check(.encode)
            if index < ready.count { return .encoded(try ready[index].piece.encoded(manner, stop)) }
            let bitmap = pictures[index - ready.count].bitmap
            return .resized(plan.map { Resampler.resize(bitmap, plan: $0, orientation: 1) } ?? bitmap)
        } meanwhile: { () throws(Failure) in
            try next()
        }
        waiting = []
        var pictures = pictures[...]
        for (index, part) in made.parts.enumerated() {
            switch part {
            case .encoded(let bytes): try hold(bytes, ready[index])
            case .resized(let bitmap): pictures[index - ready.count].bitmap = bitmap
            }
        }
        for picture in pictures where !isFull {
            try stop.check(.encode)
            if let piece = piece(picture) { waiting.append(Frame(start: picture.start, piece: piece)) }
            if !isFull { isWhole = isWhole && picture.isWhole }
        }
        return made.own
    }

    private enum Part: Sendable {
        case encoded([UInt8])
        case resized(Bitmap)
    }

    private mutating func hold(_ bytes: [UInt8], _ frame: Frame) throws(Failure) {
        try release(until: frame.start)
        held = (frame, bytes)
    }

    /// Writes the frame that is held.
    private mutating func release(until end: Int) throws(Failure) {
        guard let (frame, bytes) = held else { return }
        held = nil
        let piece = frame.piece
        if file == nil {
            // The first piece is the whole canvas.
            file = try WebPAnimationFile(width: piece.box.width, height: piece.box.height)
        }
        let time = min(end - frame.start, WebPAnimationFile.longestMilliseconds)
        milliseconds += time
        try file?.append(
            bytes, .init(left: piece.box.left, top: piece.box.top, milliseconds: time, blends: piece.blends))
    }

    /// What is new in a picture. Pictures that look like the one before are not written; it is shown for longer.
    private mutating func piece(_ picture: TimedPicture) -> CanvasPiece? {
        if first == nil {
            first = picture.bitmap
            difference = CanvasDifference(
                width: picture.bitmap.width, height: picture.bitmap.height, manner: manner)
        }
        let isLong = picture.start - lastStart > WebPAnimationFile.longestMilliseconds
        guard let piece = difference?.piece(of: picture.bitmap, isForced: isLong) else { return nil }
        guard frameCount < maxFrames else {
            end = picture.start
            return nil
        }
        frameCount += 1
        lastStart = picture.start
        return piece
    }

    /// The file, and what is to be said of it; no animation where all pictures were one.
    /// - Parameter end: milliseconds at which the last picture is over.
    consuming func finish(end: Int, plays: Int) throws(Failure) -> (bytes: [UInt8], facts: Facts.Animation?) {
        // What was compared last is encoded here.
        _ = try add([]) {}.get()
        if file == nil, let held { return (held.bytes, nil) }
        try release(until: self.end ?? end)
        guard let made = try file?.assemble(plays: plays) else {
            throw Failure(.noFrames, .encode, "the animation has no picture")
        }
        file = nil
        let facts = Facts.Animation(
            frameCount: frameCount, plays: min(plays, WebPAnimationFile.mostPlays),
            duration: Double(milliseconds) / 1000)
        return (made.bytes, facts)
    }
}

extension CanvasPiece {
    fileprivate func encoded(_ manner: WebPEncoding.Manner, _ stop: Stop) throws(Failure) -> [UInt8] {
        try WebPEncoding.encode(bitmap, manner, keepsHidden: blends && !manner.isLossless, stop: stop)
    }
}
