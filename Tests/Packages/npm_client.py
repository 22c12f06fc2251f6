"""npm, with documents that name archives on another host."""

import json
import re
import shutil
import unittest

from parts import PackageTest, content_of, stale

SCOPED = "@holdfast/sample"


class Npm(PackageTest):
    tool = "npm"

    def project(self, phase, lock=None):
        folder = self.folder / phase
        folder.mkdir()
        (folder / ".npmrc").write_text(f"registry={self.gateway.url}/\n{self.more}")
        (folder / "package.json").write_text(json.dumps({"name": "project", "version": "1.0.0", "dependencies": {SCOPED: "^1.4.0"}}))
        if lock:
            (folder / "package-lock.json").write_bytes(lock)
        return folder

    def npm(self, folder, *arguments):
        """With a cache of its own, which is empty."""
        command = ["npm", *arguments, "--cache", str(folder / "cache"), "--no-fund", "--no-update-notifier"]
        self.said = self.succeed(command, self.environment(folder / "home"), folder)
        return content_of(folder / "node_modules", ignored={".package-lock.json"})

    def check(self, recipe, *options, more=""):
        self.more = more
        self.replica("npm", *options)
        self.serve(recipe)
        first = self.project("online")
        online = self.npm(first, "install")
        self.assertIn("@holdfast/sample/data.txt", online)
        self.assertIn("holdfast-base/data.txt", online)
        lock = (first / "package-lock.json").read_bytes()
        # With a lock file without URLs, npm asks for the short form of each document.
        bare = re.sub(rb'\n *"resolved": [^\n]*', b"", lock)
        self.assertNotEqual(lock, bare)
        self.assertEqual(online, self.npm(self.project("bare-online", bare), "ci"))
        self.lose_origins()
        self.assertEqual(online, self.npm(self.project("bare", bare), "ci"))
        self.assertEqual(online, self.npm(self.project("offline"), "install"))
        self.assertEqual(online, self.npm(self.project("locked", lock), "ci"))
        # A client that has the documents asks whether they have changed.
        shutil.rmtree(first / "node_modules")
        (first / "package-lock.json").unlink()
        self.assertEqual(online, self.npm(first, "install", "--prefer-online"))
        self.gateway.stop()
        self.gateway.start()
        self.assertEqual(online, self.npm(self.project("restarted"), "install"))
        return self.served()

    def test_installs_when_every_origin_is_gone(self):
        before, since = self.check("12-npm-registry.yaml")
        for lines in (before, since):
            got = {line["url.path"] for line in lines if line["http.request.method"] == "GET"}
            self.assertEqual({"/@holdfast%2fsample", "/holdfast-base"}, {path for path in got if not path.endswith(".tgz")})
            self.assertEqual(2, len([path for path in got if path.endswith(".tgz")]), got)
            self.assertLessEqual({line["http.response.status_code"] for line in lines if line["http.request.method"] == "GET"}, {200, 304})
        self.assertIn(304, {line["http.response.status_code"] for line in since})
        self.assertEqual({"/@holdfast%2fsample", "/holdfast-base"}, stale(since))
        # The audit is a POST, and needs the registry. npm continues without it.
        self.assertEqual({504}, {line["http.response.status_code"] for line in since if line["http.request.method"] == "POST"})


if __name__ == "__main__":
    unittest.main()
