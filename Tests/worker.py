#!/usr/bin/env python3
"""Workers beside slow hosts, full queues, restarts and cut networks: nobody starves, nothing is lost, memory stays.

    Tests/worker.py                        every proof in full, about half an hour on two cores
    Tests/worker.py short                  some of them in small, for Tests/run.sh
    Tests/worker.py tarpit --queue redis   one: takeover rolling stuck tarpit backfill soak hands_back frozen
                                           restarts overhead, and for Redis alone silent namespaces

FRAMEMILL_BINARY names the binary, otherwise that of .build/release, which is made if it isn't there. `soak` needs
FRAMEMILL_CORPUS, a folder of media.
Kills in great number are Tests/queue-kill.sh.
"""
import argparse, collections, hashlib, os, shutil, statistics, subprocess, sys, tempfile, time

import worker_proofs
from worker_support import Outcomes, Queue, Sources, Worker, build, small_files, until

passed, failed = [], []


def check(text, good):
    (passed if good else failed).append(text)
    print(f"{'ok' if good else 'FAIL':5} {text}", flush=True)


def say(text):
    print(f"      {text}", flush=True)


def pictures(folder):
    """The hash of each, by name. What a killed worker was about to write is swept by the next that starts."""
    found = {}
    for name in os.listdir(os.path.join(folder, "out")):
        if name.endswith(".tmp"):
            continue
        with open(os.path.join(folder, "out", name), "rb") as file:
            found[name] = hashlib.sha256(file.read()).hexdigest()
    return found


def host_of(line):
    return line["url"].split("/")[2].split(":")[0]


def late(lines):
    """Seconds from being added to the end, of which 95 in 100 are shorter."""
    times = sorted(line["waitedSeconds"] + line["seconds"] for line in lines)
    return times[int(len(times) * 0.95)]


def takeover(kind, rounds):
    """What a killed worker held runs elsewhere within the lease and one sweep."""
    lease, longest = 3, 0
    with tempfile.TemporaryDirectory() as folder, Sources(small_files()) as sources, Queue(kind, folder) as queue:
        outcomes = Outcomes(folder)
        for turn in range(rounds):
            sources.slow = {"127.0.3.1"}
            first = Worker(queue, folder, "--jobs", "8", "--per-host", "8", "--lease", str(lease)).wait_alive()
            queue.enqueue([sources.url(turn * 8 + n, "127.0.3.1") for n in range(8)])
            until(lambda: queue.stat()["running"] == 8, "the worker holds all jobs")
            added = {job["id"]: job["added"] / 1000 for job in queue.list("running")}
            with Worker(queue, folder, "--jobs", "8", "--per-host", "8", "--lease", str(lease)):
                first.kill()
                killed = time.time()
                sources.release()
                until(lambda: queue.left() == 0, "every job ended")
                taken = [added[line["id"]] + line["waitedSeconds"]
                         for line in outcomes.all("done") if line["id"] in added]
                longest = max(longest, max(taken) - killed)
        again = [line["tries"] for line in outcomes.all("done")]
        check(f"{kind}: all {rounds * 8} jobs were done, at their second try", again == [2] * rounds * 8)
        say(f"longest time from kill -9 to being handed out again: {longest:.2f} s; lease {lease} s, a sweep each "
            f"{lease / 3} s")
        check(f"{kind}: taken over within lease and one sweep, and half a second for a busy machine",
              longest <= lease + lease / 3 + 0.5)


def rolling(kind, jobs):
    """Two workers are restarted in turn under load: nothing lost, nothing failed, nothing done twice and different."""
    with tempfile.TemporaryDirectory() as folder, Sources(small_files()) as sources, Queue(kind, folder) as queue:
        def start():
            return Worker(queue, folder, "--jobs", "8", "--per-host", "64", "--grace", "5").wait_alive()

        queue.enqueue([sources.url(n) for n in range(jobs)])
        workers, codes, restarts = [start(), start()], [], 6
        for turn in range(restarts):
            until(lambda: queue.left() <= jobs * (1 - (turn + 1) / (restarts + 1)), "some jobs are done", 600)
            codes.append(workers[turn % 2].stop())
            workers[turn % 2] = start()
        until(lambda: queue.left() == 0, "every job ended", 600)
        codes += [worker.stop() for worker in workers]
        lines = Outcomes(folder).all()
        events = collections.Counter(line["event"] for line in lines)
        done = collections.Counter(line["id"] for line in lines if line["event"] == "done")
        found = pictures(folder)
        say(f"{jobs} jobs, {restarts} restarts: {dict(events)}")
        check(f"{kind}: every worker ended with 0", codes == [0] * (restarts + 2))
        check(f"{kind}: 0 lost, 0 failed", len(done) == jobs and not queue.dead() and not events["retry"])
        check(f"{kind}: 0 done twice", sum(done.values()) == jobs)
        check(f"{kind}: a picture for each, alike where sources are",
              len(found) == jobs and len(set(found.values())) == 3)


def stuck(kind):
    """Every slot waits for bytes that don't come: not ready within 10 s, alive all the time."""
    with tempfile.TemporaryDirectory() as folder, Sources(small_files()) as sources, Queue(kind, folder) as queue:
        hosts = [f"127.0.3.{n}" for n in range(1, 9)]
        sources.slow = set(hosts)
        with Worker(queue, folder, "--jobs", "8", "--deadline", "60") as worker:
            until(lambda: worker.get("/readyz")[0] == 200, "the worker is ready")
            queue.enqueue([sources.url(n, host) for n, host in enumerate(hosts)])
            until(lambda: queue.stat()["running"] == 8, "every slot is taken")
            begun, slowest, alive = time.monotonic(), 0, True
            while (page := worker.get("/readyz"))[0] != 503 and time.monotonic() - begun < 30:
                asked = time.monotonic()
                alive = alive and worker.get("/healthz")[0] == 200
                slowest = max(slowest, time.monotonic() - asked)
                time.sleep(0.05)
            red = time.monotonic() - begun
            say(f"red after {red:.1f} s: {page[1].strip()}; slowest /healthz {slowest * 1000:.0f} ms")
            check(f"{kind}: /readyz is red within 10 s", red <= 10)
            check(f"{kind}: /healthz answers within a second", alive and slowest < 1)
            sources.release()
            until(lambda: queue.left() == 0, "every job ended")
            check(f"{kind}: and green when it goes on", worker.get("/readyz")[0] == 200)


def tarpit(kind, rounds, pairs=3):
    """Eight of a hundred hosts stand still: the 95th percentile of the others' jobs stays."""
    hosts = [f"127.0.{1 + n // 50}.{1 + n % 50}" for n in range(100)]
    tarpits = set(hosts[::13])

    def run(slow):
        with (tempfile.TemporaryDirectory() as folder, Sources(small_files(), latency=0.05) as sources,
              Queue(kind, folder) as queue):
            sources.slow = slow
            outcomes = Outcomes(folder)
            with Worker(queue, folder, "--jobs", "32", "--deadline", "5"):
                for turn in range(rounds):
                    queue.enqueue([sources.url(turn * 100 + n, host) for n, host in enumerate(hosts)])
                    time.sleep(1)
                def others():
                    return [line for line in outcomes.all("done") if host_of(line) not in tarpits]
                until(lambda: len(others()) == rounds * 92, "all jobs of the other hosts are done", pause=0.2)
                return late(others())
    measured = [(run(set()), run(tarpits)) for _ in range(pairs)]
    ratio = statistics.median(after / before for before, after in measured)
    say("95th percentile of the other 92 hosts without and with 8 tarpits: "
        + "; ".join(f"{before:.3f} s, {after:.3f} s" for before, after in measured) + f"; median ratio {ratio:.2f}")
    check(f"{kind}: within a tenth", ratio <= 1.1)


def backfill(kind, jobs, count=200, pairs=3):
    """Many backfill jobs wait: who is in a hurry hardly notices, and the oldest ends."""
    with (tempfile.TemporaryDirectory() as folder, Sources(small_files(), latency=0.05) as sources,
          Queue(kind, folder) as queue):
        outcomes, numbers = Outcomes(folder), iter(range(10 ** 9, 2 * 10 ** 9))

        def hurry():
            """95th percentile of jobs that come one by one."""
            urls = {sources.url(next(numbers)) for _ in range(count)}
            for url in urls:
                queue.put(url, "interactive")
                time.sleep(0.05)
            def ended():
                return [line for line in outcomes.all("done") if line["url"] in urls]
            until(lambda: len(ended()) == count, "the interactive jobs are done", pause=0.2)
            return late(ended())
        with Worker(queue, folder, "--per-host", "64"):
            idle = [hurry() for _ in range(pairs)]
            queue.enqueue([sources.url(n) for n in range(jobs)])
            busy = [hurry() for _ in range(pairs)]
            left = queue.left()
        ratio = statistics.median(busy) / statistics.median(idle)
        say(f"95th percentile of {count} interactive jobs, idle {', '.join(f'{one:.3f}' for one in idle)} s, "
            f"with {jobs} backfill jobs added {', '.join(f'{one:.3f}' for one in busy)} s; ratio {ratio:.2f}; "
            f"{jobs - left} of them ended meanwhile")
        check(f"{kind}: all the time some waited", left > 0)
        check(f"{kind}: at most 1.2 times as long", ratio <= 1.2)
        check(f"{kind}: the oldest backfill job is done",
              any(line["url"] == sources.url(0) for line in outcomes.all("done")))


def namespaces(jobs):
    """Three workers in network namespaces of their own on one Redis: one is cut off, one is killed."""
    if os.geteuid() != 0 or not shutil.which("ip"):
        return print("SKIPPED namespaces: it takes root and iproute2")
    mark, net = f"fm{os.getpid() % 10000}", "10.199.7"

    def ip(*words):
        subprocess.run(["ip", *words], check=True)
    with tempfile.TemporaryDirectory() as folder, Sources(small_files()) as sources, Queue("redis", folder) as queue:
        workers, bridge = [], f"{mark}br"
        try:
            ip("link", "add", bridge, "type", "bridge")
            ip("addr", "add", f"{net}.1/24", "dev", bridge)
            ip("link", "set", bridge, "up")
            queue.name = f"redis://{net}.1:{queue.port}/0"
            queue.enqueue([sources.url(n, f"{net}.1") for n in range(jobs)])
            for n in range(3):
                name = f"{mark}n{n}"
                ip("netns", "add", name)
                ip("link", "add", f"{mark}v{n}", "type", "veth", "peer", "name", "eth0", "netns", name)
                ip("link", "set", f"{mark}v{n}", "master", bridge, "up")
                ip("-n", name, "addr", "add", f"{net}.{n + 2}/24", "dev", "eth0")
                for link in ("eth0", "lo"):
                    ip("-n", name, "link", "set", link, "up")
                workers.append(Worker(
                    queue, folder, "--jobs", "4", "--per-host", "64", "--lease", "3", "--allow-net", f"{net}.0/24",
                    "--name", name, prefix=("ip", "netns", "exec", name)))
            until(lambda: queue.left() <= jobs * 0.8, "some jobs are done")
            ip("link", "set", f"{mark}v0", "down")
            until(lambda: queue.left() <= jobs * 0.5, "more jobs are done")
            workers[1].kill()
            until(lambda: queue.left() == 0, "every job ended, with one worker cut off and one killed")
            found, dead, done = pictures(folder), queue.dead(), queue.stat()["done"]
            say(f"{jobs} jobs: {done} done, {len(found)} pictures, {len(dead)} failed{dead[:2] or ''}")
            check("0 lost, 0 failed, with one worker cut off and one killed", len(found) == done == jobs and not dead)
            check("a picture for each, alike where sources are", len(set(found.values())) == 3)
            check("the third ends with 0 when told to", workers[2].stop() == 0)
            ip("link", "set", f"{mark}v0", "up")
            begun = time.monotonic()
            queue.enqueue([sources.url(jobs + n, f"{net}.1") for n in range(30)])
            until(lambda: queue.left() == 0, "the one that was cut off works again")
            say(f"the worker that was cut off did 30 jobs within {time.monotonic() - begun:.1f} s of its return")
            refused = sum(line["event"] == "refused" for line in Outcomes(folder).all())
            say(f"{refused} late results were refused")
        finally:
            for worker in workers:
                worker.kill()
            for n in range(len(workers)):
                subprocess.run(["ip", "netns", "del", f"{mark}n{n}"], check=False)
            subprocess.run(["ip", "link", "del", bridge], check=False)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("proof", nargs="?", default="all")
    parser.add_argument("--queue", choices=["sqlite", "redis"])
    words = parser.parse_args()
    proofs = {
        "takeover": lambda kind: takeover(kind, 10), "rolling": lambda kind: rolling(kind, 5000), "stuck": stuck,
        "tarpit": lambda kind: tarpit(kind, 10), "backfill": lambda kind: backfill(kind, 100_000),
        **{name: lambda kind, name=name: getattr(worker_proofs, name)(kind, check, say)
           for name in ("hands_back", "frozen", "restarts", "overhead", "soak")},
    }
    small = {
        **proofs, "takeover": lambda kind: takeover(kind, 1), "rolling": lambda kind: rolling(kind, 300),
    }
    for name in ("tarpit", "backfill", "soak", "overhead"):
        del small[name]
    alone = {
        "namespaces": lambda: namespaces(300 if words.proof == "short" else 3000),
        "silent": lambda: worker_proofs.silent(check, say),
    }
    kinds = [words.queue] if words.queue else ["sqlite", "redis"]
    if "redis" in kinds and not shutil.which("redis-server"):
        print("NOT TESTED: redis-server is not installed")
        kinds.remove("redis")
    chosen = small if words.proof == "short" else proofs
    if words.proof in proofs:
        chosen = {words.proof: proofs[words.proof]}
    elif words.proof in alone:
        chosen, alone = {}, {words.proof: alone[words.proof]}
    elif words.proof not in ("all", "short"):
        parser.error(f"there is no proof {words.proof}")
    build()
    for name, proof in chosen.items():
        for kind in kinds:
            print(f"== {name}, {kind}", flush=True)
            proof(kind)
    if words.proof == "short":
        del alone["silent"]
    for name, proof in alone.items() if words.proof not in proofs and "redis" in kinds else []:
        print(f"== {name}, redis", flush=True)
        proof()
    print(f"{len(passed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
