internal import Foundation

/// How many cores this process may use: the CPU quota of its control group, else what the scheduler allows.
///
/// A container limited to 2 CPUs on a 32-core host must not start 32 decoders.
public enum Processors {
    public static var available: Int {
        let online = max(1, ProcessInfo.processInfo.activeProcessorCount)
        guard let quota = quota(in: "/sys/fs/cgroup/cpu.max") else { return online }
        return max(1, min(online, quota))
    }

    /// `cpu.max` of control groups v2: `$MAX $PERIOD`, or `max $PERIOD` for no limit.
    static func quota(in path: String) -> Int? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8) else { return nil }  // no v2 groups here
        return quota(text)
    }

    static func quota(_ text: String) -> Int? {
        let words = text.split(whereSeparator: \.isWhitespace)
        guard words.count == 2, let most = Double(words[0]), let period = Double(words[1]), period > 0 else { return nil }
        return max(1, Int((most / period).rounded(.up)))
    }
}
