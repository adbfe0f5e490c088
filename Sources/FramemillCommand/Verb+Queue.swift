// The commands around a queue.

extension Verb {
    private static let address = Option(
        "queue", "ADDRESS", "sqlite:PATH, redis://HOST[:PORT][/DB] or unix:///SOCKET")

    static let enqueue = Verb(
        name: "enqueue", argument: "LIST|-", summary: "puts every line of a list into a queue, for workers",
        options: [
            address,
            Option("priority", "interactive|prefetch|backfill", "who waits for them", preset: "backfill"),
        ] + recipe + [
            Option("animated", "make what moves an animated WebP, and the rest a still one")
        ] + moving + [
            Option("json", "print the summary as JSON on standard output")
        ],
        notes: """
            LIST is as for batch. A line whose URL and recipe are in the queue already, waiting, running or
            failed for good, is not added again: queue replay and queue purge free it. Its "id" comes back
            as "data" of the outcome.

            Exit codes: 0 all there, 1 some lines refused, 2 usage, 3 none added, 70 our own fault,
            130 interrupted.
            """
    )

    static let worker = Verb(
        name: "worker", argument: "", summary: "makes what waits in a queue, until it is told to stop",
        options: [
            address,
            Option("sink", "DIR|s3://…|cache", "where the pictures go", preset: "cache"),
            Option("jobs", "N", "pictures worked on at once", preset: "16 per core"),
            Option("per-host", "N", "jobs of one host at once", preset: "4"),
            Option("tries", "N", "tries of a job that fails for now", preset: "6"),
            Option("lease", "SECONDS", "after a crash others take over this much later", preset: "30"),
            Option("grace", "SECONDS", "how long what runs may go on once told to stop", preset: "10"),
            Option("max-jobs", "N", "end after so many", preset: "never"),
            Option("name", "NAME", "in leases; no two workers may share one", preset: "host and process"),
            Option(
                "listen", "ADDRESS:PORT|none", "answers /healthz, /readyz and /metrics",
                preset: "127.0.0.1:9180"),
            Option("allow-files", "also read local files that jobs name"),
        ] + access + [
            Option("json", "one JSON object for each job that ends, instead of a line of text")
        ],
        notes: """
            SIGTERM or SIGINT: takes no more jobs, lets run what runs for --grace, hands back the rest, which
            costs them no try, and ends with 0. A second signal ends at once; then others take over when the
            leases are over.

            Failures that may pass are tried again, later each time, or when the origin says; others, and
            those out of tries, go to the dead ones (queue failed). A host that fails again and again is
            left alone for a while. A job's callback is posted to, signed with the secret in
            FRAMEMILL_WEBHOOK_SECRET (whsec_…), unsigned without one.

            Exit codes: 0 told to stop, 2 usage, 3 the queue can't be opened, 70 our own fault, 130 a second signal.
            """
    )

    static let queue = Verb(
        name: "queue", argument: "ACTION",
        summary: "what waits, runs and failed in a queue; replaying, pausing",
        options: [
            address,
            Option("state", "STATE", "list, purge: waiting, delayed, running, dead or parked"),
            Option("code", "CODE", "those that failed with this: http_404, timeout"),
            Option("class", "transient|permanent", "those that failed so"),
            Option("host", "HOST", "those of this host"),
            Option("older-than", "AGE", "failed, or else added, longer ago: 90s, 30m, 12h, 7d"),
            Option("all", "replay, purge: every one"),
            Option("limit", "N", "list, failed: no more than these", preset: "1000"),
            Option("json", "print JSON: one object, for list and failed one per line"),
        ],
        notes: """
            ACTION is one of
              stat      how many wait (and for how long), run and failed
              list      jobs of one --state (waiting)
              failed    jobs that failed for good
              show ID   one job
              replay    lets failed jobs wait again, with all their tries
              purge     removes jobs of one --state (dead)
              pause     hands out nothing any more, or nothing of --host
              resume    goes on

            Exit codes: 0 done, 2 usage, 3 no such queue or job, 70 our own fault.
            """
    )
}
