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
            Option("ids", "print a line for each job: its id, added or duplicate, and its URL"),
            Option("json", "print the summary, and with --ids each line, as JSON on standard output"),
        ],
        notes: """
            LIST has one URL or local path per line, or a job as a JSON object: any names of a job (README,
            Queue), and what it does not say is as the options have it. What no worker could ever make is
            refused: an unknown scheme, name or value.

            A line whose URL and recipe are in the queue already, waiting, running or failed for good, is
            not added again: queue replay and queue purge free it. A JSON line with an "id" or "callback" of
            its own is told apart by "id" and "key" alone.

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
            Option("host-rate", "N", "jobs of one host that start in a second", preset: "any number"),
            Option("tries", "N", "tries of a job that fails for now", preset: "6"),
            Option("lease", "SECONDS", "after a crash others take over this much later", preset: "30"),
            Option("grace", "SECONDS", "how long what runs may go on once told to stop", preset: "10"),
            Option("max-jobs", "N", "end after so many", preset: "never"),
            Option(
                "max-memory", "BYTES", "start again, in good order, once more is resident", preset: "never"),
            Option(
                "disk-floor", "BYTES", "/readyz is red with less than this free for results",
                preset: "64 MiB"),
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
            leases are over. With more than --max-memory resident it does the same, and then runs itself
            anew under the same process number, which is no exit for systemd or a container.

            Failures that may pass are tried again, later each time, or when the origin says; others, and
            those out of tries, go to the dead ones (queue failed). A host that fails again and again is
            left alone for a while. A job's callback is posted to, signed with the secret in
            FRAMEMILL_WEBHOOK_SECRET (whsec_…), unsigned without one.

            Exit codes: 0 told to stop, 2 usage, 3 the queue can't be opened, 70 our own fault, 130 a second signal.
            """
    )

    static let queue = Verb(
        name: "queue", argument: "ACTION [ID…]",
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
              replay    lets failed jobs wait again, with all their tries: [ID…]
              purge     removes jobs of one --state (dead), or: ID…
              pause     hands out nothing any more, or nothing of --host
              resume    goes on

            Exit codes: 0 done, 2 usage, 3 no such queue or job, 70 our own fault.
            """
    )
}
