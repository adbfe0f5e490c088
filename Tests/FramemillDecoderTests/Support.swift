import Foundation
import FramemillEngine
import FramemillMedia
import TestSupport

@testable import Framemill

/// Decoders that do what their sources say.
enum FaultyPool {
    /// Beside the test bundle, as all that is built.
    static func path(_ name: String) -> String {
        let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        return tests.deletingLastPathComponent().appendingPathComponent(name).path
    }

    static func make(_ change: (inout DecoderOptions) -> Void = { _ in }) throws -> DecoderPool {
        var options = DecoderOptions()
        options.executable = path("FaultDecoder")
        options.memoryBytes = 512 << 20
        change(&options)
        return try DecoderPool(options)
    }
}

extension DecoderPool {
    /// A cover of these bytes.
    func cover(_ bytes: [UInt8], _ stop: Stop = Stop(after: .seconds(60))) throws(Failure) -> Artifact {
        try render(
            MemoryReader(bytes), recipe: Recipe(), limits: Limits(), crew: .alone, stop: stop)
    }

    func obey(_ word: String, _ stop: Stop = Stop(after: .seconds(60))) throws(Failure) -> Artifact {
        try cover(Array("FAULT \(word) ".utf8) + [UInt8](repeating: 0, count: 100), stop)
    }
}

/// A red picture, small and good.
func redGIF(frames: Int = 1) -> [UInt8] {
    var gif = GIFBuilder(width: 8, height: 4)
    gif.frames = (0..<frames).map { GIFBuilder.Frame(width: 8, height: 4, index: UInt8($0 % 4)) }
    return gif.bytes
}

/// Whether there is such a process, or its remains.
func exists(_ pid: Int32) -> Bool { kill(pid, 0) == 0 || errno != ESRCH }
