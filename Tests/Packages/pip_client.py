"""pip, with an index as HTML and as JSON, with files on another host."""

import concurrent.futures
import hashlib
import json
import sys
import unittest
import urllib.parse

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

    def test_thirty_clients_at_once_each_get_links_to_the_host_that_they_asked(self):
        origin = self.replica("pypi")
        self.serve("04-package-index.yaml")

        def look(number):
            """The host of each link, and the digest of each file against that of the page."""
            host = f"client-{number}.local:8080"
            status, _, page = self.gateway.get("/simple/holdfast-sample/", Accept=origin.module.JSON, Host=host)
            (file,) = json.loads(page)["files"]
            url = urllib.parse.urlsplit(file["url"])
            _, _, content = self.gateway.get(url.path)
            return status, url.netloc == host, hashlib.sha256(content).hexdigest() == file["hashes"]["sha256"]

        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            self.assertEqual({(200, True, True)}, set(pool.map(look, range(30))))
            self.lose_origins()
            self.assertEqual({(200, True, True)}, set(pool.map(look, range(60))))
        fetched = [each["target"] for each in self.asked() if each["host"] == origin.module.INDEX and each["status"] == 200]
        self.assertLess(len(fetched), 30, "one stored page serves every host")


if __name__ == "__main__":
    unittest.main()
