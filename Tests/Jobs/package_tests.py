"""Package managers and git by base URL: recorded jobs, of which one response at a time is removed, expired or made `must-revalidate`."""

import hashlib
import json
import os
import pathlib
import random
import shutil
import sys
import urllib.parse

from commands import HERE, QUICK, SEED, JobTest
from parts import Authority, Replica, content_of, recipe

ROUNDS = 1 if QUICK else 15
# A job runs for a day without its origins. The cookbook's rules allow more.
RULES = """
rules:
  - name: everything
    match: {url: "https://*.example/**"}
    store: {largest: 2 GiB}
    stale: {offline: 1 d, unreachable: 1 d}
"""
GIT_RULES = """
rules:
  - name: everything
    match: {url: "https://*.example/**"}
    store: {largest: 2 GiB}
    from-origin: {vary: [Git-Protocol]}
    stale: {offline: 1 d, unreachable: 1 d, ignore: [no-cache, must-revalidate]}
"""
EXPIRED = {"Cache-Control": "max-age=60", "Age": str(400 * 86_400)}
MUST_REVALIDATE = {"Cache-Control": "max-age=1, must-revalidate", "Age": "7200"}


class Spoiling(Replica):
    """A replica one of whose responses can be changed."""

    program = str(HERE / "spoiling.py")

    def spoil(self, entry, fields):
        url = urllib.parse.urlsplit(entry["url"])
        content = entry.get("content", "").removeprefix("sha256:") or None
        target = url.path + (f"?{url.query}" if url.query else "")
        spoil = {"host": url.hostname, "method": entry["method"], "target": target, "content": content, "fields": fields}
        (self.folder / "spoil.json").write_text(json.dumps(spoil))

    def mend(self):
        (self.folder / "spoil.json").unlink(missing_ok=True)


class Packages(JobTest):
    name, file, rules, options = None, None, RULES, ()
    damages = "removed", "expired", "must-revalidate"

    def setUp(self):
        super().setUp()
        if not shutil.which("openssl"):
            self.skipTest("not run: openssl is missing")
        self.origin = Spoiling(self.name, self.folder, Authority(self.folder))
        self.addCleanup(self.origin.stop)
        self.origin.start()
        text = recipe(self.file).partition("\nrules:\n")[0] + self.rules + "origins:\n"
        for host, port in self.origin.hosts.items():
            text += f'  "https://{host}": {{ca: {self.origin.authority.file}, addresses: ["127.0.0.1:{port}"]}}\n'
        self.good = self.commands(text, "good")

    def command(self, target):
        """The client, with empty caches, which installs into a folder."""
        raise NotImplementedError

    def content(self, target):
        return content_of(target)

    def record(self, commands):
        target = self.folder / "installed"
        shutil.rmtree(target, ignore_errors=True)
        outcome = commands.record("deps", self.command(target), *self.options)
        self.assert_ended(0, outcome)
        return self.content(target)

    def replay(self, commands):
        target = self.folder / "installed"
        shutil.rmtree(target, ignore_errors=True)
        outcome = commands.replay("deps", self.command(target))
        return outcome, self.content(target) if outcome.status == 0 else None

    def damaged(self, entry, damage):
        """A store whose job has this one damage."""
        commands = self.good.at(self.folder / "damaged")
        shutil.rmtree(commands.store, ignore_errors=True)
        if damage == "removed":
            shutil.copytree(self.good.store, commands.store)
            self.remove(commands.store, entry)
        else:
            self.origin.spoil(entry, EXPIRED if damage == "expired" else MUST_REVALIDATE)
            self.record(commands)
            self.origin.mend()
        return commands

    def check_all(self):
        online = self.record(self.good)
        self.assertTrue(online)
        entries = self.good.entries("deps")
        self.assert_runs(self.good, "deps", requests=len(entries))
        generator = random.Random(f"{SEED} {self.name}")
        first = generator.randrange(len(self.damages))
        for number in range(ROUNDS):
            entry, damage = generator.choice(entries), self.damages[(number + first) % len(self.damages)]
            with self.subTest(round=number, damage=damage, method=entry["method"], url=entry["url"], content=entry.get("content")):
                self.check(entry, damage, online)
        shutil.rmtree(self.folder / "damaged", ignore_errors=True)

    def check(self, entry, damage, online):
        commands = self.damaged(entry, damage)
        asked = len(self.origin.requests())
        state = commands.states()["deps"]
        named = {"method": entry["method"], "url": entry["url"]}
        self.assertFalse(state["wouldRun"], state)
        self.assertEqual(1, state["refusedCount"], state)
        self.assertEqual(named, {key: state["refused"][0][key] for key in named}, state)
        if "content" in entry:
            self.assertEqual(entry["content"], state["refused"][0].get("content"), state)
        if damage == "must-revalidate":
            self.assertEqual("must-revalidate", state["refused"][0]["reason"], state)
        outcome, _ = self.replay(commands)
        self.assertNotEqual(0, outcome.status, outcome)
        refused = {line.split(": ", 1)[0] for line in outcome.refused}
        self.assertEqual({f"holdfast refused {entry['method']} {entry['url']}"}, refused, outcome)
        # With the response back, the same client succeeds.
        self.assert_runs(self.good, "deps")
        outcome, installed = self.replay(self.good)
        self.assert_ended(0, outcome)
        self.assertEqual(online, installed)
        self.assertEqual(asked, len(self.origin.requests()), "a replay reached the origin")


class Pip(Packages):
    name, file = "pypi", "04-package-index.yaml"

    def test_pip_fails_without_the_response_that_is_named(self):
        self.check_all()

    def command(self, target):
        words = [
            sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", "--no-input", "install", "--no-cache-dir", "--retries", "0",
            "--no-compile", "--target", str(target), "holdfast-sample==1.4.2",
        ]  # fmt: skip
        return ["sh", "-c", 'exec "$@" --index-url "$HOLDFAST_URL/simple/"', "sh", *words]


class Npm(Packages):
    tools = ("npm",)
    name, file = "npm", "12-npm-registry.yaml"

    def test_npm_fails_without_the_response_that_is_named(self):
        self.check_all()

    def command(self, target):
        project = {"name": "project", "version": "1.0.0", "dependencies": {"@holdfast/sample": "^1.4.0"}}
        script = (
            'mkdir -p "$1" && cd "$1" && printf %s "$2" > package.json && '
            'exec npm install --registry "$HOLDFAST_URL/" --cache "$1/cache" --no-audit --no-fund --no-update-notifier --fetch-retries=0'
        )
        return ["sh", "-c", script, "sh", str(target), json.dumps(project)]

    def content(self, target):
        return content_of(target / "node_modules", ignored={".package-lock.json"})


class Cargo(Packages):
    tools = ("cargo",)
    name, file = "crates", "13-crates.yaml"

    def test_cargo_fails_without_the_response_that_is_named(self):
        self.check_all()

    def command(self, target):
        manifest = '[package]\nname = "project"\nversion = "1.0.0"\nedition = "2021"\n\n[dependencies]\nholdfast-sample = { version = "1.4" }\n'
        script = (
            'mkdir -p "$1/src" "$1/.cargo" && cd "$1" && printf %s "$2" > Cargo.toml && echo "fn main() {}" > src/main.rs && '
            'printf \'[source.crates-io]\\nreplace-with = "mirror"\\n[source.mirror]\\nregistry = "sparse+%s/"\\n[net]\\nretry = 0\\n\' "$HOLDFAST_URL" '
            '> .cargo/config.toml && CARGO_HOME="$1/home" RUSTUP_HOME="$3" exec cargo fetch'
        )
        rustup = os.environ.get("RUSTUP_HOME", str(pathlib.Path.home() / ".rustup"))
        return ["sh", "-c", script, "sh", str(target), manifest, rustup]

    def content(self, target):
        # The folder's name has a digest of the index's URL, whose port differs.
        (sources,) = (target / "home/registry/src").iterdir()
        return content_of(sources)


class Git(Packages):
    tools = ("git",)
    name, file, rules, options = "git", "15-git.yaml", GIT_RULES, ("--post",)
    # Every response of git has `must-revalidate`, which the rule lifts.
    damages = "removed", "expired"

    def test_git_fails_without_the_response_that_is_named(self):
        self.check_all()

    def command(self, target):
        return ["sh", "-c", 'GIT_CONFIG_NOSYSTEM=1 GIT_TERMINAL_PROMPT=0 exec git clone --quiet "$HOLDFAST_URL/sample.git" "$1"', "sh", str(target)]

    def content(self, target):
        return content_of(target, ignored={".git"})
