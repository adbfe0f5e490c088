import Foundation
import Framemill
import FramemillEngine
import FramemillImaging
import FramemillMedia
import TestSupport
import Testing

/// The corpus's animations against what its decoders agree on, frame by frame.
struct AnimationCorpusTests {
    static let rows = Corpus.rows("gif", "webp", "apng").filter {
        $0.refusals.isEmpty && !choices.contains($0.path)
    }

    /// Rows whose references we leave, and why.
    static let choices = [
        // The two that agree paint the background colour; ours is transparent, as in browsers, which enlarge the screen.
        "gif/wuffs_frame-out-of-bounds.gif",
        // The same; ours is Chromium's.
        "gif/wuffs_small-frame-interlaced.gif",
        // Its only frame has no pixels: refused. No two decoders agree on what it shows.
        "gif/wuffs_zero-width-frame.gif",
    ]

    /// PNG files whose animation is void, so that the default image is what is shown: the delay and the loop count in
    /// the list are only what their chunks say, and nobody's.
    static let stills = [
        "apng/pillow_chunk_no_fdat.png",
        "apng/pillow_chunk_actl_after_idat.png", "apng/pillow_syntax_num_frames_invalid.png",
        "apng/pillow_syntax_num_frames_zero_default.png",
    ]

    @Test(.enabled(if: Corpus.isPresent, "\(Corpus.absence)"), arguments: rows)
    func decodesEveryFrameAsItsReferenceDecodersDo(_ row: Corpus.Row) throws {
        let references = try FrameTable.frames(of: row.path)
        let decoder = try open(row)
        let facts = decoder.facts
        if let width = row.number("width") { #expect(facts.width == width) }
        if let height = row.number("height") { #expect(facts.height == height) }
        if !Self.stills.contains(row.path), let loop = row.expected["loop"] {
            #expect((facts.rawLoop.map(String.init) ?? "none") == loop)
        }
        var count = 0
        var place = AnimationPlace()
        while true {
            let stop = Stop(after: .seconds(60))
            let frames = try decoder.frames(
                from: &place, windowBytes: 16 << 20, crew: .alone, stop: stop)
            if frames.isEmpty { break }
            count += frames.count
            for frame in frames {
                guard let reference = references[frame.index] else { continue }
                if !Self.stills.contains(row.path), let delay = reference.delay {
                    #expect(abs(facts.frames[frame.index].rawDelay - delay) < 0.01, "frame \(frame.index)")
                }
                guard !reference.hash.isEmpty else { continue }
                #expect(FrameTable.hash(frame.bitmap) == reference.hash, "frame \(frame.index)")
            }
        }
        if let frames = row.number("frames") { #expect(count == frames) }
    }

    @Test(.enabled(if: Corpus.isPresent, "\(Corpus.absence)"), arguments: rows)
    func givesAnyFrameAloneAsInOrder(_ row: Corpus.Row) throws {
        let decoder = try open(row)
        let stop = Stop(after: .seconds(600))
        var place = AnimationPlace()
        while let frame = try decoder.frames(from: &place, windowBytes: 1, crew: .alone, stop: stop).first {
            let alone = try decoder.frame(at: frame.index, crew: .alone, stop: stop)
            #expect(alone == frame, "frame \(frame.index)")
        }
    }

    private func open(_ row: Corpus.Row) throws -> any AnimationDecoder {
        let bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: row.file)))
        return try Imaging().animation(
            MemoryReader(bytes), limits: Limits(), stop: Stop(after: .seconds(60)))
    }
}

/// `frames.tsv`: the hashes of composited canvases.
enum FrameTable {
    struct Reference {
        var delay: Double?
        /// Empty where decoders disagree.
        var hash: String
    }

    private static let table: [String: [Int: Reference]] = {
        // Without a corpus there is no table; the tests that read it are off.
        let text = (try? String(contentsOfFile: Corpus.file("frames.tsv"), encoding: .utf8)) ?? ""
        var table: [String: [Int: Reference]] = [:]
        for line in text.split(separator: "\n").dropFirst() {
            let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
            guard fields.count >= 4, let frame = Int(fields[1]) else { continue }
            table[fields[0], default: [:]][frame] = Reference(delay: Double(fields[2]), hash: fields[3])
        }
        return table
    }()

    static func frames(of path: String) throws -> [Int: Reference] { table[path] ?? [:] }

    /// SHA-256 of the pixels, with 0, 0, 0, 0 for each that is fully transparent.
    static func hash(_ bitmap: Bitmap) -> String {
        var pixels = bitmap.pixels
        for at in stride(from: 0, to: pixels.count, by: 4) where pixels[at + 3] == 0 {
            (pixels[at], pixels[at + 1], pixels[at + 2]) = (0, 0, 0)
        }
        return Digest.hex(Digest.sha256(pixels))
    }
}
