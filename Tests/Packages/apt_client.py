"""apt, with a signed repository: `InRelease`, and lists by their digest."""

import subprocess
import unittest

from parts import PATIENCE, PackageTest, content_of, stale


def machine(root, origin, repository, *settings):
    """A root folder of apt's alone, with `apt.conf`: the machine's own apt is not touched. It knows the packages of a replica by the repository's URL."""
    for folder in ("etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/sources.list.d", "var/lib/apt/lists/partial", "var/cache/apt/archives/partial", "var/lib/dpkg", "var/log/apt"):
        (root / folder).mkdir(parents=True)
    (root / "var/lib/dpkg/status").touch()
    (root / "etc/apt/sources.list").write_text(f"deb [signed-by={origin.folder / 'keyring.asc'}] {repository} stable main\n")
    lines = [f'Dir "{root}";', f'Dir::State::status "{root}/var/lib/dpkg/status";', 'Dir::Bin::dpkg "/usr/bin/dpkg";']
    lines += ['Acquire::Retries "0";', 'APT::Install-Recommends "false";', *settings]
    (root / "apt.conf").write_text("\n".join(lines) + "\n")
    return root


class Apt(PackageTest):
    tool = "apt-get"

    def machine(self, phase, repository=None, proxy="DIRECT"):
        root = self.folder / phase
        settings = 'APT::Sandbox::User "root";', f'Acquire::http::Proxy "{proxy}";'
        return machine(root, self.replicas[0], repository or self.gateway.url + "/debian", *settings)

    def apt(self, root, *arguments):
        return self.succeed(["apt-get", "--quiet", "--yes", *arguments], self.environment(root / "home", APT_CONFIG=str(root / "apt.conf")), root)

    def install(self, root):
        """Lists, then packages with what they need, unpacked into a folder."""
        self.said = self.apt(root, "-o", "APT::Update::Error-Mode=any", "update")
        self.apt(root, "install", "--download-only", "holdfast-sample")
        for package in sorted((root / "var/cache/apt/archives").glob("*.deb")):
            subprocess.run(["dpkg-deb", "--extract", str(package), str(root / "installed")], check=True, timeout=PATIENCE)
        return content_of(root / "var/cache/apt/archives", ignored={"lock"}) | content_of(root / "installed")

    def test_installs_when_every_origin_is_gone(self):
        origin = self.replica("debian")
        self.serve("14-debian-repository.yaml")
        first = self.machine("first")
        old = self.install(first)
        self.assertIn("holdfast-sample_1.4.2_all.deb", old)
        self.assertIn("holdfast-base_1.0.0_all.deb", old)
        self.assertIn("usr/share/holdfast-sample/data.txt", old)
        # A new state of the repository: no list of one state is used with those of the other.
        (origin.folder / "second").touch()
        online = self.install(self.machine("online"))
        self.assertIn("holdfast-sample_1.5.0_all.deb", online)
        self.lose_origins()
        self.assertEqual(online, self.install(self.machine("offline")))
        # A machine that has lists asks whether they have changed.
        self.assertEqual(sorted(online.keys() | old.keys()), sorted(self.install(first)))
        self.gateway.stop()
        self.gateway.start()
        self.assertEqual(online, self.install(self.machine("restarted")))
        before, since = self.served()
        # apt asks for lists with `max-age=0`, also for those that never change.
        self.assertEqual({"InRelease"}, {path.rpartition("/")[2] for path in stale(since) if "/by-hash/" not in path})
        for lines in (before, since):
            paths = {line["url.path"] for line in lines}
            self.assertIn("/debian/dists/stable/InRelease", paths)
            self.assertTrue([path for path in paths if "/by-hash/SHA256/" in path], paths)
            self.assertFalse([path for path in paths if "Packages" in path], "lists by name")
            self.assertLessEqual({line["http.response.status_code"] for line in lines}, {200, 304})

    def test_asks_its_proxy(self):
        """`http://` in sources.list, https to the origin. A path that names the origin has the same responses."""
        self.replica("debian")
        self.serve("30-apt-proxy.yaml")
        online = self.install(self.machine("online", "http://debian.example/debian", self.gateway.url))
        self.assertIn("holdfast-sample_1.4.2_all.deb", online)
        asked = len(self.asked())
        status, _, text = self.gateway.get("/proxy/https/other.example/debian/dists/stable/InRelease")
        self.assertEqual((403, True), (status, b"forward-proxy.hosts" in text))
        self.lose_origins()
        by_path = f"{self.gateway.url}/proxy/https/debian.example/debian"
        self.assertEqual(online, self.install(self.machine("path", by_path)))
        self.assertEqual(online, self.install(self.machine("offline", "http://debian.example/debian", self.gateway.url)))
        self.assertEqual(asked, len(self.asked()))
        before, since = self.served()
        self.assertEqual({"https://debian.example"}, {line["origin"] for line in before + since if "origin" in line})

    def test_is_told_what_to_do_without_tunnels(self):
        """apt asks a proxy for a tunnel if sources.list has https."""
        self.replica("debian")
        self.serve("30-apt-proxy.yaml")
        root = self.machine("tunnel", "https://debian.example/debian", self.gateway.url)
        with open(root / "apt.conf", "a") as file:
            file.write(f'Acquire::https::Proxy "{self.gateway.url}";\n')
        status, said = self.attempt(["apt-get", "--quiet", "-o", "APT::Update::Error-Mode=any", "update"], self.environment(root / "home", APT_CONFIG=str(root / "apt.conf")), root)
        self.assertNotEqual(0, status, said)
        self.assertIn("501", said)
        self.assertEqual([], self.asked())


if __name__ == "__main__":
    unittest.main()
