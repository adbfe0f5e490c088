internal import FramemillBorder
internal import FramemillCanvas
internal import FramemillEngine
internal import FramemillMedia

/// Frames that are drawn here while a decoder goes on to the next. What the decoder says of sizes is held against what
/// was known before; whatever the pixels are, they are pixels.
///
/// Not `Sendable`: one call has it.
final class Drawing {
    private let facts: AnimationFacts
    private let compositor: Compositor
    private let crew: Crew
    private let start: AnimationPlace
    /// The most frames that may come.
    private let most: Int

    private(set) var frames: [AnimationFrame] = []
    /// Behind the frames that are drawn.
    private(set) var place: AnimationPlace
    /// Not drawn yet.
    private var waiting: [Patch] = []
    private var colors: [UInt32] = []
    private var hasEnded = false

    init(
        _ facts: AnimationFacts, _ compositor: Compositor, from start: AnimationPlace, most: Int, _ crew: Crew
    ) {
        (self.facts, self.compositor, self.crew, self.start, self.most) = (
            facts, compositor, crew, start, most
        )
        place = start
    }

    /// For another decoder, since the one before gave up.
    func restart() {
        (frames, place, waiting, colors, hasEnded) = ([], start, [], [], false)
    }

    private var next: Int { place.next + waiting.count }

    func admits(_ head: PatchHead) -> Bool {
        guard !hasEnded, head.index == next, head.index < facts.frameCount, next - start.next < most else {
            return false
        }
        let frame = facts.frames[head.index]
        let (area, isOver) = frame.width.multipliedReportingOverflow(by: frame.height)
        guard !isOver, (0...area).contains(head.pixelCount), area <= 1 << 40 else { return false }
        guard head.isIndexed else { return head.byteCount == head.pixelCount * 4 && head.colors.isEmpty }
        let isColored = head.colors.count == 1024 || head.colors.isEmpty && colors.count == 256
        return head.byteCount == head.pixelCount && isColored
    }

    /// Only what `admits` has admitted.
    func add(_ head: PatchHead, _ bytes: [UInt8]) {
        if !head.colors.isEmpty {
            colors = (0..<256).map { color in
                (0..<4).reduce(0) { $0 | UInt32(head.colors[color * 4 + $1]) << ($1 * 8) }
            }
        }
        hasEnded = head.isLast
        waiting.append(
            Patch(
                pixels: head.isIndexed ? .indexed(bytes, start: 0, colors: colors) : .rgba(bytes),
                pixelCount: head.pixelCount, isInterlaced: head.isInterlaced, isOpaque: head.isOpaque,
                isAlone: head.isAlone, isWhole: head.isWhole, isLast: head.isLast))
        // Several at a time are worth a helper; alone, one stays in the cache.
        if crew.width == 1 || waiting.count >= 4 || hasEnded { draw() }
    }

    func draw() {
        guard !waiting.isEmpty else { return }
        let first = place.next
        let canvases = compositor.draw(waiting, at: &place, crew: crew)
        for (offset, canvas) in canvases.enumerated() {
            frames.append(
                AnimationFrame(
                    index: first + offset, delay: facts.frames[first + offset].delay, bitmap: canvas,
                    isWhole: waiting[offset].isWhole))
        }
        if hasEnded { place.next = facts.frameCount }
        waiting = []
    }
}
