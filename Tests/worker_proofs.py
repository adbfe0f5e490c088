"""Proofs of `worker.py` about a worker that stops, freezes, grows, or is cut off from its queue."""
import os, signal, subprocess, tempfile, time

from worker_support import Outcomes, Queue, Sources, Worker, small_files, until


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
