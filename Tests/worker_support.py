"""What `worker.py` stands on: sources that can be slow, queues, workers, and what these say of their jobs."""
import asyncio, atexit, collections, contextlib, json, os, socket, sqlite3, subprocess, tempfile, threading, time
import urllib.error, urllib.request

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BINARY = os.environ.get("FRAMEMILL_BINARY", os.path.join(ROOT, ".build/release/framemill"))


class Sources:
    """Serves /N/NAME, where N picks one of the files, under every address of this machine.

    What comes from `slow` stops in the middle of the bytes until `release`; `latency` is in front of each answer. One
    thread over one loop, since it shares the cores with what is measured.
    """

    def __init__(self, files, latency=0.0):
        self.files, self.slow, self.latency, self.held = files, set(), latency, []
        self.loop = asyncio.new_event_loop()
        server = self.loop.run_until_complete(
            self.loop.create_server(lambda: Connection(self), "0.0.0.0", 0, backlog=1024))
        self.port = server.sockets[0].getsockname()[1]
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def url(self, number, host="127.0.0.1"):
        return f"http://{host}:{self.port}/{number}/clip"

    def release(self, count=None):
        """Lets go on what stands still, or `count` of it; if all, also what comes from now on."""
        def go():
            if count is None:
                self.slow = set()
            # Of those that are still there to hear it.
            self.held = [one for one in self.held if not one[0].transport.is_closing()]
            ready, self.held = self.held[:count], self.held[len(self.held[:count]):]
            for connection, rest in ready:
                connection.write(rest)
        self.loop.call_soon_threadsafe(go)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


class Connection(asyncio.Protocol):
    def __init__(self, sources):
        self.sources, self.text = sources, b""

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.text += data
        while b"\r\n\r\n" in self.text:
            head, self.text = self.text.split(b"\r\n\r\n", 1)
            lines = head.decode("latin-1").split("\r\n")
            fields = dict(line.lower().split(": ", 1) for line in lines[1:])
            self.sources.loop.call_later(self.sources.latency, self.answer, lines[0].split()[1], fields)

    def answer(self, path, fields):
        data = self.sources.files[int(path.split("/")[1]) % len(self.sources.files)]
        start, end = 0, len(data)
        if fields.get("range", "").startswith("bytes="):
            first, last = fields["range"][6:].split("-")
            start, end = int(first), min(len(data), int(last) + 1 if last else len(data))
        if start >= len(data):
            return self.write(b"HTTP/1.1 416 No\r\nContent-Range: bytes */%d\r\nContent-Length: 0\r\n\r\n" % len(data))
        head = (f"HTTP/1.1 206 Part\r\nContent-Range: bytes {start}-{end - 1}/{len(data)}\r\n"
                f"Content-Length: {end - start}\r\n\r\n").encode()
        if fields["host"].split(":")[0] not in self.sources.slow:
            return self.write(head + data[start:end])
        half = (start + end) // 2
        self.write(head + data[start:half])
        self.sources.held.append((self, data[half:end]))

    def write(self, data):
        if not self.transport.is_closing():
            self.transport.write(data)


def small_files():
    """A clip and two pictures, each of another kind."""
    files = []
    with tempfile.TemporaryDirectory() as folder:
        for name, options in [("a.mp4", ["-t", "0.5", "-c:v", "libx264", "-pix_fmt", "yuv420p"]),
                              ("b.png", ["-frames:v", "1"]), ("c.jpg", ["-frames:v", "1"])]:
            path = os.path.join(folder, name)
            subprocess.run(["ffmpeg", "-v", "error", "-f", "lavfi", "-i", "testsrc2=s=96x64:r=10", *options, path],
                           check=True)
            with open(path, "rb") as file:
                files.append(file.read())
    return files


class Queue:
    """A new one, of either kind."""

    def __init__(self, kind, folder):
        self.kind, self.server = kind, None
        self.name = f"sqlite:{folder}/queue"
        if kind != "redis":
            return
        self.port = free_port()
        self.name = f"redis://127.0.0.1:{self.port}/0"
        self.server = subprocess.Popen(
            ["redis-server", "--port", str(self.port), "--bind", "0.0.0.0", "--protected-mode", "no", "--dir", folder,
             "--appendonly", "yes", "--save", "", "--maxmemory-policy", "noeviction"], stdout=subprocess.DEVNULL)
        until(lambda: is_open(self.port), "redis-server answers")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.server:
            self.server.terminate()
            self.server.wait()

    def enqueue(self, urls, *options):
        framemill("enqueue", "-", "--queue", self.name, *options, data="\n".join(urls) + "\n")

    def put(self, url, priority):
        """One job, as any producer adds it, without the start of a process beside what is measured."""
        job = json.dumps({"url": url, "priority": priority})
        if self.kind == "sqlite":
            with contextlib.closing(sqlite3.connect(self.name.removeprefix("sqlite:"), timeout=30)) as file, file:
                file.execute("INSERT INTO enqueue(job) VALUES (?)", (job,))
        else:
            words = ["XADD", f"framemill:{priority}", "*", "job", job]
            with socket.create_connection(("127.0.0.1", self.port)) as redis:
                parts = [f"*{len(words)}"] + [part for word in words for part in (f"${len(word)}", word)]
                redis.sendall("".join(part + "\r\n" for part in parts).encode())
                assert redis.recv(100).startswith(b"$")

    def stat(self):
        return json.loads(framemill("queue", "stat", "--queue", self.name, "--json"))

    def left(self):
        """Jobs that have not ended."""
        now = self.stat()
        return sum(depth["waiting"] for depth in now["priorities"].values()) + now["delayed"] + now["running"]

    def list(self, state):
        lines = framemill("queue", "list", "--state", state, "--limit", "1000000", "--queue", self.name, "--json")
        return [json.loads(line) for line in lines.splitlines()]

    def dead(self):
        return self.list("dead")


def build():
    """The binary, where there is none yet and nobody named one."""
    if not os.path.exists(BINARY):
        words = ["swift", "build", "--package-path", ROOT, "-c", "release", "--product", "framemill"]
        subprocess.run(words, check=True)


def framemill(*words, data=None):
    done = subprocess.run([BINARY, *words], input=data, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"framemill {' '.join(words)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def is_open(port):
    try:
        socket.create_connection(("127.0.0.1", port)).close()
        return True
    except OSError:
        return False


def until(holds, what, seconds=120, pause=0.02):
    """Asks again and again; a proof whose premise never comes ends there, with `what` it waited for."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"after {seconds} s it is still not so that {what}")
        time.sleep(pause)


class Worker:
    """A process that works on a queue; its outcomes go into a file of the folder."""
    count = 0

    def __init__(self, queue, folder, *options, prefix=()):
        Worker.count += 1
        self.log = os.path.join(folder, f"worker-{Worker.count}.log")
        self.errors = os.path.join(folder, f"errors-{Worker.count}.log")
        self.port = free_port()
        with open(self.log, "w") as log, open(self.errors, "w") as errors:
            self.process = subprocess.Popen(
                [*prefix, BINARY, "worker", "--queue", queue.name, "--sink", os.path.join(folder, "out"),
                 *([] if "--cache" in options else ["--cache", os.path.join(folder, "cache")]),
                 "--allow-net", "127.0.0.0/8", "--json", "--listen", f"127.0.0.1:{self.port}", *options],
                stdout=log, stderr=errors)
        # A proof that ends in the middle leaves nobody behind.
        atexit.register(self.kill)

    def __enter__(self):
        return self.wait_alive()

    def __exit__(self, *_):
        self.kill()

    def wait_alive(self):
        until(lambda: self.process.poll() is not None or self.get("/healthz")[0] == 200, "the worker is alive")
        if self.process.poll() is not None:
            with open(self.errors) as errors:
                raise SystemExit(f"the worker ended with {self.process.returncode}: {errors.read()}")
        return self

    def get(self, path):
        """Status and text; 0 where nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        """Its exit code after SIGTERM."""
        self.process.terminate()
        return self.process.wait()

    def resident(self, pid=None):
        """KiB, of the worker or of another process."""
        with open(f"/proc/{pid or self.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))

    def decoders(self):
        """The processes that decode for it; how many rest at a moment is chance, up to four a core."""
        found = []
        for name in os.listdir("/proc"):
            try:
                with open(f"/proc/{name}/stat") as file:
                    # Behind the name, which may hold anything: the state, and the parent.
                    if int(file.read().rpartition(")")[2].split()[1]) == self.process.pid:
                        found.append(int(name))
            except (OSError, ValueError):
                pass
        return found

    def descriptors(self):
        """Those open, but for the three that lead to each decoder."""
        return len(os.listdir(f"/proc/{self.process.pid}/fd")) - 3 * len(self.decoders())


class Outcomes:
    """Every line that any worker of a folder wrote, read once."""

    def __init__(self, folder):
        self.folder, self.places, self.lines = folder, collections.Counter(), []

    def all(self, event=None):
        for name in os.listdir(self.folder):
            if not name.startswith("worker-"):
                continue
            with open(os.path.join(self.folder, name), "rb") as file:
                file.seek(self.places[name])
                text = file.read()
            # A line that was begun is read when it is whole; one that a kill cut stays out.
            whole = text[:text.rfind(b"\n") + 1]
            self.places[name] += len(whole)
            self.lines += [json.loads(line) for line in whole.splitlines()]
        return [line for line in self.lines if event in (None, line["event"])]
