// The story of one moving result: open, plan, then frames through the resizer into the file.

internal import FramemillEngine
internal import FramemillMedia

extension Imaging {
    /// The source as an animated WebP; `nil` where it does not move, and a still one is to be made.
    func moving(
        _ reader: any ByteReader, _ animated: Recipe.Animated, _ recipe: Recipe, limits: Limits, crew: Crew,
        stop: Stop
    ) throws(Failure) -> Artifact? {
        try Self.check(animated, recipe)
        var timer = StageTimer()
        let format = try Self.format(try Self.head(of: reader))
        timer.lap("fetch")
        var assembly = AnimationAssembly(
            manner: WebPEncoding.Manner(recipe), maxFrames: animated.maxFrames, crew: crew, stop: stop)
        var facts: Facts
        let made: (bytes: [UInt8], facts: Facts.Animation?)
        switch format {
        case .gif, .webp, .png:
            let decoder = try animation(reader, limits: limits, stop: stop)
            guard decoder.facts.animated else { return nil }
            facts = Facts(of: decoder.facts)
            let plan = Self.place(&facts, 1, recipe, decoded: (facts.storedWidth, facts.storedHeight))
            try Still.admit(width: plan.width, height: plan.height, limits: limits)
            timer.lap("probe")
            let pass = PassThrough(recipe: recipe, animated: animated, limits: limits, stop: stop)
            if pass.isWanted(decoder.facts, plan),
                let passed = try pass.file(reader, decoder, crew: crew)
            {
                facts.describe(passed.first)
                made = (passed.bytes, Facts.Animation(passing: decoder.facts))
            } else {
                let resize = AnimationResize(animated: animated, plan: plan, crew: crew, stop: stop)
                let end = try resize.run(decoder, into: &assembly)
                facts.degraded = decoder.facts.partial || !assembly.isWhole
                facts.describe(assembly.first)
                made = try assembly.finish(end: end, plays: decoder.facts.plays)
            }
        case .container:
            let cover = try picture(reader, recipe: recipe, limits: limits, stop: stop, &timer)
            guard cover.facts.source == .video else { return nil }
            facts = cover.facts
            let span = VideoSpan(recipe: recipe, animated: animated, limits: limits, crew: crew, stop: stop)
            // Without a second picture the cover's own is all there is.
            guard let end = try span.run(reader, cover, &facts, into: &assembly) else { return nil }
            facts.describe(assembly.first)
            // It ends where it was cut: played once, it would stop there.
            made = try assembly.finish(end: end, plays: 0)
        default: return nil
        }
        timer.lap("encode")
        facts.animation = made.facts
        facts.format = recipe.format.rawValue
        facts.byteCount = made.bytes.count
        Self.account(&facts, reader, timer)
        return Artifact(bytes: made.bytes, facts: facts, origin: .made)
    }

    private static func check(_ animated: Recipe.Animated, _ recipe: Recipe) throws(Failure) {
        try Encoder.check(recipe)
        func refuse(_ words: String) -> Failure { Failure(.badOption, .input, words) }
        guard recipe.format == .webp else {
            throw refuse("an animation is written as WebP, not as \(recipe.format.rawValue)")
        }
        if let most = animated.maxFrames, most < 1 { throw refuse("at most \(most) frames are none") }
        if let rate = animated.maxFramesPerSecond, !(rate > 0 && rate.isFinite) {
            throw refuse("\(rate) frames a second are not a rate")
        }
        guard animated.seconds > 0, animated.seconds.isFinite else {
            throw refuse("a span of \(animated.seconds) seconds shows nothing")
        }
    }
}

extension WebPEncoding.Manner {
    init(_ recipe: Recipe) {
        self.init(
            quality: recipe.quality ?? 75, effort: recipe.effort ?? 2,
            isLossless: recipe.animated?.lossless ?? false)
    }
}

extension Facts {
    /// What the index of an animation says.
    fileprivate init(of source: AnimationFacts) {
        self.init()
        container = source.container
        codec = source.container
        pixelFormat = source.container == "gif" ? "pal8" : source.container == "webp" ? "argb" : nil
        (storedWidth, storedHeight) = (source.width, source.height)
        animated = source.animated
        frameCount = source.frameCount
        duration = Double(source.milliseconds) / 1000
    }

    /// What is said of the finished picture, or of the first one of many.
    fileprivate mutating func describe(_ bitmap: Bitmap?) {
        guard let bitmap else { return }
        (width, height) = (bitmap.width, bitmap.height)
        alpha = bitmap.hasAlpha
        let sketch = bitmap.shrunken(toLongestSide: 100)
        thumbHash = Base64.text(ThumbHash.hash(sketch))
        dominantColor = DominantColor.hex(sketch)
    }
}

extension Facts.Animation {
    fileprivate init(passing source: AnimationFacts) {
        self.init(
            frameCount: source.frameCount, plays: source.plays, duration: Double(source.milliseconds) / 1000)
        passedThrough = true
    }
}
