"""pip, with an index as HTML and as JSON, with files on another host."""

import sys
import unittest

from parts import PackageTest, content_of, stale


class Pip(PackageTest):
    def install(self, phase, url=None, package="holdfast-sample==1.4.2"):
        """Into a new folder, with no cache of pip's own; the folder's content."""
        target = self.folder / phase
        command = [
            sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", "--no-input", "install", "--no-cache-dir", "--retries", "0",
            "--no-compile", "--index-url", f"{url or self.gateway.url}/simple/", "--target", str(target), package,
        ]  # fmt: skip
        self.said = self.succeed(command, self.environment(self.folder / "home"), self.folder)
        self.assertIn("Successfully installed holdfast-base-1.0.0 holdfast-sample-1.4.2", self.said)
        return content_of(target)

    def check(self, *options):
        self.replica("pypi", *options)
        self.serve("04-package-index.yaml")
        online = self.install("online")
        self.assertIn("holdfast_sample/data.txt", online)
        self.lose_origins()
        self.assertEqual(online, self.install("offline"))
        self.gateway.stop()
        self.gateway.start()
        self.assertEqual(online, self.install("restarted"))
        before, since = self.served()
        pages = {"/simple/holdfast-base/", "/simple/holdfast-sample/"}
        paths = {line["url.path"] for line in before}
        self.assertEqual(pages, {path for path in paths if path.startswith("/simple/")})
        self.assertEqual(pages, stale(since))
        # An older pip does not ask for the metadata beside a file, and reads it in the file.
        self.assertEqual(2, len([path for path in paths if path.endswith(".whl")]), paths)
        self.assertEqual(paths, {line["url.path"] for line in since})
        self.assertEqual({200}, {line["http.response.status_code"] for line in before + since})

    def test_installs_from_a_json_index_when_every_origin_is_gone(self):
        self.check()

    def test_installs_from_an_html_index_when_every_origin_is_gone(self):
        self.check("html")


if __name__ == "__main__":
    unittest.main()
