internal import FramemillMedia

extension Recipe {
    /// From the words of a job; every refusal says what would be right.
    /// - Parameter base: what stands where the job says nothing.
    init(_ wire: Wire, over base: Recipe) throws(Failure) {
        self = base
        animated = try Animated(wire, over: base.animated)
        let usual = base.animated != nil && animated == nil ? Recipe().format : base.format
        format =
            try Self.choice("format", wire.format, "jpeg, png or webp") ?? (animated == nil ? usual : .webp)
        guard animated == nil || format == .webp else {
            throw Job.refused("an animation is written as webp, not as \(format.rawValue)")
        }
        if let mode: Mode = try Self.choice("mode", wire.mode, "fit, fill or stretch") { self.mode = mode }
        if let seek: Seek = try Self.choice("seek", wire.seek, "keyframe or exact") { self.seek = seek }
        if let size = wire.size { box = try Self.read("size", size.text, Box.words, Box.init(typed:)) }
        if let moment = wire.at { at = try Self.read("at", moment.text, Moment.words, Moment.init(typed:)) }
        if let color = wire.background {
            background = try Self.read("background", color, "a colour as #rrggbb", RGB.init(typed:))
        }
        enlarge = wire.enlarge ?? enlarge
        quality = try Self.whole("quality", wire.quality, 1...100) ?? quality
        effort = try Self.whole("effort", wire.effort, 0...6) ?? effort
    }

    private static func choice<Value: RawRepresentable<String>>(
        _ name: String, _ text: String?, _ right: String
    ) throws(Failure) -> Value? {
        guard let text else { return nil }
        return try read(name, text, right) { Value(rawValue: $0) }
    }

    private static func read<Value>(
        _ name: String, _ text: String, _ right: String, _ read: (String) -> Value?
    ) throws(Failure) -> Value {
        guard let value = read(text) else {
            throw Job.refused("\(name) \(text) is not understood: it takes \(right)")
        }
        return value
    }

    fileprivate static func whole(
        _ name: String, _ number: Int?, _ range: ClosedRange<Int>
    ) throws(Failure) -> Int? {
        guard let number else { return nil }
        guard range.contains(number) else {
            throw Job.refused("\(name) \(number) is outside of \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}

extension Recipe.Animated {
    fileprivate init?(_ wire: Wire, over base: Self?) throws(Failure) {
        guard wire.animated ?? (base != nil) else {
            let given = [
                ("max-frames", wire.maxFrames != nil), ("max-fps", wire.maxFramesPerSecond != nil),
                ("lossless", wire.lossless != nil), ("duration", wire.duration != nil),
            ]
            if let name = given.first(where: \.1)?.0 {
                throw Job.refused("\(name) is of an animation; \"animated\": true is missing")
            }
            return nil
        }
        self = base ?? Self()
        maxFrames = try Recipe.whole("max-frames", wire.maxFrames, 1...100_000) ?? maxFrames
        if let rate = wire.maxFramesPerSecond {
            guard rate > 0, rate <= 1000 else {
                throw Job.refused("max-fps \(rate) is not above 0 and at most 1000")
            }
            maxFramesPerSecond = rate
        }
        lossless = wire.lossless ?? lossless
        if let seconds = wire.duration {
            guard seconds > 0, seconds <= 3600 else {
                throw Job.refused("duration \(seconds) is not above 0 and at most 3600 seconds")
            }
            self.seconds = seconds
        }
    }
}

extension Recipe.Moment {
    var typed: String {
        switch self {
        case .auto: "auto"
        case .first: "first"
        case .seconds(let seconds): Number.text(seconds)
        case .percent(let percent): Number.text(percent) + "%"
        }
    }
}

extension Recipe.Box {
    var typed: String {
        switch self {
        case .native: "0"
        case .longestSide(let pixels): "\(pixels)"
        case .size(let width, let height): "\(width)x\(height)"
        }
    }
}

extension Recipe.RGB {
    var typed: String {
        func two(_ value: UInt8) -> String { (value < 16 ? "0" : "") + String(value, radix: 16) }
        return "#" + two(red) + two(green) + two(blue)
    }
}
