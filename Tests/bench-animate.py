#!/usr/bin/env python3
"""Animations to animated WebP 240 wide against peers, in paired rounds.

bench-animate.py [--rounds N] [--command FRAMEMILL] [FILE...]

Without files, two GIFs of 250 frames, 480 x 270, are made: one where all of a frame moves, one where much stands still; and
a 1080p h264 clip, of which six seconds are taken. Builds framemill (release), runs all in turn N times (default 5), and
prints medians of seconds, the cores that ours used (user and system time over wall time), and for GIFs the ratio of our
time to each peer's: ffmpeg that writes PNGs and img2webp that reads them, and `gif2webp -mt` on a GIF that is resized
already, each at quality 75.
"""

import argparse
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time

root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("--rounds", type=int, default=5)
parser.add_argument("--command", help="a framemill that is built already")
parser.add_argument("files", nargs="*")
options = parser.parse_args()

if not options.command:
    build = ["swift", "build", "-c", "release", "--package-path", root]
    for product in "framemill", "framemill-decoder":
        subprocess.run(build + ["--product", product], check=True, stdout=sys.stderr)
    folder = subprocess.run(build + ["--show-bin-path"], check=True, capture_output=True, text=True).stdout.strip()
    options.command = os.path.join(folder, "framemill")

scratch = tempfile.TemporaryDirectory()
palette = "split[a][b];[a]palettegen[p];[b][p]paletteuse"


def place(name):
    return os.path.join(scratch.name, name)


def ffmpeg(*words):
    subprocess.run(["ffmpeg", "-v", "error", "-nostdin", "-y", *words], check=True)


def made():
    mandelbrot = "mandelbrot=size={}:rate=25:start_scale=0.02:end_scale=0.004:start_x=-0.7436:start_y=-0.1318"
    for name, source in ("moving.gif", mandelbrot.format("480x270")), ("still.gif", "testsrc2=s=480x270:r=25"):
        ffmpeg("-f", "lavfi", "-i", source, "-vf", "trim=end_frame=250," + palette, place(name))
        yield place(name)
    clip = ["-f", "lavfi", "-i", mandelbrot.format("1920x1080"), "-t", "8", "-c:v", "libx264", "-b:v", "6M"]
    ffmpeg(*clip, "-pix_fmt", "yuv420p", place("clip.mp4"))
    yield place("clip.mp4")


def measured(*commands):
    """Wall seconds, and the processor's."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    for command in commands:
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def contestants(file):
    words = ["--size", "240", "--cache", "none", "--quiet", "-o", place("ours.webp")]
    if not file.endswith(".gif"):
        words += ["--at", "1", "--duration", "6"]
    yield "framemill", [[options.command, "animate", file, *words]]
    if not file.endswith(".gif"):
        return
    pictures = place("pictures")
    os.makedirs(pictures, exist_ok=True)
    count = len(subprocess.run(
        ["ffprobe", "-v", "error", "-show_entries", "packet=pts", "-of", "csv=p=0", file],
        check=True, capture_output=True, text=True).stdout.split())
    names = [os.path.join(pictures, f"{number:05}.png") for number in range(1, count + 1)]
    shrink = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-i", file, "-vf", "scale=240:-1:flags=area"]
    yield "ffmpeg and img2webp", [
        [*shrink, "-fps_mode", "passthrough", "-pix_fmt", "rgb24", os.path.join(pictures, "%05d.png")],
        ["img2webp", "-lossy", "-q", "75", "-d", "40", *names, "-o", place("img2webp.webp")]]
    small = place("small.gif")
    ffmpeg("-i", file, "-vf", "scale=240:-1:flags=area," + palette, small)
    yield "gif2webp -mt", [["gif2webp", "-quiet", "-mt", "-lossy", "-q", "75", small, "-o", place("gif2webp.webp")]]


for file in options.files or made():
    commands = dict(contestants(file))
    rounds = {name: [] for name in commands}
    for _ in range(options.rounds):
        for name, command in commands.items():
            rounds[name].append(measured(*command))
    ours = rounds.pop("framemill")
    wall = statistics.median(time for time, _ in ours)
    cores = statistics.median(work / time for time, work in ours)
    words = [f"{os.path.basename(file):16s} {wall:6.2f} s on {cores:.2f} cores, {os.path.getsize(place('ours.webp'))} bytes"]
    for name, theirs in rounds.items():
        ratio = statistics.median(own[0] / other[0] for own, other in zip(ours, theirs))
        size = os.path.getsize(place(name.split()[0 if name[0] == "g" else -1] + ".webp"))
        words.append(f"{ratio:.2f} of the time of {name}, {size} bytes")
    print("; ".join(words), flush=True)
