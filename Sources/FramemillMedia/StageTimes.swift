/// What the stages of one picture took, in milliseconds, by their names. In JSON an object. A handful of names in a list,
/// and no hash table: making one takes longer than all else that reading a picture's facts from the cache does.
public struct StageTimes: Sendable, Equatable, ExpressibleByDictionaryLiteral {
    private var stages: [Stage] = []

    private struct Stage: Sendable, Equatable {
        let name: String
        var milliseconds: Double
    }

    public init() {}

    public init(dictionaryLiteral elements: (String, Double)...) {
        for (name, milliseconds) in elements { self[name] = milliseconds }
    }

    /// `nil` for a stage that did not take place.
    public subscript(name: String) -> Double? {
        get { stages.first { $0.name == name }?.milliseconds }
        set {
            let place = stages.firstIndex { $0.name >= name } ?? stages.count
            let isThere = place < stages.count && stages[place].name == name
            switch newValue {
            case let milliseconds? where isThere: stages[place].milliseconds = milliseconds
            case let milliseconds?: stages.insert(Stage(name: name, milliseconds: milliseconds), at: place)
            case nil where isThere: stages.remove(at: place)
            case nil: break
            }
        }
    }

    package mutating func reserveCapacity(_ count: Int) { stages.reserveCapacity(count) }
}

/// The stages in the order of their names.
extension StageTimes: RandomAccessCollection {
    public var startIndex: Int { 0 }
    public var endIndex: Int { stages.count }

    public subscript(position: Int) -> (name: String, milliseconds: Double) {
        (stages[position].name, stages[position].milliseconds)
    }
}

extension StageTimes: Codable {
    public init(from decoder: any Decoder) throws {
        for (name, milliseconds) in try decoder.singleValueContainer().decode([String: Double].self) {
            self[name] = milliseconds
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(Dictionary(uniqueKeysWithValues: map { ($0.name, $0.milliseconds) }))
    }
}
