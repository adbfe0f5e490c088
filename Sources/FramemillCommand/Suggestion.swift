/// "Did you mean": the word of a list that is nearest to what was typed, if any is near enough.
enum Suggestion {
    static func nearest(to word: String, among words: [String]) -> String? {
        let best = words.map { (word: $0, distance: distance(word, $0)) }.min { $0.distance < $1.distance }
        guard let best, best.distance <= max(1, min(3, word.count / 3)) else { return nil }
        return best.word
    }

    /// Inserts, deletions, replacements and swaps of neighbours (optimal string alignment).
    static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.lowercased()), Array(right.lowercased()))
        var before: [Int] = []
        var last = Array(0...right.count)
        for row in left.indices {
            var line = [row + 1]
            for column in right.indices {
                let same = left[row] == right[column]
                var least = min(last[column + 1] + 1, line[column] + 1, last[column] + (same ? 0 : 1))
                if row > 0, column > 0, left[row] == right[column - 1], left[row - 1] == right[column] {
                    least = min(least, before[column - 1] + 1)
                }
                line.append(least)
            }
            (before, last) = (last, line)
        }
        return last[right.count]
    }
}
