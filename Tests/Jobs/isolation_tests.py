"""Partitions of jobs: a gateway on the same store serves no byte of a job, a job none of a gateway, and two jobs never meet."""

import itertools
import json
import random
import secrets
import sys
import urllib.error
import urllib.request

from commands import HERE, QUICK, SEED, JobTest, serving
from origins import Origin

REQUESTS = 60 if QUICK else 1_000
PATHS = ["/plain", "/private", "/vary", "/cookie", "/page?b=2&a=1", "/strict"]
FIELDS = {
    "/plain": "max-age=86400", "/private": "private, max-age=86400", "/vary": "public, max-age=86400", "/cookie": "max-age=86400",
    "/page": "max-age=86400", "/strict": "no-cache",
}  # fmt: skip


class Marking(Origin):
    """Writes a mark into each response: who asks at this time, and a number."""

    def __init__(self):
        self.mark, self.numbers = "none", itertools.count()
        super().__init__()

    def answer(self, target):
        path = target.partition("?")[0]
        fields = {"Cache-Control": FIELDS.get(path, "max-age=60"), "ETag": f'"{secrets.token_hex(8)}"'}
        if path == "/vary":
            fields["Vary"] = "Authorization, Accept-Language"
        if path == "/cookie":
            fields["Set-Cookie"] = f"sid={self.mark}"
        return f"{self.mark} {next(self.numbers)} {target}".encode(), fields


class Isolation(JobTest):
    KEYS = {"mine": "Bearer key-of-mine", "hers": "Bearer key-of-hers"}

    def setUp(self):
        super().setUp()
        self.origin = Marking()
        self.addCleanup(self.origin.end)
        self.results = self.folder / "results.json"
        text = f'version: 1\nroutes:\n  - {{name: site, origin: "{self.origin.url}"}}\n'
        self.site = self.commands(text, RESULTS=str(self.results))
        self.command = [sys.executable, str(HERE / "suites/identified.py"), *PATHS]
        self.generator = random.Random(SEED)

    def record(self, name):
        self.origin.mark = f"<{name}>"
        self.assert_ended(0, self.site.record(name, self.command, KEY=self.KEYS[name]))
        bodies = json.loads(self.results.read_text())
        self.assertTrue(all(body.startswith(f"<{name}>") for body in bodies), bodies)
        return bodies

    def replayed(self, name, key="none"):
        self.results.unlink(missing_ok=True)
        self.site.replay(name, self.command, "--as-recorded", KEY=key)
        return json.loads(self.results.read_text())

    def ask(self, url):
        """A random request to a gateway: its path, the status and the content."""
        path = self.generator.choice(PATHS)
        fields = {}
        if self.generator.random() < 0.5:
            fields["Authorization"] = self.generator.choice([*self.KEYS.values(), "Bearer other"])
        if self.generator.random() < 0.3:
            fields["Cookie"] = f"sid=<{self.generator.choice(list(self.KEYS))}>"
        if self.generator.random() < 0.3:
            fields["Accept-Language"] = self.generator.choice(["de", "en"])
        if self.generator.random() < 0.3:
            fields["Cache-Control"] = self.generator.choice(["only-if-cached", "max-stale", "no-cache"])
        if self.generator.random() < 0.2:
            fields["Range"] = "bytes=0-3"
        request = urllib.request.Request(url + path, headers=fields, method=self.generator.choice(["GET", "GET", "GET", "HEAD"]))
        try:
            with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=120) as response:
                return response.status, str(response.headers), response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, str(error.headers), error.read().decode()

    def test_a_gateway_serves_no_byte_of_a_job_and_jobs_never_meet(self):
        recorded = {name: self.record(name) for name in self.KEYS}
        self.assertFalse(set(recorded["mine"]) & set(recorded["hers"]))
        self.origin.mark = "<served>"
        for mode, has_responses in (("offline", False), ("automatic", True), ("offline", True)):
            with serving(self.site, self.folder, "--mode", mode) as url:
                served = 0
                for _ in range(REQUESTS // 3):
                    status, fields, content = self.ask(url)
                    self.assertNotRegex(fields + content, "<(mine|hers)>", f"seed {SEED}, mode {mode}")
                    served += status in (200, 206)
                # With nothing stored, with the origin, and with what was stored meanwhile.
                self.assertEqual(has_responses, served > 0, f"mode {mode}: {served} responses")
        # The jobs have what they had, for every client.
        for name, key in (("mine", "none"), ("hers", "none"), ("mine", self.KEYS["hers"]), ("hers", self.KEYS["mine"]), ("mine", "none")):
            self.assertEqual(recorded[name], self.replayed(name, key))

    def test_a_job_gets_no_response_that_a_gateway_or_another_job_stored(self):
        self.origin.mark = "<mine>"
        few = [*self.command[:2], PATHS[0]]
        self.assert_ended(0, self.site.record("mine", few, KEY=self.KEYS["mine"]))
        self.record("hers")
        self.origin.mark = "<served>"
        with serving(self.site, self.folder) as url:
            for _ in range(30):
                self.ask(url)
            # The replay of a job runs beside the gateway on its store.
            bodies = self.replayed("mine")
        self.assertEqual("<mine>", bodies[0].split()[0])
        self.assertEqual([504] * (len(PATHS) - 1), bodies[1:])
