/// The parts of a URL are told by bytes. By Swift's characters a mark that combines with what is before it would hide a
/// delimiter: `#` and U+0301 are one character, and it is not `#`.
extension Substring {
    func begins(with prefix: String) -> Bool { utf8.starts(with: prefix.utf8) }

    func droppingBytes(_ count: Int) -> Substring { Substring(utf8.dropFirst(count)) }

    /// Up to the first of these ASCII characters.
    func before(_ stops: String) -> Substring {
        self[..<(utf8.firstIndex { stops.utf8.contains($0) } ?? endIndex)]
    }
}
