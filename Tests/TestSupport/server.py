"""An HTTP server with every fault on demand. Prints its port; obeys lines on its standard input; ends with it.

Paths: /MODE/SIZE/ANYTHING, where byte i of a body is (i * 31 + (i >> 8)) % 256, or the file of --root for /file/NAME.
/origin/NAME answers as "set /origin/NAME JSON" says: a list of answers, taken in turn, of which the last stays.
/gated/MODE/… answers as /MODE/… does once "open" was said. /crowded/N/… has room for N requests at a time: what comes
beyond gets 503, or with /crowdedhard/N/… a closed connection. /crowded/N/file/NAME answers with a file.
Commands: "log" prints every request as one JSON line; "wait N TEXT" answers once N lines of the log hold TEXT.
"""
import http.server, json, os, re, socketserver, sys, threading, time, urllib.parse

LOG, SEEN, ROOT = [], threading.Condition(), sys.argv[1] if len(sys.argv) > 1 else None
FIRST = set()
SCRIPTS = {}
GATE = threading.Event()
INSIDE = {}


def note(line):
    with SEEN:
        LOG.append(line)
        SEEN.notify_all()


def pattern(start, end):
    return bytes((i * 31 + (i >> 8)) & 255 for i in range(start, end))


CACHE = {}


def body(size):
    if size not in CACHE:
        period = pattern(0, 65536)
        CACHE[size] = (period * (size // 65536 + 1))[:size]
    return CACHE[size]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def send(self, status, headers, content, length=None):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if length is None:
            length = len(content)
        if length >= 0:
            self.send_header("Content-Length", str(length))
        self.end_headers()
        self.wfile.write(content)

    def until_closed(self):
        try:
            while self.rfile.read(1):
                pass
        except OSError:
            pass
        note("closed " + self.path)
        self.close_connection = True

    def do_HEAD(self):
        note(self.requestline)
        self.send_response(403)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def do_GET(self):
        asked = self.headers.get("Range", "")
        note(" ".join([self.requestline, asked, self.headers.get("If-Range", ""),
                       "from=%d" % self.client_address[1], "host=" + self.headers.get("Host", "")]
                      + ["if-none-match=" + self.headers[name] for name in ["If-None-Match"] if name in self.headers]))
        parts = self.path.split("?")[0].split("/")
        mode, size = parts[1], int(parts[2]) if len(parts) > 2 and parts[2].isdigit() else 0
        try:
            getattr(self, "mode_" + mode)(size, asked)
        except OSError:
            note("closed " + self.path)
            self.close_connection = True

    def do_POST(self):
        """/hook/STATUS/NAME: notes signature headers and body, and answers STATUS."""
        content = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        note(json.dumps([self.requestline, {name: value for name, value in self.headers.items()
                                            if name.startswith("webhook-") or name == "Content-Type"},
                         content.decode()]))
        status = int(self.path.split("/")[2])
        self.send(status, {"Location": "/hook/200/elsewhere"} if status // 100 == 3 else {"Retry-After": "7"}, b"said")

    def is_first(self):
        with SEEN:
            first = self.path not in FIRST
            FIRST.add(self.path)
        return first

    def ranged(self, data, asked, tag='"v1"', shift=0, cut=None, extra=None):
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", asked)
        if not match or self.headers.get("If-Range", tag) != tag:
            return self.send(200, {"ETag": tag}, data)
        start, end = int(match[1]), min(len(data), int(match[2]) + 1 if match[2] else len(data))
        if start >= len(data):
            return self.send(416, {"Content-Range": "bytes */%d" % len(data)}, b"")
        headers = {"ETag": tag, "Content-Range": "bytes %d-%d/%d" % (start + shift, end - 1 + shift, len(data))}
        headers.update(extra or {})
        piece = data[start:end]
        if cut is not None:
            self.send(206, headers, piece[:cut], len(piece))
            self.close_connection = True
            return
        self.send(206, headers, piece)

    def mode_ranges(self, size, asked):
        self.ranged(body(size), asked)

    def mode_brief(self, size, asked):
        start = int(asked[6:].split("-")[0])
        self.ranged(body(size), "bytes=%d-%d" % (start, start + 9999))

    def mode_untold(self, size, asked):
        start = int(asked[6:].split("-")[0])
        if start >= size:
            return self.send(416, {}, b"")
        piece = body(size)[start:start + 10000]
        self.send(206, {"Content-Range": "bytes %d-%d/*" % (start, start + len(piece) - 1)}, piece)

    def mode_hollow(self, size, asked):
        if asked.startswith("bytes=0-"):
            return self.ranged(body(size), asked)
        self.send(206, {"Content-Range": "bytes %s/%d" % (asked[6:], size)}, b"")

    def mode_toend(self, size, asked):
        # Starts where it was asked to and gives all that is left.
        start = int(asked[6:].split("-")[0])
        self.ranged(body(size), "bytes=%d-" % start)

    def mode_beyond(self, size, asked):
        # Announces the range that was asked for, and sends on and on.
        start, end = (int(text) for text in asked[6:].split("-"))
        end = min(end, size - 1)
        self.send(206, {"Content-Range": "bytes %d-%d/%d" % (start, end, size)}, body(size)[start:end + 1], -1)
        while True:
            self.wfile.write(bytes(1 << 16))

    def mode_held(self, size, asked):
        # All that was asked for, in a body that does not end.
        start, end = (int(text) for text in asked[6:].split("-"))
        end = min(end, size - 1)
        self.send(206, {"Content-Range": "bytes %d-%d/%d" % (start, end, size)}, body(size)[start:end + 1], -1)
        self.until_closed()

    def mode_vast(self, size, asked):
        most = (1 << 63) - 1
        self.send(206, {"Content-Range": "bytes 0-%d/%d" % (most - 1, most)}, body(1 << 17), -1)
        self.until_closed()

    def mode_endlesslength(self, size, asked):
        self.send(200, {}, body(1 << 17), (1 << 63) - 1)
        self.until_closed()

    def mode_old(self, size, asked):
        # HTTP/0.9: a body and nothing else.
        self.wfile.write(body(size))
        self.close_connection = True

    def mode_upgrade(self, size, asked):
        self.send(101, {"Upgrade": "h2c", "Connection": "Upgrade"}, body(size), -1)
        self.close_connection = True

    def mode_longheader(self, size, asked):
        self.send(200, {"X": "a" * size}, b"", 0)

    def mode_manyheaders(self, size, asked):
        self.send(200, {"X-%d" % number: "a" * 1000 for number in range(size)}, b"", 0)

    def mode_packed(self, size, asked):
        self.ranged(body(size), asked, extra={"Content-Encoding": "gzip"})

    def mode_whole(self, size, asked):
        self.send(200, {"Accept-Ranges": "bytes"}, body(size))

    def mode_chunked(self, size, asked):
        self.send(200, {"Transfer-Encoding": "chunked"}, b"", -1)
        data = body(size)
        for start in range(0, size, 50000):
            piece = data[start:start + 50000]
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
        self.wfile.write(b"0\r\n\r\n")

    def mode_changed(self, size, asked):
        self.ranged(body(size), asked, '"v1"' if self.is_first() else '"v2"')

    def mode_shifted(self, size, asked):
        self.ranged(body(size), asked, shift=10)

    def mode_cut(self, size, asked):
        later = not asked.startswith("bytes=0-")
        self.ranged(body(size), asked, cut=30000 if later and self.is_first() else None)

    def mode_status(self, size, asked):
        self.send(size, {"Retry-After": "7"}, b"no")

    def mode_origin(self, size, asked):
        with SEEN:
            answers = SCRIPTS[self.path]
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
        headers = dict(answer.get("headers", {}))
        if answer.get("status", 200) != 200:
            return self.send(answer["status"], headers, b"no")
        since, modified = self.headers.get("If-Modified-Since"), headers.get("Last-Modified")
        tag = headers.get("ETag")
        knows = self.headers.get("If-None-Match", "") == tag if tag else modified and since == modified
        if knows and not answer.get("ignores"):
            return self.send(304, headers, b"", -1)
        if tag is None:
            # `ranged` always names a version.
            return self.send(200, headers, answer["body"].encode())
        self.ranged(answer["body"].encode(), asked, tag, extra=headers)

    def mode_gated(self, size, asked):
        GATE.wait()
        self.path = self.path[len("/gated"):]
        parts = self.path.split("?")[0].split("/")
        size = int(parts[2]) if len(parts) > 2 and parts[2].isdigit() else 0
        getattr(self, "mode_" + parts[1])(size, asked)

    def mode_crowded(self, size, asked, refuse=True):
        kind = "/".join(self.path.split("/")[1:3])
        with SEEN:
            has_room = INSIDE.get(kind, 0) < size
            if has_room:
                INSIDE[kind] = INSIDE.get(kind, 0) + 1
        if not has_room:
            note("refused " + self.path)
            if refuse:
                return self.send(503, {}, b"no")
            self.close_connection = True
            return
        # What an answer takes; so that others come meanwhile.
        time.sleep(0.005)
        with SEEN:
            INSIDE[kind] -= 1
        rest = self.path.split("/", 3)[3]
        if rest.startswith("file/"):
            self.path = "/" + rest
            return self.mode_file(size, asked)
        self.ranged(body(10), asked)

    def mode_crowdedhard(self, size, asked):
        self.mode_crowded(size, asked, refuse=False)

    def mode_silent(self, size, asked):
        self.until_closed()

    def mode_stall(self, size, asked):
        self.send(206, {"Content-Range": "bytes 0-65535/1000000"}, body(1000), 65536)
        self.until_closed()

    def mode_halfway(self, size, asked):
        if asked.startswith("bytes=0-"):
            return self.ranged(body(size), asked)
        self.until_closed()

    def mode_drip(self, size, asked):
        self.send(206, {"Content-Range": "bytes 0-65535/1000000"}, b"", 65536)
        while True:
            self.wfile.write(b"x")
            time.sleep(0.2)

    def mode_endless(self, size, asked):
        self.send(200, {}, b"", -1)
        data = body(1 << 20)
        while True:
            self.wfile.write(data)

    def mode_loop(self, size, asked):
        self.send(302, {"Location": self.path + "x"}, b"moved")

    def mode_hop(self, size, asked):
        # /hop/3/ranges/1000 leads over two more hops to /ranges/1000.
        rest = self.path.split("/", 3)[3]
        self.send(302, {"Location": "/hop/%d/%s" % (size - 1, rest) if size > 1 else "/" + rest}, b"moved")

    def mode_to(self, size, asked):
        target = urllib.parse.unquote(self.path.split("?", 1)[1])
        self.send(302, {"Location": target}, b"moved")

    def mode_file(self, size, asked):
        name = urllib.parse.unquote(self.path.split("?")[0][len("/file/"):])
        path = os.path.join(ROOT, name) if ROOT else None
        if not path or not os.path.isfile(path):
            return self.send(404, {}, b"none")
        with open(path, "rb") as file:
            self.ranged(file.read(), asked, '"%d"' % os.path.getsize(path))


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, *_):
        pass


def obey(line):
    words = line.rstrip("\n").split(" ", 2)
    with SEEN:
        if words[0] == "wait":
            SEEN.wait_for(lambda: sum(words[2] in entry for entry in LOG) >= int(words[1]))
        if words[0] == "open":
            GATE.set()
        if words[0] == "set":
            SCRIPTS[words[1]] = json.loads(words[2])
        print(json.dumps(LOG), flush=True)


server = Server(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
print(server.server_address[1], flush=True)
for command in sys.stdin:
    obey(command)
