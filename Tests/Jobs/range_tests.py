"""A client that reads ranges of files on many connections, with and without everything: recorded once, replayed in other orders."""

import random
import sys
import threading
import time

from commands import HERE, QUICK, SEED, JobTest
from origins import Handler, Origin

sys.path.append(str(HERE / "suites"))

from range_suite import CONNECTIONS, LENGTH, content  # noqa: E402

ROUNDS = 2 if QUICK else 10


class Files(Handler):
    """Answers after a few milliseconds, so that responses end in another order than requests arrive."""

    def do_GET(self):  # noqa: N802
        with self.server.lock:
            self.server.asked += 1
            delay = self.server.generator.random() / 50
        time.sleep(delay)  # lets time pass
        body, asked = content(self.path), self.headers["Range"]
        self.send_response(206 if asked else 200)
        if asked:
            first, last = (int(number) for number in asked.removeprefix("bytes=").split("-"))
            body = body[first : last + 1]
            self.send_header("Content-Range", f"bytes {first}-{last}/{LENGTH}")
        self.send_header("ETag", f'"{self.path}"')
        self.send_header("Cache-Control", "max-age=3600")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class FileOrigin(Origin):
    handler = Files

    def __init__(self, seed):
        self.lock, self.asked, self.generator = threading.Lock(), 0, random.Random(seed)
        super().__init__()


class Ranges(JobTest):
    def test_each_range_is_replayed_in_whatever_order_clients_ask(self):
        self.origin = FileOrigin(SEED)
        self.addCleanup(self.origin.end)
        site = self.commands(f'version: 1\nroutes:\n  - {{name: site, origin: "{self.origin.url}"}}\n')
        paths = [f"/{kind}/{number}" for number in range(ROUNDS) for kind in ("whole", "parts", "gaps")]
        command = [sys.executable, str(HERE / "suites/range_suite.py"), *paths]
        self.assert_ended(0, site.record("files", command, SEED=str(SEED)))
        self.assert_runs(site, "files")
        ranges = {(entry["url"], entry["fields"]["range"]) for entry in site.entries("files") if "range" in entry.get("fields", {})}
        for path in paths:
            if not path.startswith("/whole/"):
                self.assertEqual(CONNECTIONS, sum(url.endswith(path) for url, _ in ranges), path)
        asked = self.origin.asked
        for seed in range(SEED + 1, SEED + 1 + ROUNDS):
            self.assert_ended(0, site.replay("files", command, "--all", SEED=str(seed)))
        self.assertEqual(asked, self.origin.asked, "a replay reached the origin")
