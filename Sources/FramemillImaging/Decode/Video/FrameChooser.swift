// Which picture of a stream becomes the cover.
//
// A target time is a wish; the nearest clean picture is the promise. In order: the wish; earlier places, where a seek
// landed past the last picture; the start. When nothing clean exists at all, `VideoDecoder` asks again for a damaged
// picture, marked so.

internal import CFFmpeg
internal import FramemillEngine
internal import FramemillMedia

/// What was found beside the pixels.
struct Choice {
    var isFound: Bool
    var timeUsed: Double?
    var isDark: Bool
    var picturesDecoded: Int
    var packetsRead: Int
}

struct FrameChooser {
    /// Damaged pictures looked at: a stream that is refreshed bit by bit is whole after about as many.
    private static let healing = 64

    /// Pixels above which the search saves memory: 3840 x 2160 in 10 bit takes 25 MiB a picture, and a decoder that
    /// refers back keeps five and more.
    private static let largeArea = 6_000_000
    /// Pixels above which the search looks at key pictures only: 7680 x 4320 in 10 bit takes 100 MiB a picture. (libav's
    /// hevc decoder also makes up, at full size, each reference that a key picture lists for its leading ones.)
    private static let largestArea = 20_000_000

    let recipe: Recipe
    let limits: Limits
    /// Seconds, where known.
    let duration: Double?
    let hasAlpha: Bool
    /// Take pictures that are not clean too.
    let showDamaged: Bool
    let stop: Stop

    /// Leaves the picture in `picture`; `isFound` says whether there was one.
    func choose(
        _ input: borrowing AVInput, stream index: Int, into picture: borrowing AVPicture
    ) throws(Failure) -> Choice {
        var source = try PictureStream(input, stream: index, alpha: hasAlpha, showDamaged: showDamaged)
        let found = try pick(&source, StreamClock(input, index), input, into: picture)
        return Choice(
            isFound: found != nil, timeUsed: found?.time, isDark: found?.isDark ?? false,
            picturesDecoded: source.picturesDecoded, packetsRead: source.packetsRead)
    }

    private typealias Found = (time: Double?, isDark: Bool)

    private func pick(
        _ source: inout PictureStream, _ clock: StreamClock, _ input: borrowing AVInput,
        into picture: borrowing AVPicture
    ) throws(Failure) -> Found? {
        switch recipe.at {
        case .first where showDamaged, .auto where showDamaged:
            return try mostHealed(&source, clock, into: picture)
        case .first:
            return try source.first(into: picture) ? (clock.time(of: picture), false) : nil
        case .auto:
            return try search(&source, clock, input, into: picture)
        case .seconds(let seconds):
            return try reach(seconds, &source, clock, into: picture)
        case .percent(let percent):
            return try reach((duration ?? 0) * min(100, max(0, percent)) / 100, &source, clock, into: picture)
        }
    }

    /// The picture at `seconds`, clamped to the clip.
    private func reach(
        _ seconds: Double, _ source: inout PictureStream, _ clock: StreamClock,
        into picture: borrowing AVPicture
    ) throws(Failure) -> Found? {
        let target = max(0, duration.map { min(seconds, $0) } ?? seconds)
        var found: Double?
        // A seek can land behind the last picture (audio longer than video), or, in transport streams and open groups
        // of pictures, behind the key picture that the target needs: step back.
        for back in [0.0, 2, 12] where target - back > 0 {
            guard source.seek(toTimestamp: clock.timestamp(target - back)) else { break }
            found = try walk(to: target, &source, clock, into: picture) ?? found
            if let found, recipe.seek == .keyframe || found <= target + Self.rounding {
                return (clock.time(of: picture), false)
            }
        }
        // A picture a little late is better than all of a long film before it.
        if let found, target > 12 { return (found, false) }
        rewind(&source, clock)
        return try walk(to: target, &source, clock, into: picture).map { _ in (clock.time(of: picture), false)
        }
    }

    /// Half a millisecond: timestamps are rounded to the stream's own unit.
    private static let rounding = 0.0005

    /// Decodes on to the last picture that starts at or before `target`, or with `Seek.keyframe` only the first one;
    /// where even that is later, it is the one. Gives its time.
    private func walk(
        to target: Double, _ source: inout PictureStream, _ clock: StreamClock,
        into picture: borrowing AVPicture
    ) throws(Failure) -> Double? {
        if recipe.seek == .keyframe || target == 0 {
            return try source.first(into: picture) ? clock.time(of: picture) ?? 0 : nil
        }
        let candidate = try AVPicture()
        var found: Double?
        while try source.next(into: candidate) {
            let time = clock.time(of: candidate) ?? 0
            if found != nil, time > target + Self.rounding { break }
            picture.take(from: candidate)
            found = time
            if time > target + Self.rounding { break }
        }
        return found
    }

    /// Of the damaged pictures at the start the one that shows most: what is refreshed bit by bit heals with time, and
    /// what stands in for a missing reference is flat.
    private func mostHealed(
        _ source: inout PictureStream, _ clock: StreamClock, into picture: borrowing AVPicture
    ) throws(Failure) -> Found? {
        let candidate = try AVPicture()
        var best: Shade?
        var found: Found?
        for _ in 0..<Self.healing {
            guard try source.next(into: candidate) else { break }
            let shade = Shade(candidate)
            guard found == nil || (shade?.score ?? 0) >= (best?.score ?? 0) else { continue }
            best = shade
            found = (clock.time(of: candidate), shade?.isDark ?? false)
            picture.take(from: candidate)
        }
        return found
    }

    /// The first picture, moved on past a blank, black or fading opening within `Limits.scan…`.
    private func search(
        _ source: inout PictureStream, _ clock: StreamClock, _ input: borrowing AVInput,
        into picture: borrowing AVPicture
    ) throws(Failure) -> Found? {
        guard try source.first(into: picture) else { return nil }
        let start = clock.time(of: picture)
        guard let opening = Shade(picture), !opening.isGood else { return (start, false) }
        var best = (shade: opening, time: start)
        source.restart()
        let area = unsafe Int(picture.pointer.pointee.width) * Int(picture.pointer.pointee.height)
        if area > Self.largeArea {
            // Key pictures alone first: they are few, and keep few others alive.
            source.skip(AVDISCARD_NONKEY)
            try scan(&source, clock, input, from: start, into: picture, &best)
            if best.shade.isGood || area > Self.largestArea { return (best.time, best.shade.isDark) }
            rewind(&source, clock)
        }
        // A look is wanted, not every frame.
        source.skip(AVDISCARD_NONREF)
        try scan(&source, clock, input, from: start, into: picture, &best)
        return (best.time, best.shade.isDark)
    }

    /// Decodes on from where `source` is, and leaves the best picture so far in `picture`.
    private func scan(
        _ source: inout PictureStream, _ clock: StreamClock, _ input: borrowing AVInput, from start: Double?,
        into picture: borrowing AVPicture, _ best: inout (shade: Shade, time: Double?)
    ) throws(Failure) {
        let bytesBefore = input.io.reader.cost.bytes
        let candidate = try AVPicture()
        var sinceGrowth = 0
        var looked = 0
        while looked < limits.scanFrames, input.io.reader.cost.bytes - bytesBefore < limits.scanBytes {
            do throws(Failure) {
                guard try source.next(into: candidate) else { break }
            } catch {
                // The opening stands: a source that fails further on must not cost the cover.
                try stop.check(.decode)
                break
            }
            looked += 1
            let time = clock.time(of: candidate)
            if let time, let start, time - start > limits.scanSeconds { break }
            guard let shade = Shade(candidate) else { continue }
            if best.shade.isGood {
                // In a fade each picture beats the one before; it is over when several in turn do not.
                let grew =
                    shade.mean > best.shade.mean * 1.01 || shade.deviation > best.shade.deviation * 1.01
                sinceGrowth = grew && shade.isGood ? 0 : sinceGrowth + 1
                if sinceGrowth >= 3 { break }
                guard grew, shade.isGood else { continue }
            } else if !shade.isGood, shade.score <= best.shade.score {
                continue
            }
            best = (shade, time)
            picture.take(from: candidate)
        }
    }

    private func rewind(_ source: inout PictureStream, _ clock: StreamClock) {
        if clock.isBroadcast, source.rewindBytes() { return }
        _ = source.seek(toTimestamp: clock.origin)
    }
}

/// Stream timestamps to seconds from the start of the clip.
struct StreamClock {
    private let unit: Double
    /// The timestamp that counts as zero.
    let origin: Int64
    /// Transport and program streams: no index, and a clock that starts anywhere.
    let isBroadcast: Bool

    init(_ input: borrowing AVInput, _ index: Int) {
        let stream = unsafe input.pointer.pointee.streams[index]!.pointee
        unit = unsafe Double(stream.time_base.num) / Double(max(1, stream.time_base.den))
        let start = unsafe stream.start_time
        // Files count from zero, and what precedes their first picture is theirs.
        let name = unsafe String(cString: input.pointer.pointee.iformat.pointee.name)
        isBroadcast = ["mpegts", "mpeg", "mpegvideo"].contains(name)
        origin = isBroadcast && start != framemill_no_pts() ? start : 0
    }

    func timestamp(_ seconds: Double) -> Int64 {
        let ticks = seconds / unit
        return ticks < 9e18 - Double(abs(origin)) ? origin + Int64(ticks) : Int64.max / 2
    }

    func time(of picture: borrowing AVPicture) -> Double? {
        let frame = unsafe picture.pointer.pointee
        let stamp =
            unsafe frame.best_effort_timestamp != framemill_no_pts() ? frame.best_effort_timestamp : frame.pts
        guard stamp != framemill_no_pts() else { return nil }
        let (ticks, overflow) = stamp.subtractingReportingOverflow(origin)
        // What is shown before the first packet's own picture is still at the start.
        return overflow ? nil : Double(isBroadcast ? max(0, ticks) : ticks) * unit
    }
}
