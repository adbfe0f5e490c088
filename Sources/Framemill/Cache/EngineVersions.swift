// Which part of the engine gave a result, and in which version. An entry of an older version is a miss: it is made anew
// and replaced. So a better GIF decoder makes GIFs anew, and nothing else.
//
// Raise a part's number whenever the same bytes and recipe may give another picture than before: of all parts whose
// results a change reaches, so for an encoder mostly of all. `CacheKey.engineVersion` is for the key itself, and makes
// everything anew.
//
// Older, not other: of two versions of the program on one folder, as while one is rolled out, the old one takes what
// the new one made, and they don't undo each other's work.

package import FramemillMedia

package struct EngineVersions: Sendable {
    package enum Part: String, Sendable, CaseIterable {
        /// Everything that comes out of a container: frames, and pictures attached to sound.
        case video
        case gif, webp, apng
        /// JPEG, PNG, AVIF.
        case still
        /// The making of animated WebP, whatever of.
        case animation
    }

    private var numbers: [Part: Int] = [:]

    /// Of this program.
    package static let current = EngineVersions()

    package init() {}

    package subscript(part: Part) -> Int {
        get { numbers[part] ?? 1 }
        set { numbers[part] = newValue }
    }

    /// The class of a result, and its version as the cache keeps it. A moving result has the class of its source and
    /// `-animation`, and hangs on both. What was refused for its bytes is tried again by any better decoder; what the
    /// origin did has nothing to do with the engine.
    package func mark(_ outcome: Result<Artifact, Failure>) -> (class: String, version: String) {
        let name =
            switch outcome {
            case .success(let artifact): Self.name(artifact.facts)
            case .failure(let failure): failure.isOfTheBytes ? Self.refused : Self.network
            }
        return (name, version(of: name) ?? "")
    }

    /// Whether the present engine would make it anew.
    package func isOlder(_ record: CacheRecord) -> Bool {
        // Of a part that only a later version has.
        guard let present = version(of: record.engineClass) else { return record.engineClass.isEmpty }
        let (then, now) = (Self.parts(record.engineVersion), Self.parts(present))
        return then.count != now.count || zip(then, now).contains { $0 < $1 }
    }

    private static let refused = "refused"
    private static let network = "network"
    private static let moving = "-" + Part.animation.rawValue

    private static func name(_ facts: Facts) -> String {
        let part: Part =
            switch facts.source {
            case .video, .attached: .video
            case .image: Part(rawValue: facts.container) ?? .still
            }
        return facts.animation == nil ? part.rawValue : part.rawValue + moving
    }

    /// `nil` for a class that this version does not know.
    private func version(of name: String) -> String? {
        switch name {
        case Self.network: return "1"
        case Self.refused: return Part.allCases.map { "\(self[$0])" }.joined(separator: ".")
        case _ where name.hasSuffix(Self.moving):
            return Part(rawValue: String(name.dropLast(Self.moving.count))).map {
                "\(self[$0]).\(self[.animation])"
            }
        default: return Part(rawValue: name).map { "\(self[$0])" }
        }
    }

    private static func parts(_ version: String) -> [Int] {
        version.split(separator: ".", omittingEmptySubsequences: false).map { Int($0) ?? 0 }
    }
}
