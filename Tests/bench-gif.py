#!/usr/bin/env python3
"""GIF to RGBA canvases against peers, in paired rounds.

bench-gif.py [--rounds N] [--threads N] [--peers giflib,pillow,pyav,libvips] FILE...

Builds framemill-bench (release) and the giflib peer, runs all in turn N times (default 5) a file, and prints medians,
the ratio peer over ours for each, and geometric means. Peers that are missing are skipped by name. Ours runs on one
thread; with --threads also on as many, and the ratio of the two.
"""

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
here = os.path.join(root, "Tests", "peers")
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--threads", type=int, default=1)
parser.add_argument("--peers", default="giflib,pillow,pyav,libvips")
parser.add_argument("--bench", help="a framemill-bench that is built already")
parser.add_argument("files", nargs="+")
options = parser.parse_args()

if not options.bench:
    build = ["swift", "build", "-c", "release", "--product", "framemill-bench", "--package-path", root]
    subprocess.run(build, check=True, stdout=sys.stderr)
    folder = subprocess.run(build + ["--show-bin-path"], check=True, capture_output=True, text=True).stdout.strip()
    options.bench = os.path.join(folder, "framemill-bench")

scratch = tempfile.TemporaryDirectory()
giflib = os.path.join(scratch.name, "giflib")
subprocess.run(["cc", "-O3", "-o", giflib, os.path.join(here, "giflib.c"), "-lgif"], check=True)


def ours(threads):
    return lambda file: [options.bench, "gif", "--rounds", "3", "--threads", str(threads), file]


def peer(name):
    if name == "giflib":
        return lambda file: [giflib, file, "3"]
    return lambda file: [sys.executable, os.path.join(here, "gif.py"), name, file, "3"]


def milliseconds(command):
    """The least of three rounds in one process; None when the peer can't."""
    run = subprocess.run(command, capture_output=True, text=True)
    return float(run.stdout.split("\t")[-1]) if run.returncode == 0 and run.stdout else None


contestants = {"framemill": ours(1)}
if options.threads > 1:
    contestants[f"{options.threads} threads"] = ours(options.threads)
for name in options.peers.split(","):
    if name and milliseconds(peer(name)(options.files[0])) is not None:
        contestants[name] = peer(name)
    elif name:
        print(f"{name} is not here, skipped", file=sys.stderr)

ratios = {name: [] for name in contestants if name != "framemill"}
for file in options.files:
    rounds = {name: [] for name in contestants}
    for _ in range(options.rounds):
        for name, command in contestants.items():
            rounds[name].append(milliseconds(command(file)))
    mine = rounds["framemill"]
    if None in mine:
        sys.exit(f"framemill-bench failed on {file}")
    words = [f"{os.path.basename(file):32.32s} {statistics.median(mine):9.2f} ms"]
    for name in ratios:
        if None in rounds[name]:
            words.append(f"{name} -")
            continue
        # Paired: each round's ratio, then the median of these.
        ratio = statistics.median(theirs / own for theirs, own in zip(rounds[name], mine))
        ratio = 1 / ratio if name.endswith("threads") else ratio
        ratios[name].append(ratio)
        words.append(f"{name} {ratio:.2f}")
    print("  ".join(words), flush=True)
for name, values in ratios.items():
    mean = math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")
    print(f"{name}: geometric mean {mean:.2f}, least {min(values, default=float('nan')):.2f}, {len(values)} files")
