"""Registries that ask for a token: one of each user, and one of the gateway."""

import base64
import json
import os
import pathlib
import shutil
import subprocess
import sys
import unittest

from parts import PackageTest, content_of
from replicas import crates, npm, oci, pypi

PROVIDER = '[registry]\nglobal-credential-providers = ["cargo:token"]\n\n'
PER_USER, CRATES, OF_GATEWAY = "18-token-per-user.yaml", "19-crates-with-tokens.yaml", "20-token-of-the-gateway.yaml"


class Tokens(PackageTest):
    """How a client with a token, with another one and without one installs; online, and when every origin is gone."""

    def begin(self, recipe, replica, hosts, value):
        """A gateway with a file of the cookbook whose hosts are those of the replica."""
        self.replica(replica, "private")

        def change(text):
            for name, other in hosts.items():
                text = text.replace(f"//{name}/", f"//{other}/").replace(f"//{name}\n", f"//{other}\n").replace(f'//{name}"', f'//{other}"')
            return text

        self.serve(recipe, change, environment={"REGISTRY_AUTHORIZATION": value, "REGISTRY_TOKEN": value})

    def per_user(self, install, token, other):
        """Each user gets what that user's token has brought."""
        online = install("online", token)
        self.assertTrue(online, self.said)
        self.assertIsNone(install("other-online", other))
        self.assertIsNone(install("none-online", None))
        self.lose_origins()
        self.assertEqual(online, install("offline", token), self.said)
        self.assertIsNone(install("other-offline", other))
        self.assertIsNone(install("none-offline", None))

    def of_gateway(self, install, token=None):
        """Clients have no token."""
        online = install("online", token)
        self.assertTrue(online, self.said)
        self.lose_origins()
        self.assertEqual(online, install("offline", token), self.said)
        self.gateway.stop()
        self.gateway.start()
        self.assertEqual(online, install("restarted", token), self.said)


class NpmTokens(Tokens):
    tool = "npm"

    def install(self, phase, token):
        folder = self.folder / phase
        folder.mkdir()
        host = self.gateway.url.partition(":")[2]
        (folder / ".npmrc").write_text(f"registry={self.gateway.url}/\n" + (f"{host}/:_authToken={token}\n" if token else ""))
        (folder / "package.json").write_text(json.dumps({"name": "project", "version": "1.0.0", "dependencies": {"@holdfast/sample": "^1.4.0"}}))
        command = ["npm", "install", "--cache", str(folder / "cache"), "--no-audit", "--no-fund", "--no-update-notifier", "--fetch-retries=0"]
        status, self.said = self.attempt(command, self.environment(folder / "home"), folder)
        return content_of(folder / "node_modules", ignored={".package-lock.json"}) if status == 0 else None

    def test_a_user_gets_what_the_own_token_has_brought(self):
        self.begin(PER_USER, "npm", {}, "")
        self.per_user(self.install, npm.TOKEN, "npm_another0123456789abcdefghijklmnop")

    def test_clients_without_a_token_get_what_the_token_of_the_gateway_has_brought(self):
        self.begin(OF_GATEWAY, "npm", {}, f"Bearer {npm.TOKEN}")
        self.of_gateway(self.install)


class PipTokens(Tokens):
    HOSTS = {"registry.example": pypi.INDEX, "archives.example": pypi.FILES}

    def install(self, phase, user):
        target = self.folder / phase
        url = self.gateway.url.replace("://", f"://{user.replace(' ', '%20')}@") if user else self.gateway.url
        command = [
            sys.executable, "-m", "pip", "--isolated", "--disable-pip-version-check", "--no-input", "install", "--no-cache-dir", "--retries", "0",
            "--no-compile", "--index-url", f"{url}/simple/", "--target", str(target), "holdfast-sample==1.4.2",
        ]  # fmt: skip
        status, self.said = self.attempt(command, self.environment(self.folder / "home"), self.folder)
        return content_of(target) if status == 0 else None

    def test_a_user_gets_what_the_own_password_has_brought(self):
        self.begin(PER_USER, "pypi", self.HOSTS, "")
        self.per_user(self.install, pypi.USER, "reader:another secret")

    def test_clients_without_a_password_get_what_that_of_the_gateway_has_brought(self):
        self.begin(OF_GATEWAY, "pypi", self.HOSTS, "Basic " + base64.b64encode(pypi.USER.encode()).decode())
        self.of_gateway(self.install)


class CargoTokens(Tokens):
    tool = "cargo"
    HOSTS = {"registry.example": crates.INDEX, "archives.example": crates.ARCHIVES}

    def install(self, phase, token):
        folder = self.folder / phase
        (folder / "src").mkdir(parents=True)
        (folder / "src/lib.rs").touch()
        (folder / "Cargo.toml").write_text(
            '[package]\nname = "project"\nversion = "1.0.0"\nedition = "2021"\n\n[dependencies]\nholdfast-sample = { version = "1.4", registry = "private" }\n'
        )
        (folder / ".cargo").mkdir()
        (folder / ".cargo/config.toml").write_text(f'[registries.private]\nindex = "sparse+{self.gateway.url}/"\n\n{PROVIDER}[net]\nretry = 0\n')
        home = folder / "home"
        more = {"CARGO_HOME": str(home / "cargo"), "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(pathlib.Path.home() / ".rustup"))}
        if token:
            more["CARGO_REGISTRIES_PRIVATE_TOKEN"] = token
        status, self.said = self.attempt(["cargo", "fetch"], self.environment(home, **more), folder)
        if status != 0:
            return None
        (sources,) = (home / "cargo/registry/src").iterdir()
        return content_of(sources)

    def test_a_user_gets_what_the_own_token_has_brought(self):
        self.begin(CRATES, "crates", self.HOSTS, crates.TOKEN)
        self.per_user(self.install, crates.TOKEN, "another-token-0123456789")

    def test_clients_without_a_token_get_what_the_token_of_the_gateway_has_brought(self):
        self.begin(OF_GATEWAY, "crates", self.HOSTS, crates.TOKEN)
        # cargo sends none without having one. The gateway replaces this by its own.
        self.of_gateway(self.install, "any-word")


if __name__ == "__main__":
    unittest.main()
