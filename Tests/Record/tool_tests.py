"""Tools without any configuration: recorded once, then replayed with empty caches in a namespace without their origins."""

import os
import pathlib
import shutil
import sys

import apt_client
import browsers
import package_tests
from commands import QUICK
from parts import content_of
from recording import RecordTest, has_other_users
from replicas import crates, debian, git, npm, pypi, site

SITE = f"https://{site.SITE}"


class Tool(RecordTest):
    """A tool that writes files into a folder."""

    # Options of `record`.
    options = ()

    def command(self, target):
        raise NotImplementedError

    def content(self, target):
        return content_of(target)

    def run_with(self, use, *options):
        target = self.folder / "installed"
        shutil.rmtree(target, ignore_errors=True)
        target.mkdir()
        outcome = use("job", self.command(target), *options)
        self.assert_ended(0, outcome)
        found = self.content(target)
        self.assertTrue(found, "the tool has written nothing")
        return found, outcome

    def check(self):
        online, _ = self.run_with(self.any.record, *self.options)
        self.assertTrue(self.any.entries("job"))
        self.assertEqual([], self.left_behind())
        asked = sum(len(origin.requests()) for origin in self.origins)
        self.assertGreater(asked, 0)
        self.stop_origins()
        for _ in range(1 if QUICK else 3):
            replayed, outcome = self.run_with(self.any.replay, "--as-recorded")
            self.assertEqual(online, replayed)
            self.assertEqual([], outcome.refused)
        # Found beforehand: the recording itself needs no other way to the network.
        for origin in self.origins:
            origin.start()
        isolated, _ = self.run_with(self.any.record, "--replace", "--isolated", *self.options)
        self.assertEqual(online, isolated)


class Curl(Tool):
    tools = ("curl",)

    def test_curl_is_replayed(self):
        self.check()

    def command(self, target):
        script = f'cd "$1" && for path in / /css/2.css /png/4.png; do curl -sSf "{SITE}$path" -o "$(printf %s "$path" | tr / _)"; done && curl -sSfO {SITE}/js/2.js'
        return ["sh", "-c", script, "sh", str(target)]


class Wget(Tool):
    tools = ("wget",)

    def test_wget_is_replayed(self):
        self.check()

    def command(self, target):
        return ["wget", "--quiet", "--directory-prefix", str(target), f"{SITE}/css/2.css", f"{SITE}/png/4.png"]


class Requests(Tool):
    def test_requests_is_replayed(self):
        self.require("requests")
        self.check()

    def test_httpx_is_replayed(self):
        self.require("httpx")
        self.library = "httpx"
        self.check()

    library = "requests"

    def require(self, library):
        try:
            __import__(library)
        except ImportError:
            self.skipTest(f"not run: {library} is missing")

    def command(self, target):
        program = (
            f"import pathlib, sys, {self.library}\n"
            "for path in '/css/2.css', '/png/4.png':\n"
            f"    response = {self.library}.get('{SITE}' + path)\n"
            "    response.raise_for_status()\n"
            "    (pathlib.Path(sys.argv[1]) / path.rpartition('/')[2]).write_bytes(response.content)\n"
        )
        return [sys.executable, "-c", program, str(target)]


class Pip(Tool):
    replicas = ("pypi",)

    def test_pip_is_replayed(self):
        self.check()

    def command(self, target):
        return [
            sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install", "--no-cache-dir", "--retries", "0", "--no-compile",
            "--index-url", f"https://{pypi.INDEX}/simple/", "--target", str(target), "holdfast-sample==1.4.2",
        ]  # fmt: skip


class OfBaseURL(Tool):
    """The same command as that of the test by base URL, with the registry's own URL."""

    model = None
    host = None

    def command(self, target):
        return ["env", f"HOLDFAST_URL=https://{self.host}", *self.model.command(self, target)]

    def content(self, target):
        return self.model.content(self, target)


class Npm(OfBaseURL):
    tools, replicas = ("npm",), ("npm",)
    model, host = package_tests.Npm, npm.REGISTRY

    def test_npm_is_replayed(self):
        self.check()


class Cargo(OfBaseURL):
    tools, replicas = ("cargo",), ("crates",)
    model, host = package_tests.Cargo, crates.INDEX

    def test_cargo_is_replayed(self):
        self.check()


class Git(OfBaseURL):
    tools, replicas, options = ("git",), ("git",), ("--post",)
    model, host = package_tests.Git, git.HOST

    def test_git_over_https_is_replayed(self):
        self.check()


class Apt(Tool):
    """apt with folders of its own, and the file that `APT_CONFIG` named before. For root, it downloads as another user."""

    tools, replicas = ("apt-get", "dpkg-deb", "gpg"), ("debian",)

    def test_apt_is_replayed(self):
        self.check()

    def run_with(self, use, *options):
        found, outcome = super().run_with(use, *options)
        if has_other_users():
            self.assertNotIn("unsandboxed", outcome.error)
        return found, outcome

    def command(self, target):
        root = self.folder / "apt"
        shutil.rmtree(root, ignore_errors=True)
        settings = [] if has_other_users() else ['APT::Sandbox::User "root";']
        apt_client.machine(root, self.origins[0], f"https://{debian.HOST}/debian", *settings)
        self.any.environment["APT_CONFIG"] = str(root / "apt.conf")
        script = (
            "set -e; apt-get -q -o APT::Update::Error-Mode=any update; apt-get -q -y install --download-only holdfast-sample\n"
            'for package in "$2"/var/cache/apt/archives/*.deb; do cp "$package" "$1"; dpkg-deb --extract "$package" "$1/installed"; done'
        )
        return ["sh", "-c", script, "sh", str(target), str(root)]

    def content(self, target):
        found = super().content(target)
        self.assertLessEqual({"holdfast-sample_1.4.2_all.deb", "installed/usr/share/holdfast-base/data.txt"}, found.keys())
        return found


class Chromium(Tool):
    """A page of a hundred assets on two hosts, as text and as a picture. Chromium sends no password, so it needs a namespace."""

    tools = ("certutil",)
    options = ("--chromium", "--isolated")
    words = ("--headless", "--disable-gpu", "--disable-dev-shm-usage", "--disable-component-update", "--disable-extensions", "--no-first-run")

    def setUp(self):
        super().setUp()
        if not browsers.CHROMIUM:
            self.skipTest("not run: Chromium is missing")
        # It outlives the home folder of each run.
        self.kept = pathlib.Path(self.any.environment["HOME"]) / ".config" / "kept"
        self.kept.parent.mkdir()
        self.kept.write_text("kept")

    def test_chromium_is_replayed(self):
        self.check()
        self.assertEqual("kept", self.kept.read_text())
        self.assertFalse((self.kept.parents[1] / ".pki").exists())

    def run_with(self, use, *options):
        # Chromium also asks for updates of its own, each time by another URL. It needs no answer.
        found, outcome = super().run_with(use, *dict.fromkeys(["--chromium", *options, *(["--allow-refused"] if use == self.any.replay else [])]))
        own = ("google.com", "googleapis.com", "gvt1.com")
        outcome.error = "\n".join(line for line in outcome.error.splitlines() if not any(f"{host}/" in line for host in own))
        return found, outcome

    def command(self, target):
        words = [browsers.CHROMIUM, *self.words, *(["--no-sandbox"] if os.geteuid() == 0 else []), "--virtual-time-budget=30000"]
        # A profile of the run alone, without what an earlier run has stored.
        script = (
            'set -e; "$@" --user-data-dir="$(mktemp -d)" --dump-dom "$URL" > "$0/page.html"\n'
            '"$@" --user-data-dir="$(mktemp -d)" --screenshot="$0/page.png" "$URL"'
        )
        return ["env", f"URL={SITE}/", "sh", "-c", script, str(target), *words]

    def content(self, target):
        self.assertIn("<title>20 scripts, 4 documents</title>", (target / "page.html").read_text())
        return super().content(target)


class Java(Tool):
    """Java reads the options, and its own client sends no password, so it needs a namespace."""

    tools = ("java",)
    options = ("--java", "--isolated")

    def test_java_is_replayed(self):
        if not (pathlib.Path(shutil.which("java")).resolve().parent / "javac").exists():
            self.skipTest("not run: javac is missing")
        self.check()

    def run_with(self, use, *options):
        return super().run_with(use, *dict.fromkeys(["--java", *options]))

    def command(self, target):
        file = self.folder / "Get.java"
        file.write_text(
            "import java.io.*; import java.net.*; import java.nio.file.*;\n"
            "public class Get { public static void main(String[] words) throws Exception {\n"
            f'  try (InputStream content = new URL("{SITE}/css/2.css").openStream()) {{ Files.copy(content, Path.of(words[0], "2.css")); }}\n'
            "} }\n"
        )
        return ["java", str(file), str(target)]
