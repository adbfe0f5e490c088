import FramemillMedia
import Testing

@testable import FramemillBorder

/// What crosses comes out as it went in, and what is no such thing is refused.
@Suite struct FieldsTests {
    /// No field as it is by default.
    private static var facts: Facts {
        var facts = Facts()
        facts.source = .video
        (facts.container, facts.codec, facts.pixelFormat) = ("mov", "h264", "yuv420p")
        (facts.storedWidth, facts.storedHeight, facts.displayWidth, facts.displayHeight) = (1, 2, 3, 4)
        (facts.width, facts.height, facts.format, facts.byteCount) = (5, 6, "jpeg", 7)
        (facts.pixelAspect, facts.orientation, facts.rotation, facts.mirrored) = ("4:3", 6, 90, true)
        (facts.duration, facts.durationText, facts.frameRate, facts.frameCount) = (1.5, "0:01", 25, 40)
        (facts.timeUsed, facts.hdr, facts.alpha, facts.animated) = (0.5, "pq", true, true)
        (facts.pictureUsed, facts.audio, facts.colorMatrix, facts.colorRange) = (
            .defaultImage, true, "bt709", "full"
        )
        (facts.dark, facts.degraded, facts.approximate) = (true, true, true)
        (facts.thumbHash, facts.dominantColor) = ("abc", "#102030")
        facts.animation = .init(frameCount: 3, plays: 2, duration: 4.5)
        facts.animation?.passedThrough = true
        (facts.bytesRead, facts.requests, facts.peakBytes, facts.framesDecoded) = (1 << 40, 3, 1 << 41, 9)
        facts.milliseconds = ["decode": 1.25, "total": 2]
        return facts
    }

    @Test func carriesEveryFieldOfTheFacts() {
        let facts = Self.facts
        for (one, blank) in zip(Mirror(reflecting: facts).children, Mirror(reflecting: Facts()).children) {
            #expect("\(one.value)" != "\(blank.value)", "\(one.label ?? "") is not tried")
        }
        #expect(Self.crossed(facts, Facts()) { $0.pass(&$1) } == facts)
    }

    @Test func carriesEveryLimit() {
        var limits = Limits()
        (limits.sourceBytes, limits.pixelsPerFrame, limits.frames, limits.deadline) = (
            1, 2, 3, .milliseconds(4567)
        )
        (limits.redirects, limits.probeBytes, limits.scanFrames, limits.scanSeconds) = (5, 6, 7, 8.5)
        (limits.scanBytes, limits.slowBytesPerSecond, limits.slowSeconds) = (9, 10, 11)
        (limits.connectSeconds, limits.streams, limits.totalPixels) = (12, 13, 14)
        for (one, blank) in zip(Mirror(reflecting: limits).children, Mirror(reflecting: Limits()).children) {
            #expect("\(one.value)" != "\(blank.value)", "\(one.label ?? "") is not tried")
        }
        #expect(Self.crossed(limits, Limits()) { $0.pass(&$1) } == limits)
    }

    @Test func carriesRecipesAndFailures() {
        for at in [Recipe.Moment.auto, .first, .seconds(1.25), .percent(50)] {
            for box in [Recipe.Box.native, .longestSide(7), .size(width: 8, height: 9)] {
                var recipe = Recipe()
                (recipe.at, recipe.box, recipe.seek, recipe.mode, recipe.enlarge) = (
                    at, box, .exact, .fill, true
                )
                (recipe.format, recipe.quality, recipe.effort) = (.webp, 33, 4)
                recipe.background = Recipe.RGB(red: 1, green: 2, blue: 3)
                var animated = Recipe.Animated()
                (animated.maxFrames, animated.maxFramesPerSecond) = (5, 6.5)
                (animated.lossless, animated.seconds) = (true, 7.5)
                recipe.animated = animated
                // Which names every field of a recipe.
                #expect(Self.crossed(recipe, Recipe()) { $0.pass(&$1) }.canonical == recipe.canonical)
                #expect(Self.crossed(recipe, Recipe()) { $0.pass(&$1) } == recipe)
            }
        }
        var failure = Failure(.http(404), .fetch, "gone", cause: "words", retryAfterSeconds: 5)
        failure.memory = .init(ageSeconds: 1, leftSeconds: 2, tries: 3)
        #expect(Self.crossed(failure, Failure(.empty, .input, "")) { $0.pass(&$1) } == failure)
    }

    @Test func carriesAnimations() {
        var facts = AnimationFacts(container: "apng", width: 3, height: 4, plays: 5, rawLoop: 6)
        facts.partial = true
        for (disposal, blend) in [
            (FrameFacts.Disposal.keep, FrameFacts.Blend.over), (.background, .source), (.previous, .over),
        ] {
            facts.frames.append(
                FrameFacts(
                    rawDelay: 33.3, left: 1, top: 2, width: 3, height: 4, disposal: disposal, blend: blend))
        }
        let blank = AnimationFacts(container: "", width: 0, height: 0, plays: 0)
        #expect(Self.crossed(facts, blank) { $0.pass(&$1) } == facts)
    }

    /// Every beginning of it, and every byte of it changed: refused, or read as something else, never a fault.
    @Test func refusesWhatBreaksOff() {
        var facts = Self.facts
        let bytes = Fields.written { $0.pass(&facts) }
        for count in 0..<bytes.count {
            var fields = Fields(reading: Array(bytes[..<count]))
            var read = Facts()
            fields.pass(&read)
            #expect(!fields.isDone)
        }
        for index in bytes.indices {
            for value in [UInt8(0), 0x7F, 0x80, 0xFF] {
                var changed = bytes
                changed[index] = value
                var fields = Fields(reading: changed)
                var read = Facts()
                fields.pass(&read)
                _ = fields.isDone
            }
        }
    }

    @Test func takesNoRoomForWhatIsOnlyAnnounced() {
        // A list of 2^60 entries, in eight bytes.
        var fields = Fields(reading: [0, 0, 0, 0, 0, 0, 0, 16])
        var list: [Int] = []
        fields.pass(&list, blank: 0) { $0.pass(&$1) }
        #expect(fields.isSpoiled)
        #expect(list.isEmpty)
    }

    private static func crossed<Value>(
        _ value: Value, _ blank: Value, _ pass: (inout Fields, inout Value) -> Void
    ) -> Value {
        var (value, read) = (value, blank)
        let bytes = Fields.written { pass(&$0, &value) }
        var fields = Fields(reading: bytes)
        pass(&fields, &read)
        #expect(fields.isDone)
        return read
    }
}
