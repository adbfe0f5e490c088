/// Metrics as Prometheus reads them: text format 0.0.4 of its exposition formats.
struct Exposition {
    static let type = "text/plain; version=0.0.4; charset=utf-8"

    typealias Labels = [(key: String, value: String)]

    private(set) var text = ""

    mutating func counter(_ name: String, _ help: String, _ samples: [(Labels, Double)]) {
        family(name, "counter", help, samples)
    }

    mutating func gauge(_ name: String, _ help: String, _ samples: [(Labels, Double)]) {
        family(name, "gauge", help, samples)
    }

    mutating func gauge(_ name: String, _ help: String, _ value: Double) { gauge(name, help, [([], value)]) }
    mutating func counter(_ name: String, _ help: String, _ value: Double) {
        counter(name, help, [([], value)])
    }

    mutating func histogram(_ name: String, _ help: String, _ samples: [(Labels, Histogram.Counts)]) {
        head(name, "histogram", help)
        for (labels, counts) in samples {
            var below = 0
            for (bound, count) in zip(counts.bounds, counts.counts) {
                below += count
                line("\(name)_bucket", labels + [(key: "le", value: Self.number(bound))], Double(below))
            }
            line("\(name)_bucket", labels + [(key: "le", value: "+Inf")], Double(counts.total))
            line("\(name)_sum", labels, counts.sum)
            line("\(name)_count", labels, Double(counts.total))
        }
    }

    private mutating func family(
        _ name: String, _ kind: String, _ help: String, _ samples: [(Labels, Double)]
    ) {
        head(name, kind, help)
        for (labels, value) in samples { line(name, labels, value) }
    }

    private mutating func head(_ name: String, _ kind: String, _ help: String) {
        text += "# HELP \(name) \(Self.escaped(help, quotes: false))\n# TYPE \(name) \(kind)\n"
    }

    private mutating func line(_ name: String, _ labels: Labels, _ value: Double) {
        let inner = labels.map { "\($0.key)=\"\(Self.escaped($0.value, quotes: true))\"" }.joined(
            separator: ",")
        text += name + (inner.isEmpty ? "" : "{\(inner)}") + " \(Self.number(value))\n"
    }

    private static func number(_ value: Double) -> String {
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value < 0 ? "-Inf" : "+Inf" }
        return Int(exactly: value).map(String.init) ?? String(value)
    }

    /// "label_value can be any sequence of UTF-8 characters, but the backslash, double-quote, and line feed characters have
    /// to be escaped"; in help texts the quote stays.
    private static func escaped(_ text: String, quotes: Bool) -> String {
        var out = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": out += "\\\\"
            case "\n": out += "\\n"
            case "\"" where quotes: out += "\\\""
            default: out.unicodeScalars.append(character)
            }
        }
        return out
    }
}
