internal import FramemillMedia
internal import Glibc

/// How decoder processes are kept. Every default carries its reason.
public struct DecoderOptions: Sendable {
    /// The program that decodes. `nil`: what the environment variable `FRAMEMILL_DECODER` names, else `framemill-decoder`
    /// in the folder of the program that runs.
    public var executable: String?
    /// Processes that are kept while they have nothing to do. 4 per core: over slow origins there are more at a time than
    /// cores, since each picture has one while it waits for bytes. One that rests takes some 10 MiB.
    public var idle: Int = Configuration().permits * 4
    /// Jobs until a process is replaced, so that what a library leaks or a file has broken does not last. A start takes
    /// some 40 ms, which 1,000 jobs of 20 ms make 0.2%.
    public var jobs: Int = 1000
    /// Memory that one process may take, beside its libraries; a picture that needs more fails with `tooMuchMemory`. 2
    /// GiB: a picture at `Limits.pixelsPerFrame` takes 256 MiB as pixels, and some decoders hold several of it.
    public var memoryBytes: Int = 2 << 30
    /// Resident memory after a job from which on a process is replaced. 256 MiB are rarely reached, and given back so.
    public var restingBytes: Int = 256 << 20
    /// How much longer than its deadline, or than its caller wants it, a job may take before its process is killed. Half
    /// a second: decoders ask for the time between two pictures or reads, and end in time by themselves.
    public var grace: Duration = .milliseconds(500)

    public init() {}

    /// Where the program is.
    /// - Throws: `badOption` where there is none that can be run.
    func located() throws(Failure) -> String {
        let path: String
        if let executable {
            path = executable
        } else if let named = unsafe getenv("FRAMEMILL_DECODER") {
            // The C library's own text, copied at once.
            path = unsafe String(cString: named)
        } else {
            path = try Self.folder() + "/framemill-decoder"
        }
        guard unsafe access(path, X_OK) == 0 else {
            throw Failure(
                .badOption, .input,
                "there is no decoder at \(path): put framemill-decoder beside the program, or name it in "
                    + "FRAMEMILL_DECODER",
                cause: systemWords())
        }
        return path
    }

    /// Of the program that runs.
    private static func folder() throws(Failure) -> String {
        var text = [UInt8](repeating: 0, count: 4096)
        // Writes no more than the array holds.
        let count = unsafe text.withUnsafeMutableBytes { room in
            unsafe readlink(
                "/proc/self/exe", room.baseAddress!.assumingMemoryBound(to: CChar.self), room.count)
        }
        guard count > 0, let slash = text[..<count].lastIndex(of: UInt8(ascii: "/")) else {
            throw Failure(
                .badOption, .input, "/proc/self/exe can't be read; name the decoder in FRAMEMILL_DECODER",
                cause: systemWords())
        }
        return String(decoding: text[..<slash], as: UTF8.self)
    }
}
