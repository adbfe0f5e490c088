internal import FoundationEssentials
import Framemill

/// The facts of a source for a person: one a line, in the order of their names.
enum FactsTable {
    /// Facts of a cover, which a probe makes none of.
    private static let ofCovers = ["byteCount", "format", "height", "width"]

    static func text(_ facts: Facts) throws(Failure) -> String {
        let rows: [String: Value]
        do { rows = try JSONDecoder().decode([String: Value].self, from: Data(JSON.line(facts))) } catch {
            throw Failure(.internalError, .store, "cannot show the facts", cause: "\(error)")
        }
        let names = rows.keys.filter { !ofCovers.contains($0) }.sorted()
        let width = names.map(\.count).max() ?? 0
        return names.map { name in
            let gap = String(repeating: " ", count: width - name.count + 2)
            return Output.tame(name + gap + (rows[name]?.text ?? ""))
        }.joined(separator: "\n")
    }

    /// Whatever a fact is in JSON, as one word, or as several for the table of stage times.
    private enum Value: Decodable {
        case word(String)
        case number(Double)
        case truth(Bool)
        case table([String: Double])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let truth = try? container.decode(Bool.self) {
                self = .truth(truth)
            } else if let number = try? container.decode(Double.self) {
                self = .number(number)
            } else if let word = try? container.decode(String.self) {
                self = .word(word)
            } else {
                self = .table(try container.decode([String: Double].self))
            }
        }

        var text: String {
            switch self {
            case .word(let word): word
            case .number(let number): Self.short(number)
            case .truth(let truth): truth ? "yes" : "no"
            case .table(let table):
                table.sorted { $0.key < $1.key }.map { "\($0.key) \(Self.short($0.value))" }.joined(
                    separator: ", ")
            }
        }

        private static func short(_ number: Double) -> String {
            Int(exactly: number).map(String.init) ?? "\(number)"
        }
    }
}
