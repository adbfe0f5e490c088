import FramemillMedia
import Testing

@testable import Framemill

/// B07: whatever changes a byte changes the key, and nothing else does.
@Suite struct CacheKeyTests {
    private func key(_ url: String, _ change: (inout Recipe) -> Void = { _ in }) throws -> CacheKey {
        var recipe = Recipe()
        change(&recipe)
        return CacheKey(canonicalURL: try Location(url).canonical, recipe: recipe)
    }

    @Test func differsForEveryFieldOfTheRecipe() throws {
        let changes: [(inout Recipe) -> Void] = [
            { _ in }, { $0.at = .first }, { $0.at = .seconds(10) }, { $0.at = .seconds(50) },
            { $0.at = .percent(10) }, { $0.at = .percent(50) }, { $0.seek = .exact }, { $0.box = .native },
            { $0.box = .longestSide(100) }, { $0.box = .longestSide(640) },
            { $0.box = .size(width: 100, height: 320) }, { $0.box = .size(width: 320, height: 100) },
            { $0.mode = .fill }, { $0.mode = .stretch }, { $0.enlarge = true }, { $0.format = .png },
            { $0.format = .webp }, { $0.quality = 4 }, { $0.quality = 80 }, { $0.effort = 4 },
            { $0.effort = 0 },
            { $0.background = .init(red: 0, green: 255, blue: 255) },
            { $0.background = .init(red: 255, green: 0, blue: 255) },
            { $0.background = .init(red: 255, green: 255, blue: 0) }, { $0.animated = .init() },
            {
                $0.animated = .init()
                $0.animated?.lossless = true
            },
        ]
        let keys = try changes.map { try key("http://h/v?id=1", $0) }
        #expect(Set(keys).count == keys.count)
        #expect(Set(keys.map(\.hex)).count == keys.count)
    }

    /// One change of each field; a field that is not in here fails the test below.
    private static let fields: [String: @Sendable (inout Recipe) -> Void] = [
        "at": { $0.at = .first }, "seek": { $0.seek = .exact }, "box": { $0.box = .longestSide(321) },
        "mode": { $0.mode = .stretch }, "enlarge": { $0.enlarge = true }, "format": { $0.format = .png },
        "quality": { $0.quality = 79 }, "effort": { $0.effort = 3 },
        "background": { $0.background = .init(red: 255, green: 255, blue: 254) },
        "animated": { $0.animated = nil }, "animated.maxFrames": { $0.animated?.maxFrames = 12 },
        "animated.maxFramesPerSecond": { $0.animated?.maxFramesPerSecond = 12 },
        "animated.lossless": { $0.animated?.lossless = true },
        "animated.seconds": { $0.animated?.seconds = 3.5 },
    ]

    /// Whatever a recipe consists of, by reflection: a new field can't be left out of the key unseen.
    @Test func knowsEveryFieldThereIs() {
        let plain = Mirror(reflecting: Recipe()).children.compactMap(\.label)
        let moving = Mirror(reflecting: Recipe.Animated()).children.compactMap(\.label).map {
            "animated.\($0)"
        }
        #expect(Set(plain + moving) == Set(Self.fields.keys))
    }

    @Test(arguments: fields.keys.sorted()) func differsForTheField(_ name: String) throws {
        let change = try #require(Self.fields[name])
        let moving = try key("http://h/v") { $0.animated = .init() }
        let changed = try key("http://h/v") { recipe in
            recipe.animated = .init()
            change(&recipe)
        }
        #expect(changed != moving)
        // And for no two fields in the same way.
        for (other, otherChange) in Self.fields where other != name {
            let otherKey = try key("http://h/v") { recipe in
                recipe.animated = .init()
                otherChange(&recipe)
            }
            #expect(otherKey != changed, "\(other)")
        }
    }

    @Test func differsForEverySourceThatMayDiffer() throws {
        let urls = [
            "http://h/v?id=1", "http://h/v?id=2", "http://h/v", "http://h/V?id=1", "http://h/v?ID=1",
            "https://h/v?id=1", "http://h:81/v?id=1", "http://i/v?id=1", "http://h/v?id=1&", "/v", "/h/v",
        ]
        let keys = try urls.map { try key($0) }
        #expect(Set(keys).count == keys.count)
    }

    @Test(arguments: [
        ("http://h/v?id=1#t=10", "http://h/v?id=1"), ("http://H/v", "http://h/v"),
        ("HTTP://h/v", "http://h/v"),
        ("http://h:80/v", "http://h/v"), ("https://h:443/v", "https://h/v"), ("http://h", "http://h/"),
    ])
    func isOneForSpellingsOfOneSource(_ left: String, _ right: String) throws {
        #expect(try key(left) == key(right))
    }

    @Test func cannotBeForgedByALineBreak() {
        let plain = CacheKey(canonicalURL: "/a", recipe: Recipe())
        let text = "/a\nrecipe=\(Recipe().canonical)\nengine=\(CacheKey.engineVersion)\n"
        #expect(CacheKey(canonicalURL: text, recipe: Recipe()) != plain)
    }

    @Test func isTheDigestOfANamedText() {
        let text = "url=http://h/v\nrecipe=\(Recipe().canonical)\nengine=\(CacheKey.engineVersion)\n"
        let key = CacheKey(canonicalURL: "http://h/v", recipe: Recipe())
        #expect(key.hex == Digest.hex(Digest.sha256(Array(text.utf8))))
        #expect(Digest.hex(key.bytes) == key.hex)
        #expect(CacheKey(hex: key.hex) == key)
        #expect(CacheKey(hex: key.hex.uppercased()) == nil)
        #expect(CacheKey(hex: String(key.hex.dropLast())) == nil)
    }

    /// FIPS 180-2, appendix B, and the empty message.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1",
        ),
    ])
    func hashesAsTheStandardSays(_ text: String, _ hex: String) {
        #expect(Digest.hex(Digest.sha256(Array(text.utf8))) == hex)
    }

    /// The text as it was before it was written without an allocation: entries that are kept must be found again.
    @Test func keepsTheTextOfARecipe() {
        var recipe = Recipe()
        #expect(
            recipe.canonical
                == "at=auto seek=keyframe longest=320 mode=fit enlarge=false format=jpeg quality=default "
                + "effort=default background=255,255,255")
        recipe.at = .percent(12.5)
        recipe.seek = .exact
        recipe.box = .size(width: .max, height: .min)
        (recipe.mode, recipe.enlarge, recipe.format) = (.stretch, true, .webp)
        (recipe.quality, recipe.effort) = (-1, 1000)
        recipe.background = .init(red: 0, green: 10, blue: 109)
        recipe.animated = .init()
        #expect(
            recipe.canonical
                == "at=12.5% seek=exact width=9223372036854775807 height=-9223372036854775808 mode=stretch "
                + "enlarge=true format=webp quality=-1 effort=1000 background=0,10,109 frames=all rate=all "
                + "lossless=false span=3.0s")
        recipe.at = .seconds(-.greatestFiniteMagnitude)
        recipe.animated?.seconds = -.leastNonzeroMagnitude
        recipe.animated?.maxFramesPerSecond = -1.2345678901234567e-300
        recipe.animated?.lossless = true
        recipe.animated?.maxFrames = .min
        #expect(
            recipe.canonical
                == "at=-1.7976931348623157e+308s seek=exact width=9223372036854775807 height=-9223372036854775808 "
                + "mode=stretch enlarge=true format=webp quality=-1 effort=1000 background=0,10,109 "
                + "frames=-9223372036854775808 rate=-1.2345678901234568e-300 lossless=true span=-5e-324s")
        #expect(recipe.canonical.utf8.count <= Recipe.canonicalByteCount - 64)
    }

    /// What is taken for canonical at a glance must be so by the long way as well.
    @Test func takesAtAGlanceOnlyWhatIsCanonical() throws {
        let pieces = [
            "http://", "https://", "HTTP://", "http:/", "file://", "h", "H", "example.org", "ü", "localhost.",
            ".", "..", ":", ":80", ":443", ":8080", "@", "/", "//", "/a", "/.", "/..", "/./", "/../", "/.a",
            "/a.",
            "?", "?a=b", "?a=/../b", "&c", "#", "#f", "%", "%2f", "%2F", "%zz", "%4", " ", "\t", "\r\n", "\n",
            "\\", "\"", "<", ">", "`", "{", "}", "|", "^", "~", "[", "]", "[::1]", "é", "+", ",", ";", "=",
            "_", "-",
            "\u{7F}", "\u{FEFF}", "1", "127.0.0.1",
        ]
        var (atAGlance, random) = (0, SystemRandomNumberGenerator())
        for _ in 0..<60_000 {
            let start = ["http://", "https://", "http://h/", "http://example.org", ""].randomElement(
                using: &random)!
            let rest = (0..<Int.random(in: 0...6, using: &random)).map { _ in
                pieces.randomElement(using: &random)!
            }
            let url = start + rest.joined()
            guard Location.isCanonical(url) else { continue }
            atAGlance += 1
            #expect(try Location(url).canonical == url, "\(url)")
        }
        #expect(atAGlance > 1000)
    }

    @Test(arguments: [
        "http://h/", "https://example.org/clip/7.mp4", "http://h/a.b/c..d/e?x=1&y=../z?/{}`",
        "http://1.2.3.4/%2F%C3%A9",
        "https://h/a//b/~c/d,e;f=g@h:i|j^[k]!$'()*+_-",
    ])
    func seesAtAGlanceWhatIsPlain(_ url: String) throws {
        #expect(Location.isCanonical(url))
        #expect(try Location(url).canonical == url)
    }
}
