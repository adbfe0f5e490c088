internal import FramemillMedia

/// The frames that random access can begin at: those that hide all of the canvas, and those that come after a canvas
/// which was wholly cleared.
struct FrameStarts: Sendable {
    private let starts: [Int]

    init(_ source: any FrameSource) {
        let facts = source.facts
        var starts: [Int] = [0]
        for (index, frame) in facts.frames.enumerated().dropFirst() {
            let before = facts.frames[index - 1]
            // What a frame with the disposal "previous" hides comes back after it.
            let hides = facts.isCovered(by: frame) && source.hidesBelow(index) && frame.disposal != .previous
            if hides || before.disposal == .background && facts.isCovered(by: before) {
                starts.append(index)
            }
        }
        self.starts = starts
    }

    /// The last start that is not behind `index`; 0 for what is before the first frame.
    func last(upTo index: Int) -> Int {
        var (low, high) = (0, starts.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if starts[middle] <= index { low = middle } else { high = middle }
        }
        return starts[low]
    }
}
