import Foundation
import TestSupport
import Testing

/// `framemill cache`, over a cache that `framemill cover` filled.
@Suite struct CacheToolTests {
    private let command: Command

    init() throws {
        command = try Command()
        try command.writeClips("a.mp4", "b.mp4")
        for (name, size) in [("a.mp4", "64"), ("a.mp4", "32"), ("b.mp4", "64")] {
            let made = try command.run(
                "cover", name, "--size", size, "--cache", "kept", "-o", "\(name)-\(size).jpg")
            #expect(made.status == 0, "\(made.errorText)")
        }
    }

    private func cache(_ words: String...) throws -> Tool.Result {
        try command.run(["cache"] + words + ["--cache", "kept"])
    }

    private func number(_ name: String, in json: String) throws -> Int? {
        let object = try JSONSerialization.jsonObject(with: Data(json.utf8)) as? [String: Any]
        return object?[name] as? Int
    }

    private var keys: [String] {
        get throws { try cache("list").text.split(separator: "\n").map { String($0.prefix(64)) } }
    }

    @Test func countsListsAndGives() throws {
        #expect(try number("entries", in: cache("stat", "--json").text) == 3)
        #expect(try cache("stat").text.hasPrefix("entries=3 bytes="))
        var given: Set<[UInt8]> = []
        for key in try keys {
            #expect(try cache("get", key, "-o", "out.jpg").status == 0)
            given.insert(try command.folder.read("out.jpg"))
            #expect(try cache("get", key, "-o", "-").output == command.folder.read("out.jpg"))
        }
        let made = try ["a.mp4-64.jpg", "a.mp4-32.jpg", "b.mp4-64.jpg"].map { try command.folder.read($0) }
        #expect(given == Set(made))
        let missing = try cache("get", String(repeating: "0", count: 64))
        #expect(missing.status == 3)
        #expect(missing.errorText.contains("not in the cache kept"))
    }

    @Test func verifySaysBadAndThenGood() throws {
        let sound = try cache("verify")
        #expect(sound.status == 0)
        #expect(sound.text.hasPrefix("bad=0 checked=3 "))
        let index = command.folder.file("kept/index.sqlite")
        _ = try Tool.run(
            "sqlite3",
            [index, "UPDATE entry SET entry = entry || x'00' WHERE id = (SELECT min(id) FROM entry)"])
        let damaged = try cache("verify", "--json")
        #expect(damaged.status == 1)
        #expect(try number("bad", in: damaged.text) == 1)
        // What was bad is gone.
        let after = try cache("verify")
        #expect(after.status == 0)
        #expect(after.text.hasPrefix("bad=0 checked=2 "))
    }

    @Test func purgesOnlyWhatIsMeant() throws {
        #expect(try cache("purge").status == 2)
        #expect(try cache("purge", "--all", "--host", "h").status == 2)
        #expect(try cache("purge", "--older-than", "yesterday").status == 2)
        #expect(try cache("purge", "--older-than", "1h").text == "purged=0\n")
        #expect(try cache("purge", "--host", "example.org").text == "purged=0\n")
        #expect(try cache("purge", "--failures").text == "purged=0\n")
        #expect(try keys.count == 3)
        #expect(try number("purged", in: cache("purge", "--all", "--json").text) == 3)
        #expect(try keys.isEmpty)
    }

    @Test func trimsToWhatIsGiven() throws {
        let result = try cache("trim", "--max-bytes", "1000000", "--json")
        #expect(result.status == 0)
        #expect(try number("maxBytes", in: result.text) == 1_000_000)
        #expect(try number("evicted", in: result.text) == 0)
        #expect(try number("entries", in: result.text) == 3)
    }

    /// B53: no file handle left is no reason to remove an entry.
    @Test func losesNothingForWantOfFileHandles() throws {
        for most in 3..<16 {
            let script = "ulimit -n \(most); \(Command.binary) cache verify --cache kept"
            _ = try Tool.run("/bin/sh", ["-c", script], in: command.folder.path)
        }
        #expect(try cache("verify").text.hasPrefix("bad=0 checked=3 missing=0 unreadable=0 "))
    }

    @Test func refusesWhatItDoesNotKnow() throws {
        let result = try cache("vreify")
        #expect(result.status == 2)
        #expect(result.errorText.contains("did you mean verify?"))
        #expect(try command.run("cache", "stat", "--cache", "none").status == 2)
        #expect(try cache("stat", "extra").status == 2)
        let nowhere = try command.run("cache", "stat", "--cache", "nowhere")
        #expect(nowhere.status == 3)
        #expect(!FileManager.default.fileExists(atPath: command.folder.file("nowhere")))
    }

    /// A local file's key has its time of change in it, and two sizes may be kept within one second.
    @Test func getsTheSizeThatIsAskedForOrNone() throws {
        let command = try Command()
        try command.writeClips("clip.mp4")
        func get(_ words: String...) throws -> Tool.Result {
            try command.run(["cache", "get", "clip.mp4", "--cache", "kept", "-o", "-"] + words)
        }
        for size in ["40", "60", "20"] {
            #expect(
                try command.run("cover", "clip.mp4", "--size", size, "-o", "\(size).jpg", "--cache", "kept")
                    .status == 0)
        }
        for size in ["20", "40", "60"] {
            #expect(try get("--size", size).output == command.folder.read("\(size).jpg"))
        }
        for words in [["--size", "99"], ["--size", "40", "--format", "png"], ["--animated"]] {
            let result = try command.run(["cache", "get", "clip.mp4", "--cache", "kept", "-o", "-"] + words)
            #expect(result.status == 3 && result.output.isEmpty)
        }
        #expect(try get().status == 0)
    }
}
