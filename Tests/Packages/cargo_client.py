"""cargo, with a sparse index that names another host for archives."""

import os
import pathlib
import unittest

from parts import PackageTest, content_of, stale

MANIFEST = '[package]\nname = "project"\nversion = "1.0.0"\nedition = "2021"\n\n[dependencies]\nholdfast-sample = { version = "1.4" }\n'


class Cargo(PackageTest):
    tool = "cargo"

    def cargo(self, phase, *arguments):
        """In a new project, with a new `CARGO_HOME`; the sources that it unpacked."""
        folder = self.folder / phase
        (folder / "src").mkdir(parents=True)
        (folder / "src/main.rs").write_text('fn main() { println!("{}", holdfast_sample::VERSION); }\n')
        (folder / "Cargo.toml").write_text(MANIFEST)
        (folder / ".cargo").mkdir()
        (folder / ".cargo/config.toml").write_text(
            f'[source.crates-io]\nreplace-with = "mirror"\n\n[source.mirror]\nregistry = "sparse+{self.gateway.url}/"\n\n[net]\nretry = 0\n'
        )
        home = folder / "home"
        rustup = os.environ.get("RUSTUP_HOME", str(pathlib.Path.home() / ".rustup"))
        self.said = self.succeed(["cargo", *arguments], self.environment(home, CARGO_HOME=str(home / "cargo"), RUSTUP_HOME=rustup), folder)
        (sources,) = (home / "cargo/registry/src").iterdir()
        return content_of(sources)

    def test_fetches_and_builds_when_every_origin_is_gone(self):
        self.replica("crates")
        self.serve("13-crates.yaml")
        online = self.cargo("online", "fetch")
        self.assertIn("holdfast-sample-1.4.2/data.txt", online)
        self.assertIn("holdfast-base-1.2.0/data.txt", online)
        self.lose_origins()
        self.assertEqual(online, self.cargo("offline", "run", "--quiet"))
        self.assertEqual("1.4.2", self.said.strip())
        self.gateway.stop()
        self.gateway.start()
        self.assertEqual(online, self.cargo("restarted", "fetch"))
        before, since = self.served()
        index = {"/config.json", "/ho/ld/holdfast-base", "/ho/ld/holdfast-sample"}
        self.assertEqual(index, stale(since))
        for lines in (before, since):
            self.assertEqual(index, {line["url.path"] for line in lines if not line["url.path"].endswith("/download")})
            self.assertEqual({200}, {line["http.response.status_code"] for line in lines})


if __name__ == "__main__":
    unittest.main()
