import FramemillMedia
import FramemillQueue
import Testing

@Suite struct JobTests {
    private func refusal(_ json: String) -> String {
        do throws(Failure) {
            _ = try Job(json: json)
            return "taken"
        } catch {
            #expect([.badOption, .badURL].contains(error.reason))
            return error.message
        }
    }

    @Test func readsEveryField() throws {
        let job = try Job(
            json: #"""
                {"schema":1,"id":"a","url":" https://e.org/x","mirrors":["https://m.org/x"],"at":"50%","seek":"exact",
                "size":"480x270","mode":"fill","enlarge":true,"format":"webp","quality":70,"effort":3,
                "background":"#0a0B0c","animated":true,"max-frames":9,"max-fps":7.5,"lossless":true,"duration":2,
                "priority":"interactive","key":7,"not-before":1.5,"not-after":2e9,"callback":"https://c.org","data":"d"}
                """#)
        #expect(job.request.url == "https://e.org/x")
        #expect(
            job.recipe.canonical == """
                at=50.0% seek=exact width=480 height=270 mode=fill enlarge=true format=webp quality=70 effort=3 \
                background=10,11,12 frames=9 rate=7.5 lossless=true span=2.0s
                """)
        #expect([job.id, job.key, job.callback, job.data] == ["a", "7", "https://c.org", "d"])
        #expect(job.priority == .interactive)
        #expect([job.notBefore, job.notAfter] == [1.5, 2e9])
        #expect(job.mirrors == ["https://m.org/x"])
        #expect(try Job(json: job.json) == job)
    }

    @Test func standsOverAnotherRecipe() throws {
        var recipe = Recipe()
        (recipe.box, recipe.format, recipe.quality) = (.longestSide(99), .png, 7)
        let url = #""url":"https://e.org/x""#
        #expect(try Job(json: "{\(url)}", over: recipe, priority: .prefetch).recipe == recipe)
        #expect(try Job(json: "{\(url)}", over: recipe, priority: .prefetch).priority == .prefetch)
        #expect(try Job(json: #"{"size":5,\#(url)}"#, over: recipe).recipe.box == .longestSide(5))
        #expect(try Job(json: #"{"animated":true,\#(url)}"#, over: recipe).recipe.format == .webp)
        recipe.animated = Recipe.Animated()
        recipe.format = .webp
        #expect(
            try Job(json: #"{"max-fps":5,\#(url)}"#, over: recipe).recipe.animated?.maxFramesPerSecond == 5)
        #expect(try Job(json: #"{"animated":false,\#(url)}"#, over: recipe).recipe.format == .jpeg)
    }

    /// What no worker could ever make.
    private static let wrong: [(words: String, change: @Sendable (inout Job) -> Void)] = [
        ("ftp: is not supported", { $0.url = "ftp://e.org/x" }), ("empty", { $0.url = "" }),
        ("data: is not supported", { $0.mirrors = ["data:,"] }),
        ("an http or https address is wanted", { $0.callback = "/etc/passwd" }),
        ("at most 1e11", { $0.notBefore = 1e300 }), ("at most 1e11", { $0.notAfter = -1 }),
        ("outside of 1 to 100", { $0.recipe.quality = 101 }),
    ]

    @Test(arguments: wrong.indices) func isCheckedBeforeItIsAdded(_ index: Int) async throws {
        var job = Job("https://e.org/x")
        try job.check()
        Self.wrong[index].change(&job)
        let (queue, wrong) = (MemoryQueue(), job)
        let failure = await #expect(throws: Failure.self) {
            let added = try await queue.enqueue(wrong)
            Issue.record("it was taken: \(added)")
        }
        #expect(failure?.message.contains(Self.wrong[index].words) == true, "\(failure?.message ?? "")")
        #expect(try await queue.stats().waiting == 0)
    }

    /// Swift writes a number below a ten-thousandth with an exponent, which nobody types.
    @Test(arguments: [
        "0.00005", "00.0000056975185", "0.0000000001", "0.00001%", "1.5", "0", "100%", "999999999.25",
    ])
    func readsTheMomentThatItWrote(_ moment: String) throws {
        let job = try Job(json: "{\"url\":\"h\",\"at\":\"\(moment)\"}")
        let again = try Job(json: job.json)
        #expect(again.json == job.json)
        guard case .seconds(let wanted) = job.recipe.at, case .seconds(let found) = again.recipe.at else {
            return
        }
        #expect(abs(found - wanted) <= 1e-9)
    }

    @Test func needsNothingButAURL() throws {
        let job = try Job(json: #"{"url":"https://e.org/x"}"#)
        #expect(job.recipe == Recipe())
        #expect(job.priority == .backfill)
        #expect(job.id.count == 32)
        #expect(try Job(json: job.json) == job)
        #expect(try Job(json: #"{"url":"https://e.org/x","size":320}"#).recipe == Recipe())
        #expect(try Job(json: #"{"url":"https://e.org/x","size":0}"#).recipe.box == .native)
    }

    @Test(arguments: [
        (#"{"url":"u","qualty":80}"#, "qualty is no name"), (#"{"size":1}"#, "url is missing"),
        (#"{"url":""}"#, "empty url"), (#"{"url":5}"#, "url is of the wrong kind"),
        ("[]", "the job is refused"),
        ("", "the job is refused"), (#"{"url":"u","size":"wide"}"#, "size wide is not understood"),
        (#"{"url":"u","quality":101}"#, "quality 101 is outside of 1 to 100"),
        (#"{"url":"u","format":"gif"}"#, "jpeg, png or webp"),
        (#"{"url":"u","priority":"high"}"#, "priority high"),
        (#"{"url":"u","schema":2}"#, "schema is 2"),
        (#"{"url":"u","max-fps":5}"#, "\"animated\": true is missing"),
        (#"{"url":"u","animated":true,"format":"png"}"#, "not as png"),
        (#"{"url":"u","not-before":-1}"#, "seconds since 1970"),
        (#"{"url":"u","not-before":1e300}"#, "at most 1e11"),
        (#"{"url":"u","not-after":1e300}"#, "at most 1e11"),
        (#"{"url":"u","quality":"80"}"#, "quality is of the"),
    ])
    func saysWhatIsWrongWithAJob(_ json: String, _ words: String) {
        #expect(refusal(json).contains(words))
    }

    @Test(arguments: [
        ("https://Example.ORG/a", "example.org"), ("http://u:p@w@h.org:80/x?y", "h.org"),
        ("https://h.org?x", "h.org"),
        ("http://[2001:DB8::1]:80/", "[2001:db8::1]"), ("/a/path", ""), ("", ""), ("mailto:x@y", ""),
        ("https://", ""),
    ])
    func namesTheHost(_ url: String, _ host: String) { #expect(Job(url).host == host) }
}

@Suite struct BackoffTests {
    private let backoff = Backoff()

    @Test(arguments: [Failure.Reason.http(404), .http(410), .notMedia, .corrupt, .badURL, .blockedAddress])
    func buriesWhatLastsAtOnce(_ reason: Failure.Reason) {
        #expect(backoff.next(after: Failure(reason, .fetch, ""), tries: 1, chance: 0.5) == .dead)
    }

    @Test(arguments: [
        Failure.Reason.http(429), .http(503), .http(408), .http(500), .timeout, .dns, .unreachable,
    ])
    func waitsTwiceAsLongEachTime(_ reason: Failure.Reason) {
        let failure = Failure(reason, .fetch, "")
        let waits = (1...6).map { backoff.next(after: failure, tries: $0, chance: 0) }
        let seconds: [Backoff.Next] = [2.5, 5, 10, 20, 40].map { .retry(after: .seconds($0)) }
        #expect(waits == seconds + [.dead])
        #expect(backoff.next(after: failure, tries: 1, chance: 1) == .retry(after: .seconds(5)))
    }

    @Test func waitsLongAndSeldomForARobotBlock() {
        let failure = Failure(.http(403), .fetch, "")
        let waits = (1...3).map { backoff.next(after: failure, tries: $0, chance: 0) }
        #expect(waits == [.retry(after: .seconds(150)), .retry(after: .seconds(300)), .dead])
    }

    @Test func neverComesBackBeforeTheOriginSaid() {
        let failure = Failure(.http(429), .fetch, "", retryAfterSeconds: 3)
        #expect(backoff.next(after: failure, tries: 1, chance: 0) == .retry(after: .seconds(3)))
        #expect(backoff.next(after: failure, tries: 4, chance: 0) == .retry(after: .seconds(20)))
        let long = Failure(.http(503), .fetch, "", retryAfterSeconds: 600)
        #expect(backoff.next(after: long, tries: 1, chance: 0) == .retry(after: .seconds(600)))
        #expect(backoff.next(after: long, tries: 1, chance: 1) == .retry(after: .seconds(661)))
        let never = Failure(.http(503), .fetch, "", retryAfterSeconds: 86401)
        #expect(backoff.next(after: never, tries: 1, chance: 0) == .dead)
    }

    @Test func neverWaitsForLongerThanTheLongest() {
        var backoff = Backoff()
        backoff.tries = .max
        #expect(backoff.next(after: passing, tries: .max - 1, chance: 1) == .retry(after: .seconds(3600)))
    }
}
