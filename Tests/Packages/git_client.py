"""git, by smart HTTP: what is the same as an earlier request works without the server, and nothing else."""

import unittest

from parts import PackageTest


class Git(PackageTest):
    tool = "git"

    def git(self, *arguments, protocol=2, fails=False):
        environment = self.environment(self.folder / "home", GIT_CONFIG_NOSYSTEM="1", GIT_TERMINAL_PROMPT="0")
        command = ["git", "-c", f"protocol.version={protocol}", *arguments]
        if fails:
            status, self.said = self.attempt(command, environment, self.folder)
            self.assertNotEqual(0, status, self.said)
            return self.said
        return self.succeed(command, environment, self.folder)

    def clone(self, name, **options):
        """A new clone; what it has: the references and the digest of each object."""
        self.git("clone", "--quiet", f"{self.gateway.url}/sample.git", name, **options)
        self.git("-C", name, "fsck", "--strict")
        return self.content(name)

    def content(self, name):
        return self.git("-C", name, "for-each-ref") + self.git("-C", name, "cat-file", "--batch-check", "--batch-all-objects")

    def check(self, protocol):
        origin = self.replica("git")
        self.serve("15-git.yaml")
        first = self.clone("first", protocol=protocol)
        self.clone("second", protocol=protocol)
        origin.module.push(origin.folder, 3)
        # Online, each request is the server's: the new commit is there at once.
        self.git("-C", "first", "fetch", "--quiet", protocol=protocol)
        self.assertNotEqual(first, self.content("first"))
        online = self.clone("online", protocol=protocol)
        self.lose_origins()
        self.assertEqual(online, self.clone("offline", protocol=protocol))
        # A clone in a state from which another one has fetched.
        self.git("-C", "second", "fetch", "--quiet", protocol=protocol)
        self.assertEqual(self.content("first"), self.content("second"))
        # Nothing is new to a clone that has all of it.
        self.git("-C", "online", "fetch", "--quiet", protocol=protocol)
        self.assertEqual(online, self.content("online"))
        self.gateway.stop()
        self.gateway.start()
        self.assertEqual(online, self.clone("restarted", protocol=protocol))
        # A request that no client has made yet: other commits, or another depth.
        self.git("clone", "--quiet", "--depth=1", f"{self.gateway.url}/sample.git", "shallow", protocol=protocol, fails=True)
        self.assertIn("504", self.said)
        return self.served()

    def test_clones_when_the_server_is_gone(self):
        before, since = self.check(2)
        for lines in (before, since):
            asked = {(line["http.request.method"], line["url.path"]) for line in lines}
            self.assertEqual({("GET", "/sample.git/info/refs"), ("POST", "/sample.git/git-upload-pack")}, asked)

    def test_clones_by_the_first_protocol_when_the_server_is_gone(self):
        self.check(0)

    def test_a_client_of_another_protocol_gets_nothing_rather_than_what_it_misreads(self):
        self.replica("git")
        self.serve("15-git.yaml")
        self.clone("online", protocol=2)
        self.lose_origins()
        # git takes what it cannot read for an empty repository.
        self.git("clone", f"{self.gateway.url}/sample.git", "offline", protocol=0, fails=True)
        self.assertIn("504", self.said)


if __name__ == "__main__":
    unittest.main()
