#!/usr/bin/env python3
"""The network guard against real sockets, in a network namespace of its own.

guard.py [framemill]

A public address and many private ones are on this machine's loopback there; each private one has a listener that must
never be dialled, and the public one a server. A DNS stub answers with what an attacker would: private addresses, both
kinds at once, and another answer each time (rebinding). Environment proxies point at a listener. Every address of the
list below, spelled in every way that was ever used to get past a guard, ends as a line of one batch.

Needs root, for the namespace; says so and ends with 0 where it may not have one.
"""

import http.server
import json
import os
import socket
import struct
import subprocess
import sys
import tempfile
import threading

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
binary = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else os.path.join(root, ".build/release/framemill")
PUBLIC, PUBLIC6 = "93.184.216.34", "2606:2800:220:1::1"
PRIVATE = [
    "127.0.0.1", "127.8.8.8", "10.0.0.5", "100.64.0.1", "169.254.169.254", "172.16.0.1", "192.168.1.1", "192.0.0.8",
    "192.0.2.1", "198.18.0.1", "203.0.113.7",
]
PRIVATE6 = ["::1", "fc00::1", "fd00:ec2::254", "fec0::1", "2001:db8::1", "64:ff9b:1::1"]
PORTS = (80, 8000)

if os.environ.get("GUARD_INSIDE") != "1":
    inside = ["unshare", "--net", "--mount", "--", sys.executable, os.path.abspath(__file__), binary]
    if subprocess.run(inside[:4] + ["true"], capture_output=True).returncode != 0:
        print("*** SKIPPED: no network namespace can be made here")
        sys.exit(0)
    sys.exit(subprocess.run(inside, env=dict(os.environ, GUARD_INSIDE="1")).returncode)


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


ip("link", "set", "lo", "up")
for address in [PUBLIC, *PRIVATE[1:]]:
    ip("addr", "add", address + "/32", "dev", "lo")
for address in [PUBLIC6, *PRIVATE6[1:]]:
    ip("addr", "add", address + "/128", "dev", "lo", "nodad")

scratch = tempfile.TemporaryDirectory()
resolver = os.path.join(scratch.name, "resolv.conf")
with open(resolver, "w") as file:
    file.write("nameserver 127.0.0.1\noptions timeout:5 attempts:1\n")
subprocess.run(["mount", "--bind", resolver, "/etc/resolv.conf"], check=True)

trapped = []


def trap(address, port):
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    listener = socket.create_server((address, port), family=family, backlog=64)

    def run():
        while True:
            other, _ = listener.accept()
            trapped.append(f"{address} port {port}")
            other.close()

    threading.Thread(target=run, daemon=True).start()


for address in PRIVATE + PRIVATE6:
    for port in PORTS:
        trap(address, port)

with open(os.path.join(root, "samples/media/clip.mp4"), "rb") as file:
    clip = file.read()


class Public(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        if self.path.startswith("/to/"):
            self.send_response(302)
            self.send_header("Location", self.path[4:])
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        first, last = self.headers["Range"].removeprefix("bytes=").split("-")
        part = clip[int(first) : int(last) + 1]
        self.send_response(206)
        self.send_header("Content-Range", f"bytes {first}-{int(first) + len(part) - 1}/{len(clip)}")
        self.send_header("Content-Length", str(len(part)))
        self.end_headers()
        self.wfile.write(part)

    def log_message(self, *_):
        pass


class Server6(http.server.ThreadingHTTPServer):
    address_family = socket.AF_INET6


for port in PORTS:
    for server in (http.server.ThreadingHTTPServer((PUBLIC, port), Public), Server6((PUBLIC6, port), Public)):
        threading.Thread(target=server.serve_forever, daemon=True).start()

NAMES = {
    "public.test": [PUBLIC],
    "public6.test": [PUBLIC6],
    "both.test": ["127.0.0.1", PUBLIC],
    "both6.test": ["::1", PUBLIC],
    "private.test": ["127.0.0.1"],
    "ten.test": ["10.0.0.5"],
    "metadata.test": ["169.254.169.254"],
    "six.test": ["::1"],
    "ula.test": ["fd00:ec2::254"],
    "mapped.test": ["::ffff:127.0.0.1"],
    "nat64.test": ["64:ff9b::7f00:1"],
    "sixtofour.test": ["2002:7f00:1::"],
    "nothing.test": ["0.0.0.0"],
}
asked = {}


def answer(query):
    """The stub's answer to one question, with a time to live of nothing."""
    labels, at = [], 12
    while query[at]:
        labels.append(query[at + 1 : at + 1 + query[at]].decode())
        at += 1 + query[at]
    kind = struct.unpack("!H", query[at + 1 : at + 3])[0]
    name = ".".join(labels).lower()
    records = NAMES.get(name, [])
    if name.startswith("rebind"):
        # The public one first, and from then on, in each kind of record, the private one.
        asked[name, kind] = asked.get((name, kind), 0) + 1
        records = [PUBLIC] if asked[name, kind] == 1 else ["127.0.0.1", "::1"]
    family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
    data = [socket.inet_pton(family, text) for text in records if family and (":" in text) == (kind == 28)]
    known = name in NAMES or name.startswith("rebind")
    head = query[:2] + struct.pack("!HHHHH", 0x8180 if known else 0x8183, 1, len(data), 0, 0)
    rows = [b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(entry)) + entry for entry in data]
    return head + query[12 : at + 5] + b"".join(rows)


stub = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
stub.bind(("127.0.0.1", 53))


def resolve():
    while True:
        query, sender = stub.recvfrom(512)
        stub.sendto(answer(query), sender)


threading.Thread(target=resolve, daemon=True).start()

MADE, BLOCKED, BAD = {"ok"}, {"blocked_address"}, {"bad_url"}
# A spelling that is no address at all may also be a name that nobody knows.
REFUSED = BLOCKED | BAD | {"dns"}
spellings = [
    "127.0.0.1", "127.8.8.8", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.0.0.1", "0x7f.1", "017700000001",
    "0177.0.0.1", "0177.0.0.01", "00000177.0.0.1", "127.0.0.1.", "localhost", "localhost.", "LOCALHOST", "0", "0.0.0.0",
    "10.0.0.5", "10.5", "167772165", "012.0.0.5", "100.64.0.1", "169.254.169.254", "2852039166", "0xa9fea9fe",
    "0xa9.0xfe.0xa9.0xfe", "0251.0376.0251.0376", "172.16.0.1", "192.168.1.1", "192.168.257", "192.0.0.8", "192.0.2.1",
    "198.18.0.1", "203.0.113.7", "224.0.0.1", "255.255.255.255", "[::1]", "[::]", "[0:0:0:0:0:0:0:1]", "[::127.0.0.1]",
    "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:ffff:7f00:1]", "[::ffff:a9fe:a9fe]", "[64:ff9b::7f00:1]",
    "[64:ff9b:1::1]", "[2002:7f00:1::]", "[2002:a9fe:a9fe::1]", "[fe80::1]", "[fe80::1%25lo]", "[fc00::1]",
    "[fd00:ec2::254]", "[fec0::1]", "[2001:db8::1]", "[ff02::1]", "①②⑦.⓪.⓪.①", "１２７.0.0.1", "127。0。0。1",
    "%31%32%37.0.0.1", "private.test", "PRIVATE.test.", "ten.test", "metadata.test", "six.test", "ula.test",
    "mapped.test", "nat64.test", "sixtofour.test", "nothing.test",
]
vectors = [(f"http://{host}:8000/clip.mp4?a", REFUSED) for host in spellings]
vectors += [
    ("http://127.0.0.1:8000\\@public.test/", BAD),
    ("http://public.test\\@127.0.0.1:8000/", BAD),
    ("http://public.test:8000@127.0.0.1:8000/clip.mp4", REFUSED),
    ("http://127.0.0.1:8000#@public.test/clip.mp4", REFUSED),
    ("http://a@b@127.0.0.1:8000/clip.mp4", REFUSED),
    ("http://public.test%00.127.0.0.1:8000/", BAD),
    ("http://public.test%2f@127.0.0.1:8000/", REFUSED),
    ("http://public.test:25/", BLOCKED),
    ("http:127.0.0.1:8000/clip.mp4", BAD),
    ("http:///127.0.0.1/clip.mp4", BAD),
    ("gopher://127.0.0.1:8000/_x", BAD),
    ("ftp://127.0.0.1/clip.mp4", BAD),
    ("dict://127.0.0.1:8000/x", BAD),
]
inner = [
    "http://127.0.0.1:8000/", "http://[::1]:8000/", "http://169.254.169.254/latest/meta-data/", "http://private.test/",
    "http://2130706433:8000/", "//127.0.0.1:8000/", "http://[::ffff:127.0.0.1]:8000/", "file:///etc/passwd",
    "ftp://127.0.0.1/", "gopher://127.0.0.1:8000/", "http://public.test:25/", "http://rebind-hop.test:8000/clip.mp4?x",
]
vectors += [(f"http://public.test/to/{place}", BLOCKED | {"bad_response"}) for place in inner[:-1]]
vectors += [
    ("http://public.test/clip.mp4", MADE),
    ("http://public.test:8000/clip.mp4", MADE),
    (f"http://[{PUBLIC6}]:8000/clip.mp4", MADE),
    ("http://public6.test/clip.mp4", MADE),
    ("http://both.test/clip.mp4", MADE),
    ("http://both6.test/clip.mp4", MADE),
    ("http://public.test/to/http://public6.test/clip.mp4?hop", MADE),
    ("http://public.test/to/" + inner[-1], MADE),
]
# The first look-up of each of these is answered with the public address, and every later one with private ones.
rebinding = [f"http://rebind-{number}.test:8000/clip.mp4" for number in range(8)]
vectors += [(url, MADE) for url in rebinding]

proxy = "http://127.0.0.1:8000"
environment = dict(os.environ, HOME=scratch.name)
for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
    environment[name] = proxy
wrong = []


def batch(vectors, name, status):
    """Runs a batch over the vectors, and notes what is not as it should be."""
    manifest = os.path.join(scratch.name, name + ".jsonl")
    listed = "\n".join(json.dumps({"url": url, "id": str(number)}) for number, (url, _) in enumerate(vectors))
    out = ["--out", os.path.join(scratch.name, name), "--manifest", manifest]
    run = subprocess.run(
        [binary, "batch", "-", *out, "--cache", "none", "--quiet"],
        input=listed, text=True, env=environment, capture_output=True)
    if run.returncode != status:
        wrong.append(f"the batch ended with {run.returncode}: {run.stderr[-500:]}")
    with open(manifest) as file:
        records = {record["id"]: record for record in map(json.loads, file)}
    for number, (url, codes) in enumerate(vectors):
        record = records.get(str(number), {"code": "no line"})
        if record["code"] not in codes:
            wrong.append(f"{url}: {record['code']}, not one of {sorted(codes)}: {record.get('message')}")


batch(vectors, "all", 1)
# Another process, which looks all up anew.
batch([(url, BLOCKED) for url in rebinding], "again", 3)
for line in wrong:
    print(line)
print(f"vectors={len(vectors)} wrong={len(wrong)} private_connections={len(trapped)} rebind_lookups={sum(asked.values())}")
for place in sorted(set(trapped)):
    print(f"  {place}: {trapped.count(place)}")
sys.exit(1 if wrong or trapped else 0)
