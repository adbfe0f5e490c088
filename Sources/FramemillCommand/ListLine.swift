internal import FoundationEssentials
import FramemillMedia

/// One input: what to fetch, and what the caller calls it.
struct Entry: Sendable {
    /// Counted from 1, blank lines and comments included, as an editor counts.
    var line: Int
    var id: String?
    var url: String
    var mirrors: [String] = []
    var at: Recipe.Moment?
}

/// What one line of a list says.
enum ListLine {
    case nothing
    case entry(Entry)
    /// Not understood: reported as a failure of its own, the run goes on.
    case refused(Entry, Failure)

    init(_ raw: RawLine) {
        let shown = Entry(line: raw.number, url: "line \(raw.number)")
        switch raw.text {
        case .failure(let failure): self = .refused(shown, failure)
        case .success(let text):
            let trimmed = text.trimming { $0.isWhitespace || $0 == "\u{FEFF}" }
            if trimmed.isEmpty || trimmed.hasPrefix("#") {
                self = .nothing
            } else if trimmed.hasPrefix("{") {
                self = Self.object(trimmed, shown)
            } else {
                self = .entry(Entry(line: raw.number, url: String(trimmed)))
            }
        }
    }

    /// A name or a number, as lists made by programs have either.
    private enum Word: Decodable {
        case text(String)
        case number(Double)

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            do { self = .text(try container.decode(String.self)) } catch {
                self = .number(try container.decode(Double.self))
            }
        }

        var asText: String {
            switch self {
            case .text(let text): text
            case .number(let number): Int(exactly: number).map(String.init) ?? "\(number)"
            }
        }
    }

    private struct Object: Decodable {
        var url: String
        var mirrors: [String]?
        var at: Word?
        var id: Word?
    }

    private static func object(_ text: Substring, _ shown: Entry) -> ListLine {
        let object: Object
        do { object = try JSONDecoder().decode(Object.self, from: Data(text.utf8)) } catch {
            let right = #"{"url": "https://…", "mirrors": ["https://…"], "at": "50%", "id": "…"}"#
            return .refused(
                shown, Failure(.badOption, .input, "line \(shown.line) is not understood; right is \(right)"))
        }
        var entry = Entry(
            line: shown.line, id: object.id?.asText, url: String(object.url.trimming(\.isWhitespace)),
            mirrors: object.mirrors ?? [])
        guard !entry.url.isEmpty else {
            return .refused(entry, Failure(.badURL, .input, "line \(shown.line) has an empty url"))
        }
        if let at = object.at {
            guard let moment = Recipe.Moment(typed: at.asText) else {
                let right = "at \(at.asText) is not understood: it takes \(Recipe.Moment.words)"
                return .refused(entry, Failure(.badOption, .input, right))
            }
            entry.at = moment
        }
        return .entry(entry)
    }
}

extension StringProtocol {
    func trimming(_ isOut: (Character) -> Bool) -> SubSequence {
        var rest = drop(while: isOut)
        while let last = rest.last, isOut(last) { rest.removeLast() }
        return rest
    }
}
