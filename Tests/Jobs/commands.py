"""The commands of jobs on a store of a test, and namespaces without a route."""

import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import urllib.parse

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
# The replicas of registries are those of the tests of package managers.
sys.path.append(str(ROOT / "Tests/Packages"))

PROGRAM = os.path.join(os.environ.get("HOLDFAST_BIN", ""), "holdfast")
CACHE_DUMP = os.path.join(os.environ.get("HOLDFAST_BIN", ""), "cache-dump")
# A short form for every run of the tests.
QUICK = bool(os.environ.get("JOBS_QUICK"))
SEED = int(os.environ.get("JOBS_SEED", "1"))
# A guard against hanging, for machines under load; it passes unused if all is well.
PATIENCE = int(os.environ.get("PATIENCE", "300"))


def without_route():
    """The words that run a command in a network namespace with nothing but a loopback interface."""
    user = [] if os.geteuid() == 0 else ["--map-root-user"]
    return ["unshare", *user, "--net", "--", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]


class Outcome:
    """The end of a command."""

    def __init__(self, done):
        self.status, self.output, self.error = done.returncode, done.stdout, done.stderr.decode(errors="replace")

    @property
    def refused(self):
        """The lines about refused requests."""
        return [line for line in self.error.splitlines() if line.startswith("holdfast refused ")]

    def __repr__(self):
        return f"status {self.status}\n{self.output.decode(errors='replace')[-3000:]}\n{self.error[-3000:]}"


class Commands:
    """`holdfast record`, `replay` and `jobs` with one configuration and one store."""

    def __init__(self, store, configuration, environment):
        self.store, self.configuration, self.environment = pathlib.Path(store), pathlib.Path(configuration), environment

    def at(self, store):
        """The same on another store."""
        return Commands(store, self.configuration, self.environment)

    @property
    def place(self):
        return ["--config", str(self.configuration), "--store", str(self.store)]

    def record(self, name, command, *options, **environment):
        return self.run(["record", name, *self.place, *options, "--", *command], environment)

    def replay(self, name, command, *options, isolated=True, **environment):
        words = ["replay", name, *self.place, *options, "--", *command]
        return self.run(words, environment, without_route() if isolated else [])

    def jobs(self, *arguments):
        return self.run(["jobs", *arguments, *self.place])

    def states(self):
        """The list of `holdfast jobs`, by name."""
        outcome = self.jobs("--format", "json")
        if outcome.status not in (0, 1) or not outcome.output:
            raise AssertionError(f"'holdfast jobs' failed: {outcome}")
        states = {each["name"]: each for each in json.loads(outcome.output)}
        if (outcome.status == 0) != all(each["wouldRun"] for each in states.values()):
            raise AssertionError(f"The exit status contradicts the list: {outcome}")
        return states

    def verify(self):
        return Outcome(subprocess.run([CACHE_DUMP, "verify", "--full", str(self.store)], capture_output=True, timeout=PATIENCE, check=False))

    def entries(self, name):
        """The lines of a job's file, without the first."""
        return [json.loads(line) for line in (self.store / "jobs" / f"{name}.job").read_text().splitlines()[1:]]

    def run(self, words, environment=None, before=()):
        command = [*before, PROGRAM, *words]
        done = subprocess.run(
            command, env=self.environment | (environment or {}), stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False
        )
        return Outcome(done)


class JobTest(unittest.TestCase):
    """A test with a folder that ends with it."""

    tools = ()

    def setUp(self):
        missing = [tool for tool in ("unshare", "ip", *self.tools) if not shutil.which(tool)]
        if missing:
            self.skipTest(f"not run: {' and '.join(missing)} is missing")
        if subprocess.run([*without_route(), "true"], capture_output=True, check=False).returncode != 0:
            self.skipTest("not run: this system permits no network namespace")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-jobs."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def commands(self, text, store="store", **environment):
        """Writes the configuration."""
        file = self.folder / "holdfast.yaml"
        file.write_text(text)
        return Commands(self.folder / store, file, plain_environment(self.folder / "home") | environment)

    def assert_ended(self, status, outcome):
        self.assertEqual(status, outcome.status, repr(outcome))

    def remove(self, store, entry):
        """Removes the stored response to a request, as an eviction would."""
        with sqlite3.connect(next(store.glob("*.sqlite"))) as database:
            url = urllib.parse.urlsplit(entry["url"])
            content = bytes.fromhex(entry.get("content", "").removeprefix("sha256:"))
            # The key has the path, with its length before it, the query and the content's digest.
            found = [
                row for row, key, variant in database.execute("SELECT id, key, variant FROM entry") if prefixed(url.path) in key and url.query.encode() in key and content in key
                and all(value.encode() in variant for name, value in entry.get("fields", {}).items() if name not in ("content-type", "content-encoding"))
            ]  # fmt: skip
            self.assertEqual(1, len(found), f"{entry} is stored {len(found)} times")
            database.execute("DELETE FROM entry WHERE id = ?", found)
        database.close()

    def assert_runs(self, commands, name, requests=None):
        state = commands.states()[name]
        self.assertTrue(state["wouldRun"], state)
        if requests is not None:
            self.assertEqual(requests, state["requests"], state)


def prefixed(text):
    """A text as keys have it: its length and one as a variable number of bytes, of which only the last is below 128."""
    text = text.encode()
    length, digits = len(text) + 1, b""
    while length >= 128:
        digits += bytes([length % 128 + 128])
        length //= 128
    return digits + bytes([length]) + text


def plain_environment(home):
    """Without proxies, keys and settings of this machine; the home is a new folder."""
    unwanted = ("pip_", "npm_", "cargo_", "git_", "uv_", "openai_", "anthropic_", "holdfast_")
    home.mkdir(parents=True, exist_ok=True)
    kept = {
        name: value for name, value in os.environ.items() if not name.lower().startswith(unwanted) and not name.lower().endswith("_proxy")
    }  # fmt: skip
    return kept | {"HOME": str(home), "LC_ALL": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}


def files_with(text, folder):
    """The files below a folder that contain a text: the store's, with its log and its jobs."""
    return [str(path) for path in pathlib.Path(folder).rglob("*") if path.is_file() and text.encode() in path.read_bytes()]


@contextlib.contextmanager
def serving(commands, folder, *options):
    """`holdfast serve` on the same store; gives its URL."""
    with open(folder / "serve.log", "ab") as log:
        process = subprocess.Popen(
            [PROGRAM, "serve", *commands.place, "--listen", "127.0.0.1:0", "--no-control", *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, env=commands.environment,
        )  # fmt: skip
    try:
        line = process.stdout.readline()
        if not line.startswith("holdfast listening on "):
            raise AssertionError(f"The gateway did not start: {line}{(folder / 'serve.log').read_text()[-3000:]}")
        yield line.split()[-1]
    finally:
        process.terminate()
        try:
            process.wait(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()
