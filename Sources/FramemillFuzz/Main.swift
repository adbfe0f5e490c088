// Readers of strangers' bytes, driven by libFuzzer: Tests/fuzz.sh builds and runs it. Built without, it gives each file
// that is named to a target once, so that what was found stays found.

internal import CFuzzer
internal import FoundationEssentials
internal import Glibc

@main enum Main {
    private static let target = CommandLine.arguments.dropFirst().first.flatMap { Target(rawValue: $0) }

    static func main() {
        guard let target else {
            let names = Target.allCases.map(\.rawValue).joined(separator: "|")
            print(
                "usage: framemill-fuzz \(names) FILE...\nbuilt with -sanitize=fuzzer: libFuzzer's options and folders"
            )
            exit(2)
        }
        let rest = CommandLine.arguments.dropFirst(2)
        guard framemill_has_fuzzer() == 0 else { exit(fuzz(target, rest)) }
        for path in rest {
            guard let bytes = FileManager.default.contents(atPath: path) else {
                print("\(path) can't be read")
                exit(1)
            }
            target.take([UInt8](bytes))
        }
    }

    /// - Returns: the exit code.
    private static func fuzz(_ target: Target, _ rest: ArraySlice<String>) -> CInt {
        // libFuzzer takes the name of the program first.
        let words = [CommandLine.arguments[0], "-max_len=\(target.mostBytes)"] + rest
        // For the life of the process.
        var pointers = unsafe words.map { unsafe strdup($0) } + [nil]
        return unsafe framemill_run_fuzzer(CInt(words.count), &pointers) { start, count in
            // libFuzzer's bytes hold still until the call is over.
            Main.target?.take(unsafe [UInt8](UnsafeBufferPointer(start: start, count: count)))
            return 0
        }
    }
}
