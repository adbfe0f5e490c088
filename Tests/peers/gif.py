"""A peer of bench-gif.py: gif.py PEER FILE ROUNDS decodes every frame to RGBA; prints frames, median, least ms."""

import io
import statistics
import sys
import time


def pillow(path):
    from PIL import Image, ImageSequence

    data = open(path, "rb").read()

    def decode():
        count = 0
        with Image.open(io.BytesIO(data)) as image:
            for frame in ImageSequence.Iterator(image):
                frame.convert("RGBA").tobytes()
                count += 1
        return count

    return decode


def pyav(path):
    import av

    def decode():
        count = 0
        with av.open(path) as container:
            container.streams.video[0].thread_count = 1
            for frame in container.decode(video=0):
                frame.to_ndarray(format="rgba")
                count += 1
        return count

    return decode


def libvips(path):
    import pyvips

    pyvips.cache_set_max(0)
    data = open(path, "rb").read()

    def decode():
        image = pyvips.Image.gifload_buffer(data, n=-1)
        height = image.get("page-height") if image.get_typeof("page-height") else image.height
        if image.bands < 4:
            image = image.bandjoin(255)
        image.write_to_memory()
        return image.height // height

    return decode


decode = {"pillow": pillow, "pyav": pyav, "libvips": libvips}[sys.argv[1]](sys.argv[2])
times = []
for _ in range(int(sys.argv[3]) + 1):
    start = time.perf_counter()
    frames = decode()
    times.append((time.perf_counter() - start) * 1e3)
# The first round warms up.
times = times[1:]
print(f"{frames}\t{statistics.median(times):.3f}\t{min(times):.3f}")
