internal import FoundationEssentials
internal import FramemillMedia

/// One limit as a flag, as an environment variable and in `Limits`. The flag counts more than the variable.
struct LimitOption: Sendable {
    let option: Option
    /// What the value must be.
    private let words: String
    /// Whether the text is such a value, which is then set.
    private let set: @Sendable (inout Limits, String) -> Bool

    private init(
        _ name: String, _ shape: String, _ help: String, preset: String, words: String,
        set: @escaping @Sendable (inout Limits, String) -> Bool
    ) {
        option = Option("limit-\(name)", shape, help, preset: preset)
        (self.words, self.set) = (words, set)
    }

    private static func whole(
        _ name: String, _ shape: String, _ help: String, preset: String, least: Int = 1, most: Int,
        _ set: @escaping @Sendable (inout Limits, Int) -> Void
    ) -> Self {
        Self(name, shape, help, preset: preset, words: "a whole number from \(least) to \(most)") {
            limits, text in
            guard let number = Number.whole(text), (least...most).contains(number) else { return false }
            set(&limits, number)
            return true
        }
    }

    private static func seconds(
        _ name: String, _ help: String, preset: String,
        _ set: @escaping @Sendable (inout Limits, Double) -> Void
    ) -> Self {
        Self(name, "SECONDS", help, preset: preset, words: "seconds, more than 0 and at most 86400") {
            limits, text in
            guard let number = Number.decimal(text), number > 0, number <= 86400 else { return false }
            set(&limits, number)
            return true
        }
    }

    /// All but the deadline, whose flag is `--deadline`.
    static let all = [
        whole(
            "source-bytes", "BYTES", "read from one source over the network", preset: "64 MiB", most: 1 << 50
        ) { $0.sourceBytes = Int64($1) },
        whole(
            "pixels-per-frame", "N", "of one stored picture or canvas, and of a result",
            preset: "8192 x 8192",
            most: 1 << 32
        ) { $0.pixelsPerFrame = $1 },
        whole("frames", "N", "of one animation", preset: "100000", most: 1 << 24) { $0.frames = $1 },
        whole(
            "total-pixels", "N", "of all frames of one animation together", preset: "2^34", most: 1 << 50
        ) { $0.totalPixels = $1 },
        whole("redirects", "N", "followed for one request", preset: "8", least: 0, most: 100) {
            $0.redirects = $1
        },
        whole(
            "probe-bytes", "BYTES", "until the container must be known", preset: "2 MiB", most: 1 << 40
        ) { $0.probeBytes = Int64($1) },
        whole(
            "scan-frames", "N", "decoded in the search for a good picture", preset: "400", most: 1 << 24
        ) { $0.scanFrames = $1 },
        seconds("scan-seconds", "of media looked at in that search", preset: "16") { $0.scanSeconds = $1 },
        whole(
            "scan-bytes", "BYTES", "read in that search", preset: "16 MiB", most: 1 << 40
        ) { $0.scanBytes = Int64($1) },
        whole(
            "slow-bytes-per-second", "N", "below which a transfer is slow", preset: "64", most: 1 << 40
        ) { $0.slowBytesPerSecond = $1 },
        whole(
            "slow-seconds", "N", "after which a slow transfer is given up", preset: "10", most: 86400
        ) { $0.slowSeconds = $1 },
        whole(
            "connect-seconds", "N", "until a connection must stand", preset: "10", most: 86400
        ) { $0.connectSeconds = $1 },
        whole("streams", "N", "in one container", preset: "100", most: 100_000) { $0.streams = $1 },
    ]

    /// `--deadline` and its variable.
    static let deadline = seconds("deadline", "", preset: "20") { $0.deadline = .seconds($1) }

    private var variable: String {
        "FRAMEMILL_" + option.name.uppercased().replacing("-", with: "_")
    }

    func apply(_ text: String?, flag: String, to limits: inout Limits) throws(Failure) {
        let environment = ProcessInfo.processInfo.environment[variable]
        guard let text = text ?? environment else { return }
        guard set(&limits, text) else {
            let name = environment == text ? variable + "=" : flag + " "
            throw Arguments.usage("\(name)\(text) is not understood: it takes \(words)")
        }
    }
}

extension Limits {
    init(_ arguments: Arguments) throws(Failure) {
        self.init()
        try LimitOption.deadline.apply(arguments.text("deadline"), flag: "--deadline", to: &self)
        for limit in LimitOption.all {
            try limit.apply(arguments.text(limit.option.name), flag: "--" + limit.option.name, to: &self)
        }
    }
}
