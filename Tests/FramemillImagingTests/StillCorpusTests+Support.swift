import Foundation
import Framemill
import FramemillEngine
import FramemillMedia
import TestSupport

@testable import FramemillImaging

/// One still file decoded as `Render` would ask for it.
enum StillCorpus {
    static func bytes(_ row: Corpus.Row) throws -> [UInt8] {
        try [UInt8](Data(contentsOf: URL(filePath: row.file)))
    }

    /// SHA-256 of the first canvas by path; empty where decoders do not agree.
    static let firstFrames: [String: String] = {
        // Without the list no canvas is compared; the test that needs it says how many it compared.
        let text = (try? String(contentsOfFile: Corpus.file("frames.tsv"), encoding: .utf8)) ?? ""
        let rows = text.split(separator: "\n").map {
            $0.split(separator: "\t", omittingEmptySubsequences: false)
        }
        let first = rows.filter { $0.count > 3 && $0[1] == "0" }
        return Dictionary(uniqueKeysWithValues: first.map { (String($0[0]), String($0[3])) })
    }()

    static func decode(
        _ bytes: [UInt8], box: (width: Int, height: Int)? = nil, limits: Limits = Limits(),
        stop: Stop = Stop(after: .seconds(600))
    ) -> Result<StillPicture, Failure> {
        let format = Format.sniff(Array(bytes.prefix(512)))
        do throws(Failure) {
            return .success(
                try Still.decode(format, MemoryReader(bytes), limits: limits, stop: stop, targetBox: box))
        } catch {
            return .failure(error)
        }
    }

    static func facts(_ bytes: [UInt8]) -> Result<StillHeader, Failure> {
        let format = Format.sniff(Array(bytes.prefix(512)))
        do throws(Failure) {
            let stop = Stop(after: .seconds(600))
            return .success(try Still.facts(format, MemoryReader(bytes), limits: Limits(), stop: stop))
        } catch {
            return .failure(error)
        }
    }

    /// `#rrggbbaa`; one that is fully transparent has no colour.
    static func pixel(_ bitmap: Bitmap, _ x: Int, _ y: Int) -> String {
        let offset = (y * bitmap.width + x) * 4
        var values = Array(bitmap.pixels[offset..<offset + 4])
        if values[3] == 0 { values = [0, 0, 0, 0] }
        return "#" + values.map { String(format: "%02x", $0) }.joined()
    }

    static func isClose(_ left: String, _ right: String, within tolerance: Int) -> Bool {
        func channels(_ text: String) -> [Int] {
            let digits = Array(text.dropFirst())
            return stride(from: 0, to: digits.count - 1, by: 2).map {
                Int(String(digits[$0...$0 + 1]), radix: 16) ?? -1
            }
        }
        return zip(channels(left), channels(right)).allSatisfy { abs($0 - $1) <= tolerance }
    }

    /// SHA-256 of the canvas as the corpus has it: every transparent pixel is 0, 0, 0, 0.
    static func digest(_ bitmap: Bitmap) -> String {
        var pixels = bitmap.pixels
        for offset in stride(from: 0, to: pixels.count, by: 4) where pixels[offset + 3] == 0 {
            for channel in 0..<3 { pixels[offset + channel] = 0 }
        }
        return Digest.sha256(pixels).map { String(format: "%02x", $0) }.joined()
    }
}
