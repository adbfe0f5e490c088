import Testing
import TestSupport

@Suite struct UsageTests {
    @Test func printsItsVersion() throws {
        let result = try Command().run("--version")
        #expect(result.status == 0)
        #expect(result.text.hasPrefix("framemill 0."))
    }

    @Test(arguments: ["batch", "cover", "frames", "probe"])
    func helpNamesTheOptionsOfEachCommand(verb: String) throws {
        let asked = try Command().run("help", verb)
        #expect(asked.status == 0)
        #expect(asked.text.contains("--deadline SECONDS"))
        #expect(asked.text.contains("(default: 20)"))
        #expect(asked.text.contains("Exit codes"))
        #expect(try Command().run(verb, "--help").text == asked.text)
    }

    @Test(arguments: ["batch", "cover", "frames", "probe"])
    func everyCommandTellsTheVersion(verb: String) throws {
        let result = try Command().run(verb, "--version")
        #expect(result.status == 0)
        #expect(result.text == (try Command().run("--version")).text)
    }

    @Test func noMessageAboutUsageHoldsAURL() throws {
        let result = try Command().run("probe", "http://u:pw@h/a?key=1", "http://u:pw@h/b?key=2")
        #expect(result.status == 2)
        #expect(result.errorText.contains("only one URL is taken, but 2 are given"))
        #expect(!result.errorText.contains("pw"))
        #expect(!result.errorText.contains("key="))
    }

    @Test(arguments: [["-o", "x.png"], ["-ox.png"], ["-o=x.png"], ["--output=x.png"]])
    func takesAShortOptionInEachForm(words: [String]) throws {
        let command = try Command()
        try command.writeClips("a.mp4")
        let result = try command.run(["cover", "a.mp4"] + words)
        #expect(result.status == 0, "\(result.errorText)")
        #expect(command.folder.files.contains("x.png"))
    }

    @Test func helpAloneListsTheCommands() throws {
        let result = try Command().run("--help")
        #expect(result.status == 0)
        #expect(try Command().run("help", "--help").text == result.text)
        for verb in ["batch", "cover", "frames", "probe"] { #expect(result.text.contains("\n  \(verb) ")) }
    }

    @Test(arguments: [
        (["batch", "list", "--sixe", "320"], "did you mean --size?"),
        (["batch", "list", "--alow-net=127.0.0.1/32"], "did you mean --allow-net?"),
        (["cover", "a.mp4", "--ouptut", "x.jpg"], "did you mean --output?"),
        (["bacth", "list"], "did you mean batch?"),
    ])
    func suggestsWhatWasMeant(words: [String], hint: String) throws {
        try refuses(words, saying: hint)
    }

    @Test(arguments: [
        (["--size", "-5"], "a longest side such as 320"),
        (["--size", "0x10"], "a longest side such as 320"),
        (["--size", "320x180x2"], "a longest side such as 320"),
        (["--at", "nonsense"], "auto, first, seconds"),
        (["--at", "101%"], "auto, first, seconds"),
        (["--at", "-1"], "auto, first, seconds"),
        (["--at", "nan"], "auto, first, seconds"),
        (["--mode", "crop"], "fit, fill or stretch"),
        (["--format", "bmp"], "jpeg, png or webp"),
        (["--quality", "0"], "from 1 to 100"),
        (["--effort", "7"], "from 0 to 6"),
        (["--background", "#12345"], "#rrggbb"),
        (["--seek", "fast"], "keyframe or exact"),
        (["--jobs", "0"], "from 1 to"),
        (["--per-host", "many"], "from 1 to"),
        (["--deadline", "0"], "more than 0"),
        (["--allow-net", "nonsense"], "nonsense"),
        (["--out"], "wants a value"),
        (["--size", "1", "--size", "2"], "given twice"),
        (["--json=yes"], "takes no value"),
        (["other"], "only one LIST"),
    ])
    func refusesBadValuesBeforeAnythingIsRun(words: [String], right: String) throws {
        try refuses(["batch", "list"] + words, saying: right)
    }

    @Test func refusesAListThatIsNotThere() throws {
        try refuses(["batch", "nowhere.txt"], saying: "nowhere.txt is not there")
        try refuses(["batch"], saying: "LIST is missing")
        let folder = try TemporaryFolder()
        let script = "\(Command.binary) batch - <\(folder.path)"
        let result = try Tool.run("/bin/sh", ["-c", script], in: folder.path)
        #expect(result.status == 2)
        #expect(result.errorText.contains("is a directory"))
        try refuses([], saying: "Usage: framemill COMMAND")
    }

    @Test func coverWantsToKnowWhereAndWhat() throws {
        try refuses(["cover", "a.mp4"], saying: "-o FILE")
        try refuses(["cover", "a.mp4", "-o", "x"], saying: "add .jpg, .png or .webp")
        try refuses(["cover", "a.mp4", "-o", "no/such/x.jpg"], saying: "there is no directory no/such")
        try refuses(["cover", "a.mp4", "-o", "-", "--json"], saying: "standard output")
        try refuses(["cover", "-o", "x.jpg"], saying: "URL is missing")
    }

    /// Exit code 2, the words that help, and no file but what was there.
    private func refuses(_ words: [String], saying hint: String) throws {
        let command = try Command()
        try command.writeClips("a.mp4")
        try command.write("a.mp4\n", to: "list")
        let result = try Tool.run(Command.binary, words, in: command.folder.path)
        #expect(result.status == 2)
        #expect(result.errorText.contains(hint), "\(result.errorText)")
        #expect(result.text.isEmpty)
        #expect(command.folder.files == ["a.mp4", "list"])
    }

    @Test func takesEveryLimitAsAnOptionAndFromTheEnvironment() throws {
        let command = try Command()
        try command.writeClips("a.mp4")
        func probe(_ words: [String], _ environment: [String: String] = [:]) throws -> Tool.Result {
            try Tool.run(
                Command.binary, ["probe", "a.mp4"] + words, environment: environment, in: command.folder.path)
        }
        let help = try command.run("help", "probe").text
        let limits = help.split(separator: "\n").compactMap { line in
            line.split(separator: " ").first.flatMap { $0.hasPrefix("--limit-") ? String($0) : nil }
        }
        #expect(limits.count == 13)
        for limit in limits {
            let variable = "FRAMEMILL_" + limit.dropFirst(2).uppercased().replacing("-", with: "_")
            #expect(try probe([limit, "nonsense"]).status == 2)
            let result = try probe([], [variable: "-1"])
            #expect(result.status == 2 && result.errorText.contains(variable + "=-1 is not understood"))
        }
        #expect(try probe([], ["FRAMEMILL_LIMIT_DEADLINE": "soon"]).status == 2)
        // A limit that the clip exceeds, in the environment, and an option that counts more.
        let small = ["FRAMEMILL_LIMIT_PIXELS_PER_FRAME": "100"]
        let refused = try probe([], small)
        #expect(refused.status == 3 && refused.errorText.contains("too_large"))
        #expect(try probe(["--limit-pixels-per-frame", "100000"], small).status == 0)
    }

    @Test(arguments: [
        ["--allow-port", "0"], ["--allow-port", "9-8"], ["--allow-port", "x"], ["--deny-host", "a b"],
    ])
    func refusesWhatIsNoPortAndNoHost(words: [String]) throws {
        let result = try Command().run(["probe", "http://example.invalid/"] + words)
        #expect(result.status == 2)
    }

    /// Files of strangers are decoded elsewhere, and a start does not wait for 130 libraries.
    @Test func loadsNoLibraryThatDecodes() throws {
        let libraries = String(decoding: try Tool.output("ldd", [Command.binary]), as: UTF8.self)
        #expect(libraries.contains("libcurl"))
        for name in ["libav", "libsw", "libgif", "libpng", "libturbojpeg", "libwebp", "libavif"] {
            // The Swift runtime is another one.
            #expect(!libraries.replacing("libswift", with: "").contains(name), "\(name)")
        }
    }
}
