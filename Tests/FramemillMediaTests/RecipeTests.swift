import FramemillMedia
import Testing

/// Recipes that differ from the default in one field each, by the name of that field.
enum RecipeVariants {
    static let all: [(field: String, change: @Sendable (inout Recipe) -> Void)] = [
        ("at", { $0.at = .first }), ("at", { $0.at = .seconds(10) }), ("at", { $0.at = .percent(10) }),
        ("at", { $0.at = .seconds(50) }), ("at", { $0.at = .percent(50) }), ("at", { $0.at = .seconds(0) }),
        ("seek", { $0.seek = .exact }), ("box", { $0.box = .native }),
        ("box", { $0.box = .longestSide(100) }),
        ("box", { $0.box = .longestSide(640) }), ("box", { $0.box = .size(width: 100, height: 320) }),
        ("box", { $0.box = .size(width: 320, height: 100) }),
        ("box", { $0.box = .size(width: 320, height: 320) }),
        ("mode", { $0.mode = .fill }), ("mode", { $0.mode = .stretch }), ("enlarge", { $0.enlarge = true }),
        ("format", { $0.format = .png }), ("format", { $0.format = .webp }), ("quality", { $0.quality = 80 }),
        ("quality", { $0.quality = 4 }), ("effort", { $0.effort = 4 }), ("effort", { $0.effort = 0 }),
        ("background", { $0.background = .init(red: 0, green: 255, blue: 255) }),
        ("background", { $0.background = .init(red: 255, green: 0, blue: 255) }),
        ("background", { $0.background = .init(red: 255, green: 255, blue: 0) }),
        ("animated", { $0.animated = .init() }),
        ("animated", { $0.animated = animated { $0.maxFrames = 12 } }),
        ("animated", { $0.animated = animated { $0.maxFrames = 3 } }),
        ("animated", { $0.animated = animated { $0.maxFramesPerSecond = 12 } }),
        ("animated", { $0.animated = animated { $0.maxFramesPerSecond = 3 } }),
        ("animated", { $0.animated = animated { $0.lossless = true } }),
        ("animated", { $0.animated = animated { $0.seconds = 12 } }),
    ]

    private static func animated(_ change: (inout Recipe.Animated) -> Void) -> Recipe.Animated {
        var animated = Recipe.Animated()
        change(&animated)
        return animated
    }

    static func recipe(_ change: (inout Recipe) -> Void) -> Recipe {
        var recipe = Recipe()
        change(&recipe)
        return recipe
    }
}

@Suite struct RecipeTests {
    /// A field that is new in `Recipe` fails here until it has a variant, and below until `canonical` names it.
    @Test func hasAVariantForEveryStoredProperty() {
        let fields = Set(Mirror(reflecting: Recipe()).children.compactMap(\.label))
        #expect(fields == Set(RecipeVariants.all.map(\.field)))
        let moving = Set(Mirror(reflecting: Recipe.Animated()).children.compactMap(\.label))
        #expect(moving == ["maxFrames", "maxFramesPerSecond", "lossless", "seconds"])
    }

    @Test func writesEveryFieldIntoItsCanonicalText() {
        let texts =
            [Recipe().canonical] + RecipeVariants.all.map { RecipeVariants.recipe($0.change).canonical }
        #expect(Set(texts).count == texts.count)
        #expect(texts.allSatisfy { !$0.contains("\n") })
    }

    @Test func staysAsItWas() {
        // Every cache in the field is keyed by this text: it changes only together with the engine version.
        let text = """
            at=auto seek=keyframe longest=320 mode=fit enlarge=false format=jpeg quality=default effort=default \
            background=255,255,255
            """
        #expect(Recipe().canonical == text)
        var recipe = Recipe()
        recipe.animated = Recipe.Animated()
        #expect(recipe.canonical == text + " frames=all rate=all lossless=false span=3.0s")
    }
}
