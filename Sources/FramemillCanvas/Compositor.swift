// Draws frames on their canvases: what a browser does in an `img` element. A window of frames is drawn at once, cut
// into bands of rows, each band through all frames in order: pixels depend on those below them in time, never on
// their neighbours, so bands need no order among them. Each canvas is written once where a frame hides everything,
// else copied from the one below and drawn over.
//
// What is below the first frame, and what the disposal "background" leaves, is transparent, as in all browsers; the
// background colours of GIF and WebP files are not used (Pillow, ImageMagick and ffmpeg paint GIF's).

package import FramemillEngine
package import FramemillMedia

/// A class, because the closures that draw would copy a struct of arrays and texts, and count each of them.
package final class Compositor: Sendable {
    private let facts: AnimationFacts
    private let arithmetic: BlendArithmetic
    private var width: Int { facts.width }
    private var height: Int { facts.height }

    package init(_ facts: AnimationFacts) {
        self.facts = facts
        arithmetic =
            switch facts.container {
            case "gif": .none
            case "webp": .webp
            default: .apng
            }
    }

    /// Draws `patches` of the frames from `place.next` on. `place` then stands behind them.
    package func draw(_ patches: [Patch], at place: inout AnimationPlace, crew: Crew) -> [Bitmap] {
        var steps: [Step] = []
        steps.reserveCapacity(patches.count)
        var below = Canvas(index: nil, isOpaque: place.isBaseOpaque, clear: place.clear)
        for (index, patch) in patches.enumerated() {
            let frame = facts.frames[place.next + index]
            let hidesAll = hides(frame, patch)
            steps.append(Step(frame: frame, below: hidesAll ? nil : below))
            let isOpaque = hidesAll || below.isOpaque && below.clear == nil && frame.blend == .over
            steps[index].isOpaque = hidesAll ? patch.isOpaque : isOpaque
            switch frame.disposal {
            case .keep: below = Canvas(index: index, isOpaque: steps[index].isOpaque, clear: nil)
            case .background:
                below = Canvas(index: index, isOpaque: steps[index].isOpaque, clear: rectangle(frame))
            case .previous: break
            }
        }
        let base = place.base
        let drawn = steps
        let bands = Bands { [self] addresses in
            let drawn = width * height * 4 < CanvasPages.giantBytes ? drawn : unclear(drawn, addresses, base)
            // A band of some 64 KiB stays in the second-level cache from frame to frame.
            let rows = max(1, min(height, (64 << 10) / (width * 4)))
            let bands = (height + rows - 1) / rows
            let pixels = width * height * drawn.count
            crew.each(bands, helpers: pixels < 1 << 19 ? 0 : .max) { [self] band in
                self.draw(
                    drawn, patches, rows: band * rows..<min(height, (band + 1) * rows), at: addresses,
                    base: base)
            }
        }
        let canvases = Self.arrays(steps.count, byteCount: width * height * 4, bands)
        if let index = below.index { place.base = canvases[index] }
        place.isBaseOpaque = below.isOpaque
        place.clear = below.clear
        place.next += patches.count
        return canvases.enumerated().map {
            Bitmap(width: width, height: height, pixels: $0.element, hasAlpha: !steps[$0.offset].isOpaque)
        }
    }

    /// Draws on canvases at these addresses. In an object, so that the many closures of `arrays` hold one thing, not all that
    /// drawing needs.
    private final class Bands {
        let draw: ([UInt]) -> Void
        init(_ draw: @escaping ([UInt]) -> Void) { self.draw = draw }
    }

    /// A canvas of this window, or with no index the one before it.
    private struct Canvas {
        var index: Int?
        var isOpaque: Bool
        var clear: AnimationPlace.Rectangle?
    }

    private struct Step: Sendable {
        var frame: FrameFacts
        var from: Int?
        var clear: AnimationPlace.Rectangle?
        var needsBase: Bool
        var isOpaque = false

        init(frame: FrameFacts, below: Canvas?) {
            self.frame = frame
            from = below?.index
            clear = below?.clear
            needsBase = below != nil
        }
    }

    private func hides(_ frame: FrameFacts, _ patch: Patch) -> Bool {
        guard patch.isOpaque || frame.blend == .source else { return false }
        // Of a frame that reaches past the canvas, what can be seen will do.
        return (patch.isWhole || patch.pixelCount == frame.width * frame.height) && facts.isCovered(by: frame)
    }

    private func rectangle(_ frame: FrameFacts) -> AnimationPlace.Rectangle {
        AnimationPlace.Rectangle(
            left: min(frame.left, width), top: min(frame.top, height),
            right: min(frame.left + frame.width, width), bottom: min(frame.top + frame.height, height))
    }

    /// One band of all frames. A function of its own: a closure would count what it holds once for each.
    private func draw(
        _ steps: [Step], _ patches: [Patch], rows: Range<Int>, at addresses: [UInt], base: [UInt8]?
    ) {
        for index in steps.indices {
            draw(steps[index], patches[index], rows: rows, at: addresses, index: index, base: base)
        }
    }

    /// One band of one frame.
    private func draw(
        _ step: Step, _ patch: Patch, rows: Range<Int>, at addresses: [UInt], index: Int, base: [UInt8]?
    ) {
        let rowBytes = width * 4
        // The canvases that `arrays` holds open, each `width * height * 4` bytes; bands write rows of their own only.
        let canvas = unsafe UnsafeMutableRawPointer(bitPattern: addresses[index])!
        if step.needsBase {
            let band = unsafe canvas + rows.lowerBound * rowBytes
            let count = rows.count * rowBytes
            if let from = step.from {
                let below = unsafe UnsafeRawPointer(bitPattern: addresses[from])!
                unsafe band.copyMemory(from: below + rows.lowerBound * rowBytes, byteCount: count)
            } else if let base {
                unsafe base.withUnsafeBytes {
                    unsafe band.copyMemory(
                        from: $0.baseAddress! + rows.lowerBound * rowBytes, byteCount: count)
                }
            } else {
                unsafe band.initializeMemory(as: UInt8.self, repeating: 0, count: count)
            }
            if let clear = step.clear, !clear.isEmpty {
                for y in max(
                    rows.lowerBound, clear.top)..<max(
                        rows.lowerBound, clear.top, min(rows.upperBound, clear.bottom))
                {
                    unsafe (canvas + y * rowBytes + clear.left * 4).initializeMemory(
                        as: UInt8.self, repeating: 0, count: (clear.right - clear.left) * 4)
                }
            }
        }
        let frame = step.frame
        let across = min(frame.width, width - frame.left)
        let top = max(rows.lowerBound, frame.top)
        let bottom = min(rows.upperBound, frame.top + frame.height)
        guard across > 0, top < bottom else { return }
        switch patch.pixels {
        case .indexed(let indices, let start, let colors):
            precondition(start + patch.pixelCount <= indices.count && colors.count == 256)
            unsafe indices.withUnsafeBufferPointer { indices in
                unsafe colors.withUnsafeBufferPointer { colors in
                    guard let indices = indices.baseAddress else { return }
                    unsafe eachRow(frame, patch, top..<bottom, across, canvas) { from, count, target in
                        unsafe PixelRows.map(
                            indices + start + from, count: count, palette: colors.baseAddress!, to: target,
                            isOpaque: patch.isOpaque)
                    }
                }
            }
        case .rgba(let pixels):
            precondition(patch.pixelCount * 4 <= pixels.count)
            let replaces = frame.blend == .source || patch.isOpaque || patch.isAlone
            unsafe pixels.withUnsafeBytes { pixels in
                guard let pixels = pixels.baseAddress else { return }
                unsafe eachRow(frame, patch, top..<bottom, across, canvas) { from, count, target in
                    if replaces {
                        unsafe target.copyMemory(from: pixels + from * 4, byteCount: count * 4)
                    } else {
                        // libwebp copies to where it has just cleared, and only there.
                        let copied =
                            arithmetic == .webp
                            ? unsafe cleared(step.clear, pixel: (target - canvas) / 4, count) : 0..<0
                        for part in [0..<copied.lowerBound, copied.upperBound..<count] {
                            let (first, to) = unsafe (
                                pixels + (from + part.lowerBound) * 4, target + part.lowerBound * 4
                            )
                            unsafe PixelRows.blend(first, count: part.count, to: to, arithmetic)
                        }
                        unsafe (target + copied.lowerBound * 4).copyMemory(
                            from: pixels + (from + copied.lowerBound) * 4, byteCount: copied.count * 4)
                    }
                }
            }
        }
    }

    /// Which of `count` pixels of one row, from `pixel` of the canvas on, lie in a rectangle.
    private func cleared(_ clear: AnimationPlace.Rectangle?, pixel: Int, _ count: Int) -> Range<Int> {
        let (x, y) = (pixel % width, pixel / width)
        guard let clear, clear.top <= y, y < clear.bottom else { return 0..<0 }
        let first = min(max(clear.left - x, 0), count)
        return first..<max(first, min(clear.right - x, count))
    }

    /// For each row of a patch that is shown in `rows`: its first pixel in the patch, how many there are and can be
    /// seen, and where they go.
    @inline(__always)
    private func eachRow(
        _ frame: FrameFacts, _ patch: Patch, _ rows: Range<Int>, _ across: Int,
        _ canvas: UnsafeMutableRawPointer,
        _ body: (_ from: Int, _ count: Int, _ target: UnsafeMutableRawPointer) -> Void
    ) {
        for y in rows {
            let row = patch.isInterlaced ? interlaced(y - frame.top, frame.height) : y - frame.top
            let count = min(across, patch.pixelCount - row * frame.width)
            guard count > 0 else { continue }
            // `rows` and `across` were cut to the canvas.
            unsafe body(row * frame.width, count, canvas + (y * width + frame.left) * 4)
        }
    }

    /// Which row of the data is shown at `y`: the passes are every 8th row from 0, every 8th from 4, every 4th from 2,
    /// every 2nd from 1.
    private func interlaced(_ y: Int, _ height: Int) -> Int {
        let (eighths, fourths, halves) = ((height + 7) / 8, (height + 3) / 8, (height + 1) / 4)
        if y & 7 == 0 { return y / 8 }
        if y & 7 == 4 { return eighths + y / 8 }
        if y & 3 == 2 { return eighths + fourths + y / 4 }
        return eighths + fourths + halves + y / 2
    }

    /// `count` arrays of `byteCount` bytes that `fill` writes in full: each once, by whatever threads it asks. It gets
    /// addresses, for pointers don't cross threads.
    private static func arrays(_ count: Int, byteCount: Int, _ fill: Bands) -> [[UInt8]] {
        var made: [[UInt8]] = []
        made.reserveCapacity(count)
        var addresses: [UInt] = []
        addresses.reserveCapacity(count)
        open(count, byteCount, &made, &addresses, fill)
        made.reverse()
        return made
    }

    /// An uninitialised array can be written only while its initialiser runs, so they nest.
    private static func open(
        _ count: Int, _ byteCount: Int, _ made: inout [[UInt8]], _ addresses: inout [UInt], _ fill: Bands
    ) {
        guard addresses.count < count else { return fill.draw(addresses) }
        let array = unsafe [UInt8](unsafeUninitializedCapacity: byteCount) { room, written in
            addresses.append(UInt(bitPattern: room.baseAddress))
            unsafe CanvasPages.preferLarge(UnsafeMutableRawBufferPointer(room))
            open(count, byteCount, &made, &addresses, fill)
            written = byteCount
        }
        made.append(array)
    }

    /// The steps, without that of clearing what has got pages of zeros.
    private func unclear(_ steps: [Step], _ addresses: [UInt], _ base: [UInt8]?) -> [Step] {
        var steps = steps
        for index in steps.indices where steps[index].needsBase && steps[index].from == nil && base == nil {
            steps[index].needsBase = !CanvasPages.areZero(addresses[index], byteCount: width * height * 4)
        }
        return steps
    }
}
