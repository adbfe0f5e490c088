// The first picture of a GIF. Reads as far as that frame's last byte; whether more follow is looked up only where that
// costs nothing.

internal import FramemillCanvas
internal import FramemillEngine
internal import FramemillMedia

enum GIFCover {
    static func facts(
        _ reader: any ByteReader, limits: Limits, stop: Stop
    ) throws(Failure) -> StillHeader {
        (facts(try open(reader, limits: limits, stop: stop)), 1)
    }

    static func decode(_ reader: any ByteReader, limits: Limits, stop: Stop) throws(Failure) -> StillPicture {
        var animation = try open(reader, limits: limits, stop: stop)
        var index = 0
        var patch = try animation.patch(index, stop: stop)
        // A first picture of which nothing can be drawn costs nothing but itself: a later one makes the cover.
        while patch.pixelCount == 0, !patch.isWhole {
            if !animation.isComplete {
                animation = try GIFAnimation(reader, limits: limits, stop: stop)
            }
            index += 1
            guard index < animation.facts.frameCount else {
                throw Failure(.corrupt, .decode, "not one pixel of the GIF's picture could be inflated")
            }
            patch = try animation.patch(index, stop: stop)
        }
        var facts = facts(animation)
        facts.degraded = index > 0 || !patch.isWhole
        var place = AnimationPlace(next: index)
        var bitmap = Compositor(animation.facts).draw([patch], at: &place, crew: .alone)[0]
        // Many a transparent index is never used.
        let pixels = bitmap.pixels
        bitmap.hasAlpha = !stride(from: 3, to: pixels.count, by: 4).allSatisfy { pixels[$0] == 255 }
        facts.alpha = bitmap.hasAlpha
        return StillPicture(bitmap: bitmap, orientation: 1, facts: facts)
    }

    /// The whole index of a local file; of one over the network no more than the first frame.
    private static func open(
        _ reader: any ByteReader, limits: Limits, stop: Stop
    ) throws(Failure) -> GIFAnimation {
        try GIFAnimation(reader, limits: limits, stop: stop, most: reader.isLocal ? .max : 1)
    }

    private static func facts(_ animation: GIFAnimation) -> Facts {
        let index = animation.facts
        var facts = Facts()
        facts.container = "gif"
        facts.codec = "gif"
        facts.pixelFormat = "pal8"
        facts.storedWidth = index.width
        facts.storedHeight = index.height
        facts.alpha = !animation.hidesBelow(0)
        // Asking for a loop is a sign where the second picture has not come yet.
        facts.animated = index.animated || !animation.isComplete && index.rawLoop != nil
        if animation.isComplete {
            facts.frameCount = index.frameCount
            if index.animated { facts.duration = Double(index.milliseconds) / 1000 }
        }
        return facts
    }
}
