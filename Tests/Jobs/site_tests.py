"""A site in Chromium by base URL, recorded once and replayed in a namespace without a route."""

import hashlib
import importlib.util
import itertools
import json
import pathlib
import shutil
import sys

from browsers import CHROMIUM
from commands import HERE, QUICK, JobTest, files_with
from origins import Origin
from replicas.site import png

REPLAYS = 1 if QUICK else 20
COOKIE = "planted-c00kie-of-a-site"
FONT = next(iter(sorted(pathlib.Path("/usr/share/fonts").rglob("*.ttf"))), None)
PAGE = """<!DOCTYPE html>
<meta charset="utf-8">
<title>loading</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/style.css">
<p>A line in a font of its own
<img alt="" src="/picture.png">
<script type="module" src="/app.js" onerror="document.title = 'app.js'"></script>
"""
STYLE = """@font-face { font-family: sample; src: url(/sample.ttf) }
p { font: 20px sample; background: url(/behind.png) }
"""
# The title says which part is missing.
APP = """import { parts } from "./parts.js"
const found = await Promise.all(parts.map(part => part().then(() => [], error => [String(error)])))
document.title = found.flat().join(", ") || "all parts"
"""
PARTS = """export const parts = [
  async () => { const data = await (await fetch("/data.json")).json(); if (data.answer !== 42) throw Error("data.json") },
  () => document.querySelector("img").decode(),
  async () => { if ((await document.fonts.load("20px sample")).length !== 1) throw Error("sample.ttf") },
]
"""


class Site(Origin):
    """Sets a new cookie in each response, as frameworks do that renew sessions."""

    def __init__(self):
        self.numbers, self.asked = itertools.count(), []
        self.files = {
            "/": (PAGE.encode(), "text/html; charset=utf-8"), "/style.css": (STYLE.encode(), "text/css"), "/app.js": (APP.encode(), "text/javascript"),
            "/parts.js": (PARTS.encode(), "text/javascript"), "/data.json": (b'{"answer": 42}', "application/json"),
            "/picture.png": (png(1), "image/png"), "/behind.png": (png(2), "image/png"), "/sample.ttf": (FONT.read_bytes(), "font/ttf"),
        }  # fmt: skip
        super().__init__()

    def answer(self, path):
        self.asked.append(path)
        body, media_type = self.files[path]
        cookie = f"visit={COOKIE}-{next(self.numbers)}; Path=/; HttpOnly"
        return body, {"Content-Type": media_type, "Cache-Control": "private, max-age=60", "Set-Cookie": cookie}


class Chromium(JobTest):
    def setUp(self):
        if not CHROMIUM:
            self.skipTest("not run: needs Chromium")
        if not importlib.util.find_spec("playwright"):
            self.skipTest("not run: needs Playwright ('pip install playwright')")
        if not FONT:
            self.skipTest("not run: needs a font in /usr/share/fonts")
        super().setUp()
        self.origin = Site()
        self.addCleanup(self.origin.end)
        self.results = self.folder / "results.json"
        text = f'version: 1\nroutes:\n  - {{name: site, origin: "{self.origin.url}"}}\n'
        self.site = self.commands(text, RESULTS=str(self.results))
        self.command = [sys.executable, str(HERE / "suites/site_suite.py")]

    def loaded(self):
        return json.loads(self.results.read_text())

    def test_a_site_loads_without_its_origin(self):
        recorded = self.site.record("site", self.command)
        self.assert_ended(0, recorded)
        online = self.loaded()
        self.assertEqual({path: hashlib.sha256(body).hexdigest() for path, (body, _) in self.origin.files.items()}, online["content"])
        self.assertEqual(sorted(self.origin.files), sorted(self.origin.asked))
        self.assert_runs(self.site, "site", requests=len(self.origin.files))
        self.assertIn("a replay does not set 'visit'", recorded.error)
        for _ in range(REPLAYS):
            self.results.unlink()
            self.assert_ended(0, self.site.replay("site", self.command, "--all"))
            self.assertEqual(online, self.loaded())
        self.assertEqual(len(self.origin.files), len(self.origin.asked), "a replay reached the origin")
        self.assertEqual([], files_with(COOKIE, self.site.store))
        self.assertTrue(files_with('{"holdfast-job":1', self.site.store))
        entries = self.site.entries("site")
        for entry in entries[:1] if QUICK else entries:
            with self.subTest(removed=entry["url"]):
                self.check_without(entry)

    def check_without(self, entry):
        """Without one response, the job would not run, the browser notices, and the request is named."""
        damaged = self.site.at(self.folder / "damaged")
        shutil.copytree(self.site.store, damaged.store)
        self.addCleanup(shutil.rmtree, damaged.store, ignore_errors=True)
        self.remove(damaged.store, entry)
        state = damaged.states()["site"]
        self.assertEqual((False, [entry["url"]]), (state["wouldRun"], [each["url"] for each in state["refused"]]))
        outcome = damaged.replay("site", self.command)
        self.assertNotEqual(0, outcome.status, outcome)
        self.assertEqual({f"holdfast refused GET {entry['url']}"}, {line.split(": ", 1)[0] for line in outcome.refused}, outcome)
        shutil.rmtree(damaged.store)
