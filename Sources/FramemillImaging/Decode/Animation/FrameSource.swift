internal import FramemillCanvas
internal import FramemillEngine
internal import FramemillMedia

/// One opened file: its index, and the pixels of any frame.
protocol FrameSource: Sendable {
    var facts: AnimationFacts { get }
    /// Bytes that the pixels of a frame take while they wait to be drawn; no more than the file's size allows.
    func patchBytes(_ index: Int) -> Int
    /// Whether a frame, if all its data is there, hides what is below its rectangle. Known without decoding it.
    func hidesBelow(_ index: Int) -> Bool
    /// Decodes one frame. Any thread, many at once. Broken data gives what there is, `isWhole` false.
    func patch(_ index: Int, stop: Stop) throws(Failure) -> Patch
    /// Decodes several frames one after the other: what all of them need is fetched once.
    func patches(_ indices: Range<Int>, stop: Stop) throws(Failure) -> [Patch]
    /// Takes back what patches that have been drawn were made of.
    func recycle(_ patches: [Patch])
}

extension FrameSource {
    func patches(_ indices: Range<Int>, stop: Stop) throws(Failure) -> [Patch] {
        var patches: [Patch] = []
        patches.reserveCapacity(indices.count)
        for index in indices { patches.append(try patch(index, stop: stop)) }
        return patches
    }

    func recycle(_ patches: [Patch]) {}
}
