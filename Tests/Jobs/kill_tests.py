"""`kill -9` of a recording at random moments: the store is whole, and the job is the old one, the new one or none."""

import json
import random
import signal
import subprocess
import sys
import time

from commands import HERE, PROGRAM, QUICK, SEED, JobTest
from origins import Origin

MOMENTS = 4 if QUICK else 100
PATHS = [f"/file-{number}" for number in range(12)]


class Versions(Origin):
    """Answers each path with its name, the origin's version and some bytes, so that a response takes several writes."""

    def __init__(self):
        self.version = "none"
        super().__init__()

    def answer(self, path):
        return content(path, self.version).encode(), {"Cache-Control": "max-age=86400"}


def content(path, version):
    return f"{path} of {version}\n" * 5_000


class Kills(JobTest):
    def setUp(self):
        super().setUp()
        self.origin = Versions()
        self.addCleanup(self.origin.end)
        self.results = self.folder / "results.json"
        text = f'version: 1\nroutes:\n  - {{name: files, origin: "{self.origin.url}"}}\n'
        self.files = self.commands(text, RESULTS=str(self.results))
        self.command = [sys.executable, str(HERE / "suites/fetching.py"), *PATHS]

    def version(self, name):
        """The version that a replay of the job gets, the same for each path; `None` without the job."""
        if name not in self.files.states():
            return None
        self.results.unlink(missing_ok=True)
        self.assert_ended(0, self.files.replay(name, self.command, "--all", isolated=False))
        bodies = json.loads(self.results.read_text())
        (version,) = {body.split("\n")[0].rpartition(" ")[2] for body in bodies}
        self.assertEqual([content(path, version) for path in PATHS], bodies)
        return version

    def kill(self, name, delay):
        """Starts a recording and kills it after a delay. Returns whether it was killed before its end."""
        process = subprocess.Popen(
            [PROGRAM, "record", name, *self.files.place, "--replace", "--", *self.command],
            env=self.files.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        )  # fmt: skip
        try:
            # The moment is what is tested.
            process.wait(timeout=delay)
        except subprocess.TimeoutExpired:
            process.kill()
        # Its command may outlive it for a moment, with no gateway to ask.
        process.stderr.close()
        process.wait()
        return process.returncode == -signal.SIGKILL

    def test_a_killed_recording_leaves_the_old_job_or_none(self):
        generator = random.Random(SEED)
        self.origin.version = "v0"
        duration = self.timed("first")
        old = {"first": "v0", "second": None}
        killed = 0
        # All moments of a recording, in a random order.
        moments = generator.sample(range(MOMENTS), MOMENTS)
        for number in range(1, MOMENTS + 1):
            name = generator.choice(["first", "second"])
            self.origin.version = f"v{number}"
            delay = duration * 1.2 * (moments.pop() + generator.random()) / MOMENTS
            with self.subTest(moment=number, seconds=round(delay, 4), job=name):
                was_killed = self.kill(name, delay)
                killed += was_killed
                verified = self.files.verify()
                self.assert_ended(0, verified)
                new = f"v{number}"
                found = {each: self.version(each) for each in old}
                self.assertIn(found[name], {old[name], new} if was_killed else {new})
                old[name] = found[name]
                self.assertEqual(old, found, "the other job changed")
            # A job that is none again, for the next recordings.
            if old["second"] and generator.random() < 0.5:
                self.assert_ended(0, self.files.jobs("second", "--remove"))
                old["second"] = None
        self.assertGreaterEqual(killed, MOMENTS // 4, "hardly any recording was killed")
        # The next recording removes the rest of killed ones.
        self.origin.version = "last"
        self.assert_ended(0, self.files.record("first", self.command, "--replace"))
        self.assertEqual("last", self.version("first"))
        self.assertEqual([], list((self.files.store / "jobs").glob("*.recording")))

    def timed(self, name):
        started = time.monotonic()
        self.assert_ended(0, self.files.record(name, self.command))
        return time.monotonic() - started
