#!/usr/bin/env python3
"""Adds jobs to a queue of framemill's from Python, without framemill.

    samples/enqueue.py sqlite:queue.sqlite https://example.org/clip.mp4
    samples/enqueue.py redis://localhost https://example.org/clip.mp4    # needs the package "redis"

A queue in SQLite is made by framemill (`framemill queue stat --queue sqlite:queue.sqlite`).
"""
import json
import sqlite3
import sys


def job(url):
    """One flat object; README.md lists all names."""
    return json.dumps({"url": url, "size": 320, "format": "webp", "key": f"{url} 320 webp", "data": "from Python"})


def main(queue, urls):
    if queue.startswith("sqlite:"):
        # A view with a trigger: what is inserted is checked and put where it belongs.
        with sqlite3.connect(queue.removeprefix("sqlite:"), timeout=10) as database:
            database.executemany("INSERT INTO enqueue(job) VALUES (?)", [(job(url),) for url in urls])
    else:
        import redis

        server = redis.Redis.from_url(queue)
        for url in urls:
            # The stream is the priority; no MAXLEN, which would drop what waits.
            server.xadd("framemill:prefetch", {"job": job(url)})
    print(f"added {len(urls)}")


if __name__ == "__main__":
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    main(sys.argv[1], sys.argv[2:])
