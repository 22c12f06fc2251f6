"""The peers of the store, from pip: diskcache and requests-cache. Each run prints one line of JSON.

theirs.py get FOLDER COUNT READS LENGTH      one caller; COUNT values are stored first, and not timed
theirs.py set FOLDER COUNT LENGTH            one caller
theirs.py set8 FOLDER COUNT LENGTH processes|threads   eight callers
theirs.py session FOLDER COUNT READS LENGTH  a requests-cache session; each URL is first requested
                                             once from an origin on loopback
"""

import json
import multiprocessing
import os
import random
import sys
import threading
import time

import diskcache


def bytes(number, length):
    return random.Random(number).randbytes(length)


def key(number):
    return f"item-{number}"


def report(count, wall, processor, **more):
    print(
        json.dumps(
            {
                "count": count,
                "wall": wall,
                "processor": processor,
                "rate": count / wall,
                "processorRate": count / processor,
                **more,
            }
        )
    )


def percentile(durations, share):
    durations = sorted(durations)
    return durations[min(len(durations) - 1, int(len(durations) * share))] * 1e6


def get(folder, count, reads, length):
    count, reads, length = int(count), int(reads), int(length)
    with diskcache.Cache(folder, size_limit=1 << 40) as cache:
        with cache.transact():
            for number in range(count):
                cache.set(key(number), bytes(number, length))
        chooser = random.Random(42)
        keys = [key(chooser.randrange(count)) for _ in range(reads)]
        for name in keys[: reads // 10]:
            cache.get(name)
        wall, processor = time.perf_counter(), time.process_time()
        for name in keys:
            if cache.get(name) is None:
                sys.exit("error: a value is not there")
        report(reads, time.perf_counter() - wall, time.process_time() - processor)


def put(folder, count, length):
    count, length = int(count), int(length)
    with diskcache.Cache(folder, size_limit=1 << 40) as cache:
        values = [bytes(number, length) for number in range(count)]
        for number in range(64):
            cache.set(key(-1 - number), values[number])
        durations = []
        wall, processor = time.perf_counter(), time.process_time()
        for number in range(count):
            start = time.perf_counter()
            cache.set(key(number), values[number])
            durations.append(time.perf_counter() - start)
        wall, processor = time.perf_counter() - wall, time.process_time() - processor
        report(count, wall, processor, p50=percentile(durations, 0.5), p99=percentile(durations, 0.99))


def put_some(folder, numbers, length, barrier, results):
    values = [bytes(number, length) for number in numbers]
    durations = []
    with diskcache.Cache(folder, size_limit=1 << 40, timeout=60) as cache:
        barrier.wait()
        for number, value in zip(numbers, values):
            start = time.perf_counter()
            cache.set(key(number), value)
            durations.append(time.perf_counter() - start)
    results.put(durations)


def put8(folder, count, length, how):
    count, length = int(count), int(length)
    diskcache.Cache(folder, size_limit=1 << 40).close()
    if how == "processes":
        kit = multiprocessing.get_context("fork")
        make, barrier, results = kit.Process, kit.Barrier(9), kit.Queue()
    else:
        import queue

        make, barrier, results = threading.Thread, threading.Barrier(9), queue.Queue()
    workers = [
        make(target=put_some, args=(folder, range(start, count, 8), length, barrier, results)) for start in range(8)
    ]
    for worker in workers:
        worker.start()
    barrier.wait()
    wall = time.perf_counter()
    durations = [duration for _ in workers for duration in results.get()]
    wall = time.perf_counter() - wall
    for worker in workers:
        worker.join()
    report(count, wall, wall, p50=percentile(durations, 0.5), p99=percentile(durations, 0.99))


def session(folder, count, reads, length):
    import http.server

    import requests_cache

    count, reads, length = int(count), int(reads), int(length)
    asked = 0

    class Origin(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            nonlocal asked
            asked += 1
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Length", str(length))
            self.send_header("Cache-Control", "public, max-age=3600, stale-while-revalidate=30")
            self.send_header("ETag", '"5f2b1c-3ab"')
            self.send_header("Last-Modified", "Sun, 01 Mar 2026 11:00:00 GMT")
            self.end_headers()
            self.wfile.write(bytes(int(self.path.rsplit("/", 1)[1]), length))

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Origin)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    os.makedirs(folder, exist_ok=True)
    backend = requests_cache.SQLiteCache(os.path.join(folder, "responses.sqlite"), wal=True)
    cached = requests_cache.CachedSession(backend=backend, expire_after=3600)
    cached.trust_env = False
    base = f"http://127.0.0.1:{server.server_port}/v2/items/"
    for number in range(count):
        cached.get(f"{base}{number}").content
    chooser = random.Random(42)
    urls = [f"{base}{chooser.randrange(count)}" for _ in range(reads)]
    for url in urls[: reads // 10]:
        cached.get(url).content
    before = asked
    wall, processor = time.perf_counter(), time.process_time()
    for url in urls:
        if len(cached.get(url).content) != length:
            sys.exit("error: a body is not whole")
    wall, processor = time.perf_counter() - wall, time.process_time() - processor
    if asked != before:
        sys.exit("error: the origin was asked")
    server.shutdown()
    report(reads, wall, processor)


def versions():
    import importlib.metadata
    import platform
    import sqlite3

    print(
        json.dumps(
            {
                "Python": platform.python_version(),
                "its SQLite": sqlite3.sqlite_version,
                "diskcache": importlib.metadata.version("diskcache"),
                "requests-cache": importlib.metadata.version("requests-cache"),
            }
        )
    )


if __name__ == "__main__":
    commands = {"get": get, "set": put, "set8": put8, "session": session, "versions": versions}
    commands[sys.argv[1]](*sys.argv[2:])
