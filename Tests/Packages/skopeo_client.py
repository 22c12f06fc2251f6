"""skopeo, with docker-registry, whose blobs are on another host, without tokens and with them."""

import base64
import shutil
import unittest

from parts import PackageTest, content_of, stale
from replicas.oci import NAME, TAG, USER


class Skopeo(PackageTest):
    tool = "skopeo"

    def setUp(self):
        super().setUp()
        if not shutil.which("docker-registry"):
            self.skipTest("not run: docker-registry is missing")

    def command(self, phase, *options):
        host = self.gateway.url.partition("://")[2]
        return ["skopeo", "copy", "--insecure-policy", "--src-tls-verify=false", *options, f"docker://{host}/{NAME}:{TAG}", f"dir:{self.folder / phase}"]

    def copy(self, phase, *options):
        """Into a new folder; its content."""
        environment = self.environment(self.folder / "home", REGISTRY_AUTH_FILE=str(self.folder / "auth.json"))
        self.said = self.succeed(self.command(phase, *options), environment, self.folder)
        return content_of(self.folder / phase)

    def fail(self, phase, *options):
        environment = self.environment(self.folder / "home", REGISTRY_AUTH_FILE=str(self.folder / "auth.json"))
        status, self.said = self.attempt(self.command(phase, *options), environment, self.folder)
        self.assertNotEqual(0, status, self.said)

    def test_pulls_when_every_origin_is_gone(self):
        self.replica("oci")
        self.serve("16-container-images.yaml")
        online = self.copy("online")
        # The manifest, the configuration, two layers, and the word of the format.
        self.assertEqual(5, len(online))
        again = self.copy("again")
        self.assertEqual(online, again)
        self.lose_origins()
        self.assertEqual(online, self.copy("offline"))
        self.gateway.stop()
        self.gateway.start()
        self.assertEqual(online, self.copy("restarted"))
        _, since = self.served()
        self.assertLess({"/v2/", f"/v2/{NAME}/manifests/{TAG}"}, stale(since))
        fetched = [each["target"].partition("?")[0] for each in self.asked() if each["host"] == "blobs.example"]
        self.assertEqual(3, len(fetched), "each blob is fetched once, whatever its signature")

    def test_pulls_with_the_password_of_the_gateway_when_every_origin_is_gone(self):
        self.replica("oci", "basic")
        value = "Basic " + base64.b64encode(":".join(USER).encode()).decode()
        self.serve("17-private-images.yaml", environment={"REGISTRY_AUTHORIZATION": value})
        online = self.copy("online")
        self.lose_origins()
        self.assertEqual(online, self.copy("offline"))
        self.assertFalse([each for each in self.asked() if each["host"] == "blobs.example" and each["credentials"]], "the storage got the password")

    def test_pulls_with_tokens_while_the_registry_is_there_and_stores_blobs(self):
        self.replica("oci", "token")
        self.serve("16-container-images.yaml")
        self.assertEqual(self.copy("online"), self.copy("again"))
        hosts = [each["host"] for each in self.asked()]
        self.assertEqual(2, hosts.count("tokens.example"), "a token for each pull")
        self.assertEqual(3, hosts.count("blobs.example"), "each blob is fetched once")
        self.lose_origins()
        # The challenge, a 401, is not stored, and without it no client begins.
        self.fail("offline")
        self.assertIn("504", self.said)


if __name__ == "__main__":
    unittest.main()
