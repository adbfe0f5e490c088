internal import Foundation

/// How many cores this process may use: the CPU quota of its control group, else what the scheduler allows.
///
/// A container limited to 2 CPUs on a 32-core host must not start 32 decoders.
public enum Processors {
    public static var available: Int {
        let online = max(1, ProcessInfo.processInfo.activeProcessorCount)
        return limits(of: text("/proc/self/cgroup"), in: "/sys/fs/cgroup").reduce(online, min)
    }

    /// The quotas of a process's control group and of every group above it: the least one binds.
    ///
    /// - Parameter membership: `/proc/self/cgroup`; in v2 one line, `0::/path`.
    package static func limits(of membership: String?, in root: String) -> [Int] {
        let line = membership?.split(separator: "\n").first { $0.hasPrefix("0::/") }
        var groups = line?.dropFirst(4).split(separator: "/").map(String.init) ?? []
        var limits: [Int] = []
        // Inside a container the path may be one that only the host knows; then the root alone has a file.
        while true {
            let path = ([root] + groups + ["cpu.max"]).joined(separator: "/")
            if let found = text(path).flatMap(quota) { limits.append(found) }
            if groups.popLast() == nil { return limits }
        }
    }

    private static func text(_ path: String) -> String? {
        // No such file: no v2 groups here, or no limit at this level.
        try? String(contentsOfFile: path, encoding: .utf8)
    }

    /// `cpu.max` of control groups v2: `$MAX $PERIOD`, or `max $PERIOD` for no limit. Half a core counts as one.
    package static func quota(_ text: String) -> Int? {
        let words = text.split(whereSeparator: \.isWhitespace).map { Int($0) }
        guard words.count == 2, let most = words[0], let period = words[1], most > 0, period > 0 else {
            return nil
        }
        return max(1, most / period + (most % period == 0 ? 0 : 1))
    }
}
