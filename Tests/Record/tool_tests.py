"""Tools without any configuration: recorded once, then replayed with empty caches in a namespace without their origins."""

import pathlib
import shutil
import sys

import package_tests
from commands import QUICK
from parts import content_of
from recording import RecordTest
from replicas import crates, git, npm, pypi, site

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
