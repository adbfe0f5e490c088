// The values of FramemillMedia, field by field. A new field of one of these has to be named here; a test compares what
// crosses with what was sent, all fields set.

package import FramemillMedia

extension Fields {
    package mutating func pass(_ recipe: inout Recipe) {
        pass(&recipe.at)
        pass(&recipe.seek)
        pass(&recipe.box)
        pass(&recipe.mode)
        pass(&recipe.enlarge)
        pass(&recipe.format)
        pass(&recipe.quality)
        pass(&recipe.effort)
        pass(&recipe.background)
        pass(&recipe.animated, blank: Recipe.Animated()) { fields, animated in
            fields.pass(&animated.maxFrames)
            fields.pass(&animated.maxFramesPerSecond)
            fields.pass(&animated.lossless)
            fields.pass(&animated.seconds)
        }
    }

    private mutating func pass(_ moment: inout Recipe.Moment) {
        var (tag, number) =
            switch moment {
            case .auto: (0, 0.0)
            case .first: (1, 0.0)
            case .seconds(let seconds): (2, seconds)
            case .percent(let percent): (3, percent)
            }
        pass(&tag)
        pass(&number)
        guard isReading else { return }
        switch tag {
        case 0: moment = .auto
        case 1: moment = .first
        case 2: moment = .seconds(number)
        case 3: moment = .percent(number)
        default: spoil()
        }
    }

    package mutating func pass(_ box: inout Recipe.Box) {
        var (tag, width, height) =
            switch box {
            case .native: (0, 0, 0)
            case .longestSide(let side): (1, side, 0)
            case .size(let width, let height): (2, width, height)
            }
        pass(&tag)
        pass(&width)
        pass(&height)
        guard isReading else { return }
        switch tag {
        case 0: box = .native
        case 1: box = .longestSide(width)
        case 2: box = .size(width: width, height: height)
        default: spoil()
        }
    }

    private mutating func pass(_ color: inout Recipe.RGB) {
        var number = Int(color.red) << 16 | Int(color.green) << 8 | Int(color.blue)
        pass(&number)
        color = Recipe.RGB(
            red: UInt8(truncatingIfNeeded: number >> 16), green: UInt8(truncatingIfNeeded: number >> 8),
            blue: UInt8(truncatingIfNeeded: number))
    }

    package mutating func pass(_ limits: inout Limits) {
        pass(&limits.sourceBytes)
        pass(&limits.pixelsPerFrame)
        pass(&limits.frames)
        pass(&limits.totalPixels)
        var (seconds, attoseconds) = limits.deadline.components
        pass(&seconds)
        pass(&attoseconds)
        limits.deadline = Duration(secondsComponent: seconds, attosecondsComponent: attoseconds)
        pass(&limits.redirects)
        pass(&limits.probeBytes)
        pass(&limits.scanFrames)
        pass(&limits.scanSeconds)
        pass(&limits.scanBytes)
        pass(&limits.slowBytesPerSecond)
        pass(&limits.slowSeconds)
        pass(&limits.connectSeconds)
        pass(&limits.streams)
    }

    package mutating func pass(_ failure: inout Failure) {
        var code = failure.reason.code
        pass(&code)
        if isReading {
            if let reason = Failure.Reason(code: code) { failure.reason = reason } else { spoil() }
        }
        pass(&failure.stage)
        pass(&failure.message)
        pass(&failure.cause)
        pass(&failure.retryAfterSeconds)
        pass(&failure.memory, blank: Failure.Memory(ageSeconds: 0, leftSeconds: nil, tries: 0)) {
            fields, memory in
            fields.pass(&memory.ageSeconds)
            fields.pass(&memory.leftSeconds)
            fields.pass(&memory.tries)
        }
    }

    package mutating func pass(_ facts: inout Facts) {
        pass(&facts.source)
        pass(&facts.container)
        pass(&facts.codec)
        pass(&facts.pixelFormat)
        pass(&facts.storedWidth)
        pass(&facts.storedHeight)
        pass(&facts.displayWidth)
        pass(&facts.displayHeight)
        pass(&facts.width)
        pass(&facts.height)
        pass(&facts.format)
        pass(&facts.byteCount)
        pass(&facts.pixelAspect)
        pass(&facts.orientation)
        pass(&facts.rotation)
        pass(&facts.mirrored)
        pass(&facts.duration)
        pass(&facts.durationText)
        pass(&facts.frameRate)
        pass(&facts.frameCount)
        pass(&facts.timeUsed)
        pass(&facts.hdr)
        pass(&facts.alpha)
        pass(&facts.animated)
        pass(&facts.pictureUsed, blank: .firstFrame) { $0.pass(&$1) }
        pass(&facts.audio)
        pass(&facts.colorMatrix)
        pass(&facts.colorRange)
        pass(&facts.dark)
        pass(&facts.degraded)
        pass(&facts.approximate)
        pass(&facts.thumbHash)
        pass(&facts.dominantColor)
        pass(&facts.animation, blank: Facts.Animation(frameCount: 0, plays: 0, duration: 0)) {
            fields, animation in
            fields.pass(&animation.frameCount)
            fields.pass(&animation.plays)
            fields.pass(&animation.duration)
            fields.pass(&animation.passedThrough)
        }
        pass(&facts.bytesRead)
        pass(&facts.requests)
        pass(&facts.peakBytes)
        pass(&facts.framesDecoded)
        var stages = facts.milliseconds.map { Stage(name: $0.name, milliseconds: $0.milliseconds) }
        pass(&stages, blank: Stage(name: "", milliseconds: 0), least: 16) { fields, stage in
            fields.pass(&stage.name)
            fields.pass(&stage.milliseconds)
        }
        // There are fewer than ten; each is put in its place, which takes as long as there are others.
        guard isReading else { return }
        guard stages.count <= 64 else { return spoil() }
        facts.milliseconds = StageTimes()
        for stage in stages { facts.milliseconds[stage.name] = stage.milliseconds }
    }

    private struct Stage {
        var name: String
        var milliseconds: Double
    }

    package mutating func pass(_ facts: inout AnimationFacts) {
        pass(&facts.container)
        pass(&facts.width)
        pass(&facts.height)
        pass(&facts.plays)
        pass(&facts.rawLoop)
        pass(&facts.partial)
        let blank = FrameFacts(
            rawDelay: 0, left: 0, top: 0, width: 0, height: 0, disposal: .keep, blend: .over)
        // Eight numbers each.
        pass(&facts.frames, blank: blank, least: 64) { fields, frame in
            fields.pass(&frame.rawDelay)
            fields.pass(&frame.delay)
            fields.pass(&frame.left)
            fields.pass(&frame.top)
            fields.pass(&frame.width)
            fields.pass(&frame.height)
            fields.pass(&frame.disposal, [.keep, .background, .previous])
            fields.pass(&frame.blend, [.over, .source])
        }
    }

    /// One of a few, by its place among them.
    private mutating func pass<Value: Equatable>(_ value: inout Value, _ all: [Value]) {
        var place = all.firstIndex(of: value) ?? -1
        pass(&place)
        if all.indices.contains(place) { value = all[place] } else { spoil() }
    }
}
