"""Proofs of `worker.py` about a worker that stops, freezes, grows, or is cut off from its queue, and what it costs."""
import os, random, signal, statistics, subprocess, tempfile, time

from worker_support import BINARY, ROOT, Outcomes, Queue, Sources, Worker, framemill, small_files, until

CORPUS = os.environ.get("FRAMEMILL_CORPUS", os.path.join(os.path.dirname(ROOT), "shared/corpus"))


def hands_back(kind, check, say):
    """Told to stop five times over the same eight jobs: short ones end, long ones are handed back and cost no try."""
    with tempfile.TemporaryDirectory() as folder, Sources(small_files()) as sources, Queue(kind, folder) as queue:
        outcomes, longest, codes, rounds = Outcomes(folder), 0, [], 5
        for turn in range(rounds):
            sources.slow = {"127.0.3.1"}
            worker = Worker(queue, folder, "--jobs", "8", "--per-host", "8", "--grace", "3").wait_alive()
            if turn == 0:
                queue.enqueue([sources.url(n, "127.0.3.1") for n in range(8)])
            until(lambda: queue.stat()["running"] == 8 - turn, "the worker holds all jobs that are left")
            worker.process.terminate()
            begun = time.monotonic()
            # One of them ends within the grace, the others do not.
            sources.release(1)
            codes.append(worker.process.wait())
            longest = max(longest, time.monotonic() - begun)
            check(f"{kind}: nothing runs any more", queue.stat()["running"] == 0)
        events = [line["event"] for line in outcomes.all()]
        say(f"{events.count('done')} done, {events.count('back')} handed back; slowest end {longest:.2f} s of 3")
        check(f"{kind}: each ended with 0 within its grace", codes == [0] * rounds and longest < 3)
        check(f"{kind}: one of each round was done, at its first try",
              [line["tries"] for line in outcomes.all("done")] == [1] * rounds)
        check(f"{kind}: no temporary file is left",
              not [name for name in os.listdir(os.path.join(folder, "out")) if name.endswith(".tmp")])


def frozen(kind, check, say):
    """A worker that stands still for longer than its lease comes too late, and does no harm."""
    with tempfile.TemporaryDirectory() as folder, Sources(small_files()) as sources, Queue(kind, folder) as queue:
        sources.slow = {"127.0.3.1"}
        options = ("--jobs", "8", "--per-host", "8", "--lease", "3")
        with Worker(queue, folder, *options) as first:
            queue.enqueue([sources.url(n, "127.0.3.1") for n in range(8)])
            until(lambda: queue.stat()["running"] == 8, "the worker holds all jobs")
            first.process.send_signal(signal.SIGSTOP)
            sources.release()
            with Worker(queue, folder, *options):
                until(lambda: queue.left() == 0, "another took them over")
                first.process.send_signal(signal.SIGCONT)
                outcomes = Outcomes(folder)
                until(lambda: len(outcomes.all("refused")) == 8, "what came late is refused")
        check(f"{kind}: 8 were done once, 8 late results refused",
              len(outcomes.all("done")) == queue.stat()["done"] == 8)


def silent(check, say):
    """Redis stands still for longer than any read may take, without a word; jobs come meanwhile."""
    with tempfile.TemporaryDirectory() as folder, Sources(small_files()) as sources, Queue("redis", folder) as queue:
        with Worker(queue, folder, "--lease", "60") as worker:
            until(lambda: worker.get("/readyz")[0] == 200, "the worker is ready")
            queue.server.send_signal(signal.SIGSTOP)
            begun = time.monotonic()
            until(lambda: worker.get("/readyz")[0] == 503, "the worker is not ready")
            red = time.monotonic() - begun
            time.sleep(max(0, 60 - red))
            queue.server.send_signal(signal.SIGCONT)
            begun = time.monotonic()
            queue.enqueue([sources.url(n) for n in range(30)])
            until(lambda: queue.left() == 0, "every job ended")
            back = time.monotonic() - begun
            until(lambda: worker.get("/readyz")[0] == 200, "the worker is ready again")
            say(f"red {red:.1f} s after Redis stood still; 30 jobs done {back:.1f} s after it went on, a minute later")
            check("redis: red within 15 s", red < 15)
            check("redis: works on within the time of a blocking read and 5 s", back < 2 + 5)


def restarts(kind, check, say):
    """A worker that takes too much memory starts itself anew between its jobs: the same process, no job the worse."""
    with tempfile.TemporaryDirectory() as folder:
        large = os.path.join(folder, "large.png")
        subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=4000x3000", "-frames:v", "1", large],
                       check=True)
        with open(large, "rb") as file:
            files = small_files() + [file.read()]
        with Sources(files) as sources, Queue(kind, folder) as queue:
            with Worker(queue, folder, "--per-host", "64", "--cache", "none", "--max-memory", "150000000") as worker:
                queue.enqueue([sources.url(n) for n in range(400)])
                until(lambda: queue.left() == 0, "every job ended", 300)
                until(lambda: worker.get("/readyz")[0] == 200, "the worker is ready")
                with open(worker.errors) as errors:
                    times = errors.read().count("starts again")
                after = worker.descriptors()
                say(f"started again {times} times over 400 jobs; {after} descriptors after that")
                check(f"{kind}: it started again, in the same process", times > 0 and worker.process.poll() is None)
                check(f"{kind}: every job is done", queue.stat()["done"] == 400 and not queue.dead())
                check(f"{kind}: at its first try",
                      all(line["tries"] == 1 for line in Outcomes(folder).all("done")))
                check(f"{kind}: it ends with 0 when told to", worker.stop() == 0)


def overhead(kind, check, say, jobs=6000, rounds=5):
    """What a queue costs a job: the processor's time of a worker over that of a batch of the same tiny pictures."""
    def seconds(*words):
        child = subprocess.Popen([BINARY, *words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode:
            raise SystemExit(f"framemill {words[0]} ended with {child.returncode}")
        return usage.ru_utime + usage.ru_stime

    with tempfile.TemporaryDirectory() as folder:
        names, picture = [os.path.join(folder, f"{n}.jpg") for n in range(jobs)], small_files()[2]
        for name in names:
            with open(name, "wb") as file:
                file.write(picture)
        path, more = os.path.join(folder, "list"), []
        with open(path, "w") as file:
            file.write("\n".join(names) + "\n")
        for turn in range(rounds):
            options = ("--cache", "none", "--jobs", "32")
            alone = seconds("batch", path, "--out", os.path.join(folder, f"batch-{turn}"), "--quiet", *options)
            with tempfile.TemporaryDirectory() as place, Queue(kind, place) as queue:
                framemill("enqueue", path, "--queue", queue.name)
                ours = seconds("worker", "--queue", queue.name, "--sink", os.path.join(folder, f"worker-{turn}"),
                               "--allow-files", "--max-jobs", str(jobs), "--listen", "none", "--json", *options)
            more.append((ours - alone) * 1000 / jobs)
        say(f"more than a batch for each of {jobs} jobs, milliseconds: " + ", ".join(f"{one:.2f}" for one in more))
        check(f"{kind}: the median is 0.3 ms at most", statistics.median(more) <= 0.3)


def soak(kind, check, say, jobs=20_000):
    """Many jobs over fifty mixed files, a third of them broken: memory and descriptors stay."""
    if not os.path.isdir(CORPUS):
        return print("SKIPPED soak: FRAMEMILL_CORPUS names no folder of media")
    names = sorted(os.path.relpath(os.path.join(place, name), CORPUS)
                   for place, _, found in os.walk(CORPUS) for name in found
                   if os.path.getsize(os.path.join(place, name)) < 1 << 20 and not name.endswith((".tsv", ".md")))
    random.seed(3)
    chosen = [name for is_broken, count in ((False, 33), (True, 17)) for name in random.sample(
        [name for name in names if name.startswith("broken/") == is_broken], count)]
    files = []
    for name in chosen:
        with open(os.path.join(CORPUS, name), "rb") as file:
            files.append(file.read())
    with tempfile.TemporaryDirectory() as folder, Sources(files) as sources, Queue(kind, folder) as queue:
        with Worker(queue, folder, "--per-host", "64", "--tries", "1") as worker:
            # What is opened once and kept, such as the cache's index, is open by then.
            queue.enqueue([sources.url(jobs + n) for n in range(len(files))])
            until(lambda: queue.left() == 0, "each file was seen once")
            start = worker.descriptors()
            queue.enqueue([sources.url(n) for n in range(jobs)])
            until(lambda: queue.left() <= jobs * 0.9, "a tenth is done", 3600)
            early = worker.resident()
            until(lambda: queue.left() == 0, "every job ended", 3600, pause=0.2)
            after = worker.resident()
            decoders = [worker.resident(pid) for pid in worker.decoders()]
            lines = Outcomes(folder).all()
            dead = sum(line["event"] == "dead" for line in lines)
            say(f"{jobs} jobs, {dead} of them dead: {early} KiB resident after {jobs // 10}, {after} KiB at the end; "
                f"{start} descriptors at the start, {worker.descriptors()} at the end; "
                f"{len(decoders)} decoders rest with {sum(decoders)} KiB")
            check(f"{kind}: resident memory within a fifth", abs(after - early) <= early * 0.2)
            check(f"{kind}: descriptors are back at the start", worker.descriptors() <= start)
            check(f"{kind}: a third was broken", 0.2 < dead / jobs < 0.45)
