import FramemillMedia

/// One option of a command. The parser and the help read the same table, so neither can know more than the
/// other.
struct Option: Sendable {
    var name: String
    var short: Character?
    /// What the value looks like; `nil` for a switch.
    var value: String?
    var help: String
    var preset: String?
    var repeats = false

    /// A switch.
    init(_ name: String, short: Character? = nil, _ help: String) {
        self.name = name
        self.short = short
        self.help = help
    }

    init(
        _ name: String, _ value: String, short: Character? = nil, _ help: String,
        preset: String? = nil,
        repeats: Bool = false
    ) {
        self.name = name
        self.short = short
        self.value = value
        self.help = help
        self.preset = preset
        self.repeats = repeats
    }
}

/// One command: its arguments, its options and the text of its help.
struct Verb: Sendable {
    var name: String
    var argument: String
    var summary: String
    var options: [Option]
    var notes: String

    static let all = [batch, cover, animate, frames, probe, cache, enqueue, worker, queue]

    static let batch = Verb(
        name: "batch", argument: "LIST|-", summary: "covers for every line of a list (- is standard input)",
        options: [
            Option("out", "DIR", "where the covers go", preset: "covers")
        ] + recipe + [
            Option("animated", "make what moves an animated WebP, and the rest a still one")
        ] + moving + [
            Option("jobs", "N", "pictures worked on at once", preset: "16 per core"),
            Option("per-host", "N", "pictures of one host worked on at once", preset: "6"),
        ] + access + reuse + ignoring + [
            Option("manifest", "FILE", "the report: one JSON line per input", preset: "DIR/manifest.jsonl"),
            Option("gallery", "FILE", "one HTML page with every cover in it"),
            Option("retry-failed", "run the lines again that failed before"),
            Option("json", "print the summary as JSON on standard output"),
            Option("quiet", "no progress and no summary on standard error"),
        ],
        notes: """
            LIST has one URL or local path per line, or a JSON object with "url" and, if wanted,
            "mirrors", "at" and "id". Blank lines and lines that start with # are skipped.

            Run the same command again after a stop or a kill: it does only what the manifest does not
            have. Equal URLs are made once and reported for each line. Files are named after the URL and a
            hash of URL and recipe, so that names never collide. In the manifest "file" is the name inside
            DIR, "code" is "ok" or the reason of the failure, "class" says whether trying again later can
            help (transient) or not (permanent).

            Exit codes: 0 all made, 1 some failed, 2 usage (nothing is run), 3 none made, 70 our own fault,
            130 interrupted (the report is written for what is done).
            """
    )

    static let cover = Verb(
        name: "cover", argument: "URL", summary: "one cover for one URL or local file",
        options: [
            Option("output", "FILE", short: "o", "where the cover goes; - is standard output")
        ] + recipe + access + reuse + ignoring + [
            Option("json", "print the facts as JSON on standard output"),
            Option("quiet", "nothing on standard error unless it fails"),
        ],
        notes: """
            Without --format the extension of FILE decides: .jpg, .jpeg, .png or .webp.

            Exit codes: 0 made, 2 usage, 3 not made, 70 our own fault, 130 interrupted.
            """
    )

    static let animate = Verb(
        name: "animate", argument: "FILE|URL",
        summary: "a small animated WebP of an animation, or of a span of a video",
        options: [
            Option("output", "FILE", short: "o", "where it goes: a .webp file; - is standard output")
        ] + recipe.filter { !["format", "background"].contains($0.name) } + moving + access + reuse + ignoring
            + [
                Option("json", "print the facts as JSON on standard output"),
                Option("quiet", "nothing on standard error unless it fails"),
            ],
        notes: """
            From a GIF, an animated WebP or an APNG: every frame, each at its time to the millisecond, as
            often as the source plays. From a video: --duration seconds from --at on, endless. Frames that
            look like the one before are joined with it. What does not move gives a still WebP.

            A WebP that already is as asked for (its size, its frames, and neither --quality, --effort nor
            --lossless given) is handed on as it is, without its metadata.

            Exit codes: 0 made, 2 usage, 3 not made, 70 our own fault, 130 interrupted.
            """
    )

    static let frames = Verb(
        name: "frames", argument: "FILE|URL", summary: "every frame of a GIF, animated WebP or APNG",
        options: [
            Option("json", "print one JSON object: the facts, and one of \"frames\" for each"),
            Option("out", "DIR", "write each frame as DIR/frame-00000.png"),
            Option("raw", "pixels as RGBA: to standard output, or with --out as DIR/frame-00000.rgba"),
            Option("only", "N", "this frame alone; the first is 0"),
            Option("size", "N|WxH|0", "longest side, or a box; 0 is the source's own size", preset: "0"),
            Option(
                "deadline", "SECONDS", "the most that opening may take, and then each step through it",
                preset: "20"),
        ] + guarding,
        notes: """
            Frames are whole canvases, as browsers show them. "raw_ms" is the delay as stored, "ms" the one
            to show it for (10 and less become 100). left, top, width and height say where the frame's own
            pixels lie. "sha256" is the hash of the canvas (at --size, if given): RGBA, row by row, fully
            transparent pixels as 0,0,0,0; the same bytes that --raw writes. "whole": false marks a frame
            with broken data, "partial": true an animation with such frames or without its end. "plays" is
            how often it is shown; 0 is endless. A still picture has one frame.

            Exit codes: 0 all given, 1 some, 2 usage, 3 none, 70 our own fault, 130 interrupted.
            """
    )

    static let probe = Verb(
        name: "probe", argument: "URL", summary: "the facts of one URL or local file",
        options: access.filter { $0.name != "cache" } + [
            Option("json", "print the facts as JSON")
        ],
        notes: "Exit codes: 0 read, 2 usage, 3 not read, 70 our own fault, 130 interrupted."
    )

    static let cache = Verb(
        name: "cache", argument: "ACTION", summary: "what the cache on disk holds; dropping some of it",
        options: [
            access[0],
            Option("url", "URL", "purge, list: this URL, in every recipe"),
            Option("host", "HOST", "purge, list: every URL of this host"),
            Option("prefix", "TEXT", "purge, list: every URL that starts so"),
            Option("older-than", "AGE", "purge, list: stored longer ago: 90s, 30m, 12h, 7d"),
            Option("class", "NAME", "purge, list: what this part of the engine made"),
            Option("engine-version", "TEXT", "purge, list: what this version made"),
            Option("failures", "purge, list: remembered failures alone"),
            Option("all", "purge: everything"),
            Option("max-bytes", "N", "trim: down to this", preset: "1 GiB"),
            Option("output", "FILE", short: "o", "get: where the picture goes; - is standard output"),
        ] + recipe + [
            Option("animated", "warm: make what moves an animated WebP, and the rest a still one")
        ] + moving + [
            Option("jobs", "N", "warm: pictures worked on at once", preset: "16 per core"),
            Option("per-host", "N", "warm: pictures of one host worked on at once", preset: "6"),
        ] + access.dropFirst() + reuse + ignoring + [
            Option("retry-failed", "warm: ask again where a failure is remembered"),
            Option("json", "print JSON: one object, for list one per line"),
            Option("quiet", "warm: no progress and no summary on standard error"),
        ],
        notes: """
            ACTION is one of
              stat          entries and bytes, without looking through them
              verify        reads every entry; what is damaged is removed, and counted as bad
              trim          down to the limits; sweeps what killed writers left
              purge         drops what all given options match
              list          one line per entry
              get KEY|URL   one entry, by its key, or by URL and recipe; without a word of one, the last of the URL
              warm LIST|-   makes what is missing of a list, as batch reads it; writes no files

            Other processes may use the cache meanwhile.

            Exit codes: 0 done (verify: bad=0), 1 verify found bad or unreadable entries, 2 usage, 3 no such cache or
            entry, 70 our own fault, 130 interrupted; those of warm are those of batch, and 1 or 3 as well where the
            cache could not be written.
            """
    )

    static let recipe = [
        Option("size", "N|WxH|0", "longest side, or a box; 0 is the source's own size", preset: "320"),
        Option("mode", "fit|fill|stretch", "how the picture meets the box", preset: "fit"),
        Option("enlarge", "make small pictures larger to meet the box"),
        Option("format", "jpeg|png|webp", "what to write", preset: "jpeg"),
        Option("quality", "1-100", "of JPEG and WebP", preset: "jpeg 80, webp 75"),
        Option("effort", "0-6", "0 is fast, 6 is small", preset: "the format's own"),
        Option("background", "#rrggbb", "under transparent pixels in JPEG", preset: "#ffffff"),
        Option("at", "auto|first|SECONDS|N%", "which frame; auto skips blank openings", preset: "auto"),
        Option(
            "seek", "keyframe|exact", "the key frame before that moment, or the frame itself",
            preset: "keyframe"),
    ]

    static let moving = [
        Option("max-frames", "N", "end before there are more frames", preset: "all"),
        Option(
            "max-fps", "N", "leave out frames beyond this rate", preset: "all; of a video 12"),
        Option("lossless", "keep every pixel of the resized frames, instead of --quality"),
        Option("duration", "SECONDS", "how much of a video, from --at on", preset: "3"),
    ]

    private static let reuse = [
        Option(
            "source-cache", "BYTES", "keep so much of what was fetched, for other sizes of the same clip",
            preset: "0"),
        Option(
            "max-age", "SECONDS", "trust what was fetched within this time", preset: "what the origin says"),
        Option("refresh", "ask the origin before anything kept is used"),
        Option("offline", "use only what is kept, and no network"),
    ]

    private static let ignoring = [
        Option(
            "ignore-query", "NAME,…",
            "query parameters that the cache does not tell links apart by (X-Amz-*)",
            preset: "none", repeats: true),
        Option(
            "ignore-query-preset", "NAME", "the same by family: aws, google, azure, cloudfront, campaign",
            preset: "none", repeats: true),
    ]

    static let access =
        [
            Option(
                "cache", "DIR|none", "where finished covers are kept", preset: "$XDG_CACHE_HOME/framemill"),
            Option("deadline", "SECONDS", "the most that one picture may take", preset: "20"),
        ] + guarding

    /// Where bytes may come from, and how much of what is in them.
    static let guarding =
        [
            Option(
                "allow-net", "CIDR", "dial this network although it is private (127.0.0.1/32)",
                preset: "none",
                repeats: true),
            Option(
                "deny-host", "HOST", "never ask this host, nor one below it", preset: "none", repeats: true),
            Option(
                "allow-port", "N|N-M", "ask these ports alone", preset: "all but those of other protocols",
                repeats: true),
        ] + LimitOption.all.map(\.option)
}
