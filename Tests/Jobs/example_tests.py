"""The Makefile of `Examples/CI`, with the files of the cookbook, whose hosts are those of the test and which are otherwise unchanged."""

import json
import secrets
import shutil
import subprocess
import sys

from commands import HERE, PATIENCE, PROGRAM, ROOT, JobTest, Outcome, files_with, plain_environment, without_route
from kill_tests import Versions
from paid_api import PaidAPI
from parts import Authority, Replica

EXAMPLES = ROOT / "Examples"


class Examples(JobTest):
    tools = ("make", "git", "openssl")

    def setUp(self):
        super().setUp()
        self.ci = self.folder / "CI"
        for name in ("CI", "Cookbook"):
            shutil.copytree(EXAMPLES / name, self.folder / name)
        self.key = "sk-planted-5ecret-" + secrets.token_hex(8)
        self.results = self.folder / "results.json"
        self.environment = plain_environment(self.folder / "home") | {
            "HOLDFAST": PROGRAM, "RESULTS": str(self.results), "OPENAI_API_KEY": self.key, "GIT_CONFIG_NOSYSTEM": "1",
        }  # fmt: skip

    def configure(self, name, host, url, more=""):
        """A file of the cookbook with another host."""
        text = (EXAMPLES / "Cookbook" / name).read_text()
        self.assertIn(host, text)
        file = self.folder / name
        file.write_text(text.replace(host, url) + more)
        return str(file)

    def make(self, *words, isolated=False, **variables):
        done = subprocess.run(
            [*(without_route() if isolated else []), "make", "--no-print-directory", "-C", str(self.ci), *words], env=self.environment | variables,
            stdin=subprocess.DEVNULL, capture_output=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
        return Outcome(done)

    def test_tests_of_a_paid_api_run_without_network_and_key(self):
        api = PaidAPI(self.key)
        self.addCleanup(api.end)
        variables = {
            "API": self.configure("28-paid-api.yaml", "https://api.example.com", api.url),
            "TESTS": f'OPENAI_BASE_URL="$HOLDFAST_URL/v1" exec {sys.executable} {HERE}/suites/openai_suite.py',
        }
        self.assert_ended(0, self.make("record-tests", **variables))
        recorded = json.loads(self.results.read_text())
        self.results.unlink()
        api.end()
        self.assert_ended(0, self.make("tests", isolated=True, **variables))
        self.assertEqual(recorded, json.loads(self.results.read_text()))
        self.assertEqual([], files_with(self.key, self.ci))
        # A test whose prompt is another fails.
        self.assertNotEqual(0, self.make("tests", isolated=True, WORD="cheese", **variables).status)

    def test_a_prompt_that_fails_keeps_the_old_recording(self):
        api = PaidAPI(self.key)
        self.addCleanup(api.end)
        variables = {
            "API": self.configure("28-paid-api.yaml", "https://api.example.com", api.url),
            "TESTS": 'curl -sSf -H "Authorization: Bearer $OPENAI_API_KEY" "$HOLDFAST_URL/v1/models"',
        }
        first = self.make("record-tests", **variables)
        self.assert_ended(0, first)
        failing = variables | {"TESTS": variables["TESTS"] + " && false"}
        self.assertNotEqual(0, self.make("record-tests", **failing).status)
        replayed = self.make("tests", isolated=True, **variables)
        self.assert_ended(0, replayed)
        self.assertEqual(answer(first), answer(replayed))

    def test_downloads_survive_an_outage_of_their_host(self):
        host = Versions()
        self.addCleanup(host.end)
        host.version = "v1"
        variables = {"HOST": self.configure("29-download-host.yaml", "https://downloads.example.com", host.url)}
        file = self.ci / "tool-1.4.2.tar.gz"
        self.assert_ended(0, self.make("downloads", **variables))
        first = file.read_bytes()
        self.assertIn(b"of v1\n", first)
        host.version = "v2"
        self.assert_ended(0, self.make("downloads", **variables))
        second = file.read_bytes()
        self.assertIn(b"of v2\n", second)
        host.end()
        file.unlink()
        for isolated in (False, True):
            self.assert_ended(0, self.make("downloads", isolated=isolated, **variables))
            self.assertEqual(second, file.read_bytes())
        # Another file was never there.
        other = self.make("downloads", **variables, DOWNLOADS='curl -sSf -O "$HOLDFAST_URL/tool-1.5.0.tar.gz"')
        self.assertNotEqual(0, other.status)
        self.assertIn("tool-1.5.0.tar.gz", other.refused[0])

    def test_a_clone_survives_an_outage_of_its_server(self):
        server = Replica("git", self.folder, Authority(self.folder))
        self.addCleanup(server.stop)
        server.start()
        (port,) = server.hosts.values()
        more = f'origins:\n  "https://git.example": {{ca: {server.authority.file}, addresses: ["127.0.0.1:{port}"]}}\n'
        variables = {
            "GIT": self.configure("15-git.yaml", "https://git.example", "https://git.example", more),
            "SOURCE": 'rm -rf project && git clone --quiet "$HOLDFAST_URL/sample.git" project',
        }
        self.assert_ended(0, self.make("source", **variables))
        head = (self.ci / "project/.git/refs/heads/main").read_bytes()
        server.stop()
        shutil.rmtree(self.ci / "project")
        self.assert_ended(0, self.make("source", isolated=True, **variables))
        self.assertEqual(head, (self.ci / "project/.git/refs/heads/main").read_bytes())
        # The state of all jobs needs all of them.
        self.assertIn("has no job 'tests'", self.make("check", **variables).error)


def answer(outcome):
    """The line that curl wrote, without those of make."""
    return [line for line in outcome.output.decode().splitlines() if line.startswith("{")]
