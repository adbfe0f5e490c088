// What a program and its decoder say to each other. The program asks for one thing at a time; while the decoder works on
// it, it is the decoder who asks: for bytes of the source, for cores, for room to put pixels. One job at a time for each
// decoder, so that a crash costs the job that caused it and no other.

package import FramemillMedia

package enum Border {
    /// Both ends are built together and are refused if they are not.
    package static let version = 1
    /// "framemil", so that a program that is no decoder is told apart at its first word.
    package static let magic: UInt64 = 0x6C69_6D65_6D61_7266

    /// Where a decoder finds what it was started with.
    package static let socket: Int32 = 3
    package static let control: Int32 = 4

    /// How a decoder ends that can go on no more, for its parent to tell.
    package enum Ending {
        /// An allocation failed.
        package static let memory: Int32 = 77
        /// It could not be shut in, and has read nothing.
        package static let setUp: Int32 = 78
    }
}

/// The first byte of a message.
package enum Kind: UInt8, Sendable {
    // From the program.
    case job = 1, bytes, cores, taken, length
    // From the decoder.
    case hello = 16, read, expect, wantCores, askLength, frame, patch, pixels, result, failure
}

package struct Message: Sendable {
    package var kind: Kind
    package var payload: [UInt8]

    package init(_ kind: Kind, _ payload: [UInt8] = []) { (self.kind, self.payload) = (kind, payload) }

    package init(_ kind: Kind, _ body: (inout Fields) -> Void) {
        self.init(kind, Fields.written(body))
    }
}

/// One piece of work. What an act does not need stays at its default.
package struct Job: Sendable {
    package enum Act: String, Sendable { case render, probe, open, frames, frame, fit, encode }

    package var act: Act
    package var number = 0
    /// Time left.
    package var nanoseconds = 0
    /// As many threads as can work at once.
    package var width = 1
    /// Cores that may be used beside the first one, to begin with.
    package var cores = 0
    package var recipe = Recipe()
    package var limits = Limits()
    /// Which animation, for as long as it is known.
    package var session = 0
    /// The frame, or the first of those, that are wanted.
    package var index = 0
    /// How many frames.
    package var count = 0
    /// Of the bitmap whose pixels are the second source.
    package var bitmap = Picture()
    /// The first is what is decoded; the second holds pixels that the decoder does not have.
    package var sources: [Source] = []

    package init(_ act: Act) { self.act = act }

    package struct Source: Sendable {
        package var byteCount: Int64?
        package var isLocal: Bool
        package init(byteCount: Int64?, isLocal: Bool) {
            (self.byteCount, self.isLocal) = (byteCount, isLocal)
        }
    }

    /// A bitmap less its pixels.
    package struct Picture: Sendable {
        package var width = 0
        package var height = 0
        package var hasAlpha = false
        package init() {}
        package init(_ bitmap: Bitmap) {
            (width, height, hasAlpha) = (bitmap.width, bitmap.height, bitmap.hasAlpha)
        }
        /// `nil` where it is larger than memory.
        package var byteCount: Int? {
            guard width > 0, height > 0 else { return nil }
            let (pixels, isOver) = width.multipliedReportingOverflow(by: height)
            guard !isOver, pixels <= 1 << 40 else { return nil }
            return pixels * 4
        }
    }
}

extension Fields {
    package mutating func pass(_ job: inout Job) {
        pass(&job.act)
        pass(&job.number)
        pass(&job.nanoseconds)
        pass(&job.width)
        pass(&job.recipe)
        pass(&job.limits)
        pass(&job.session)
        pass(&job.cores)
        pass(&job.index)
        pass(&job.count)
        pass(&job.bitmap)
        pass(&job.sources, blank: Job.Source(byteCount: nil, isLocal: false), least: 16) { fields, source in
            fields.pass(&source.byteCount)
            fields.pass(&source.isLocal)
        }
    }

    package mutating func pass(_ picture: inout Job.Picture) {
        pass(&picture.width)
        pass(&picture.height)
        pass(&picture.hasAlpha)
    }
}

/// Bytes of a source that the decoder wants.
package struct Wish: Sendable {
    package var source = 0
    package var offset: Int64 = 0
    package var count = 0
    package init() {}
    package init(source: Int, offset: Int64, count: Int) {
        (self.source, self.offset, self.count) = (source, offset, count)
    }
}

/// One frame on its way: its pixels, in as many parts as it takes, stand in the arena one after the other, the first
/// with this word.
package struct FrameHead: Sendable {
    /// Bytes of the first part.
    package var count = 0
    package var index = 0
    package var delay = 0
    package var isWhole = true
    package var picture = Job.Picture()
    package init() {}
}

/// The pixels of one frame before they are drawn, on their way like those of a frame.
package struct PatchHead: Sendable {
    /// Bytes of the first part, and of all.
    package var count = 0
    package var byteCount = 0
    package var index = 0
    /// Indices into 256 colours, or the pixels themselves.
    package var isIndexed = false
    /// Four bytes each; none where they are those of the patch before.
    package var colors: [UInt8] = []
    package var pixelCount = 0
    package var isInterlaced = false
    package var isOpaque = false
    package var isAlone = false
    package var isWhole = false
    package var isLast = false
    package init() {}
}

extension Fields {
    package mutating func pass(_ head: inout PatchHead) {
        pass(&head.count)
        pass(&head.byteCount)
        pass(&head.index)
        pass(&head.isIndexed)
        pass(&head.colors)
        pass(&head.pixelCount)
        pass(&head.isInterlaced)
        pass(&head.isOpaque)
        pass(&head.isAlone)
        pass(&head.isWhole)
        pass(&head.isLast)
    }

    package mutating func pass(_ wish: inout Wish) {
        pass(&wish.source)
        pass(&wish.offset)
        pass(&wish.count)
    }

    package mutating func pass(_ head: inout FrameHead) {
        pass(&head.count)
        pass(&head.index)
        pass(&head.delay)
        pass(&head.isWhole)
        pass(&head.picture)
    }
}
