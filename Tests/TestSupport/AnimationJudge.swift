internal import Foundation

/// An animated picture as Pillow sees it, through libwebp's own player: canvases, times and loops.
public struct AnimationJudge: Sendable {
    public let width: Int
    public let height: Int
    /// As the file stores it; 0 is endless.
    public let loop: Int
    /// Milliseconds of each frame.
    public let delays: [Int]
    /// RGBA canvases.
    public let canvases: [[UInt8]]

    private static let program = """
        import sys
        from PIL import Image
        picture = Image.open(sys.argv[1])
        count = getattr(picture, 'n_frames', 1)
        frames = []
        for index in range(count):
            picture.seek(index)
            picture.load()
            frames.append((picture.info.get('duration', 0), picture.convert('RGBA').tobytes()))
        words = [picture.width, picture.height, picture.info.get('loop', 0)] + [int(f[0]) for f in frames]
        sys.stdout.buffer.write((' '.join(map(str, words)) + '\\n').encode() + b''.join(f[1] for f in frames))
        """

    public init(_ bytes: [UInt8]) throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(bytes, to: "judged.webp")
        // Every chunk as the specification has it, or an error.
        try Tool.output("webpinfo", ["-quiet", file])
        let output = try Tool.output("python3", ["-c", Self.program, file])
        guard let end = output.firstIndex(of: 10) else {
            throw Tool.Problem(description: "Pillow said nothing of \(file)")
        }
        let words = String(decoding: output[..<end], as: UTF8.self).split(separator: " ").compactMap {
            Int($0)
        }
        (width, height, loop, delays) = (words[0], words[1], words[2], Array(words[3...]))
        let (size, count) = (width * height * 4, delays.count)
        guard output.count == end + 1 + size * count else {
            throw Tool.Problem(description: "Pillow gave \(output.count) bytes for \(count) frames")
        }
        canvases = (0..<count).map { Array(output[end + 1 + $0 * size..<end + 1 + ($0 + 1) * size]) }
    }

    /// The canvas that is shown at a moment of the first showing.
    public func canvas(at milliseconds: Int) -> [UInt8] {
        var end = 0
        for (delay, canvas) in zip(delays, canvases) {
            end += delay
            if milliseconds < end { return canvas }
        }
        return canvases[canvases.count - 1]
    }
}
