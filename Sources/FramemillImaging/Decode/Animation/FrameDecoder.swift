// Frames in order, some at a time. A window of frames is decoded side by side, then drawn side by side; what is held
// is that window and the canvas below it, however many frames there are.

internal import FramemillCanvas
internal import FramemillEngine
internal import FramemillMedia

/// Any animation, whatever its format.
struct FrameDecoder: PatchDecoder {
    let facts: AnimationFacts
    private let source: any FrameSource
    private let compositor: Compositor
    private let starts: FrameStarts
    private let mostPixels: Int

    init(_ source: any FrameSource, limits: Limits) {
        self.source = source
        mostPixels = limits.totalPixels
        facts = source.facts
        compositor = Compositor(facts)
        starts = FrameStarts(source)
    }

    func frames(
        from place: inout AnimationPlace, windowBytes: Int, crew: Crew, stop: Stop
    ) throws(Failure) -> [AnimationFrame] {
        if place.next == 0 { try admitAll() }
        return try more(from: &place, windowBytes: windowBytes, crew: crew, stop: stop)
    }

    private func admitAll() throws(Failure) {
        let (pixels, overflow) = facts.frameCount.multipliedReportingOverflow(by: facts.canvasBytes / 4)
        guard overflow || pixels > mostPixels else { return }
        throw Failure(
            .tooLarge, .probe,
            "\(facts.frameCount) frames of \(facts.width) x \(facts.height) exceed \(mostPixels) pixels in all "
                + "(Limits.totalPixels)")
    }

    private func more(
        from place: inout AnimationPlace, windowBytes: Int, crew: Crew, stop: Stop
    ) throws(Failure) -> [AnimationFrame] {
        try stop.check(.decode)
        let window = window(from: place.next, bytes: usefulBytes(at: place.next, crew, most: windowBytes))
        guard !window.isEmpty else { return [] }
        let patches = try some(window, crew, stop)
        let canvases = compositor.draw(patches, at: &place, crew: crew)
        if patches.last?.isLast == true { place.next = facts.frames.count }
        source.recycle(patches)
        return canvases.indices.map { offset in
            let index = window.lowerBound + offset
            return AnimationFrame(
                index: index, delay: facts.frames[index].delay, bitmap: canvases[offset],
                isWhole: patches[offset].isWhole)
        }
    }

    func frame(at index: Int, crew: Crew, stop: Stop) throws(Failure) -> AnimationFrame {
        guard facts.frames.indices.contains(index) else {
            throw Failure(
                .badOption, .input, "frame \(index) is not there: the animation has \(facts.frames.count)")
        }
        // What looks like a start is none if its data is broken; the start before it then decides.
        var start = starts.last(upTo: index)
        while true {
            var place = AnimationPlace(next: start)
            var isSound = true
            while true {
                guard let reached = try more(from: &place, windowBytes: 1, crew: crew, stop: stop).first
                else {
                    throw Failure(.corrupt, .decode, "the animation is broken before frame \(index)")
                }
                if reached.index == start { isSound = reached.isWhole || start == 0 }
                if !isSound { break }
                if reached.index == index { return reached }
            }
            start = starts.last(upTo: start - 1)
        }
    }

    /// Alone, frames gain nothing from company, and few at a time stay in the second-level cache. So it is where a few for
    /// each of a crew are too small to share: what helpers would save, new memory for more canvases costs again.
    private func usefulBytes(at index: Int, _ crew: Crew, most: Int) -> Int {
        guard crew.width > 1, index < facts.frames.count,
            4 * crew.width * source.patchBytes(index) >= Self.sharedBytes
        else { return min(most, 1 << 20) }
        return most
    }

    /// Less than this, all patches of a window together, is done before a helper would wake.
    private static let sharedBytes = 1 << 19

    /// As many frames as `bytes` hold with their patches, at least one; at most 64, which keep any crew busy.
    private func window(from first: Int, bytes: Int) -> Range<Int> {
        var end = first
        var held = 0
        while end < facts.frames.count, end - first < 64 {
            held += facts.canvasBytes + source.patchBytes(end)
            if held > bytes, end > first { break }
            end += 1
        }
        return first..<end
    }

    func patches(_ window: Range<Int>, crew: Crew, stop: Stop) throws(Failure) -> [Patch] {
        if window.lowerBound == 0 { try admitAll() }
        return try some(window, crew, stop)
    }

    private func some(_ window: Range<Int>, _ crew: Crew, _ stop: Stop) throws(Failure) -> [Patch] {
        var patches = try all(window, crew, stop)
        if let end = patches.firstIndex(where: \.isLast) { patches.removeLast(patches.count - end - 1) }
        return patches
    }

    func recycle(_ patches: [Patch]) { source.recycle(patches) }

    private func all(_ window: Range<Int>, _ crew: Crew, _ stop: Stop) throws(Failure) -> [Patch] {
        let isShared =
            window.count > 1 && crew.width > 1
            && window.reduce(0) { $0 + source.patchBytes($1) } >= Self.sharedBytes
        guard isShared else { return try source.patches(window, stop: stop) }
        return try crew.map(window.count) { [source] (offset) throws(Failure) in
            try source.patch(window.lowerBound + offset, stop: stop)
        }
    }
}
