"""The parts of each test: a private CA, replicas that end, the built gateway with a file of the cookbook, and clients."""

import datetime
import hashlib
import importlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
COOKBOOK = ROOT / "Sources/HoldfastConfiguration/HoldfastConfiguration.docc/Cookbook.md"
SERVING = str(HERE / "serving.py")
PROGRAM = os.path.join(os.environ.get("HOLDFAST_BIN", ""), "holdfast")
# A guard against hanging, for machines under load; it passes unused if all is well.
PATIENCE = int(os.environ.get("PATIENCE", "300"))


def run(command, **options):
    """A command that has to succeed; its output."""
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL, timeout=PATIENCE, check=False, **options)
    if done.returncode != 0:
        raise AssertionError(f"{command[0]} ended with {done.returncode}:\n{done.stdout.decode(errors='replace')[-4000:]}")
    return done.stdout.decode(errors="replace")


class Authority:
    """A CA of this run alone, and certificates of it."""

    def __init__(self, folder):
        self.folder = folder
        self.file = folder / "ca.pem"
        made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
        run(["openssl", "req", "-x509", *made, "-keyout", str(folder / "ca.key"), "-out", str(self.file), "-subj", "/CN=CA of a test",
             "-addext", "basicConstraints=critical,CA:TRUE", "-addext", "keyUsage=critical,keyCertSign"])  # fmt: skip

    def certify(self, names, folder, name="host"):
        """Writes `NAME.pem` and `NAME.key`."""
        key, request, certificate, extensions = (folder / f"{name}.{kind}" for kind in ("key", "csr", "pem", "ext"))
        extensions.write_text("subjectAltName=" + ",".join(("IP:" if re.fullmatch(r"[\d.]+", each) else "DNS:") + each for each in names) + "\n")
        run(["openssl", "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", str(key), "-out", str(request),
             "-subj", f"/CN={names[0]}"])  # fmt: skip
        run(["openssl", "x509", "-req", "-in", str(request), "-CA", str(self.file), "-CAkey", str(self.folder / "ca.key"), "-CAcreateserial",
             "-days", "2", "-extfile", str(extensions), "-out", str(certificate)])  # fmt: skip


class Replica:
    """The hosts of a module in `replicas`, in a process."""

    program = SERVING

    def __init__(self, name, folder, authority, *options):
        self.name, self.folder, self.options = name, folder / name, options
        self.folder.mkdir()
        self.authority = authority
        self.module = importlib.import_module(f"replicas.{name}")
        self.module.build(self.folder)
        self.hosts, self.process = {}, None

    def start(self):
        if not (self.folder / "host.pem").exists():
            self.authority.certify(self.names(), self.folder)
        self.process = subprocess.Popen(
            [sys.executable, self.program, self.name, str(self.folder), *self.options],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=HERE,
        )  # fmt: skip
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"The replica '{self.name}' did not start; see above.")
        self.hosts = json.loads(line)

    def names(self):
        """The hosts that the module names."""
        return [value for name, value in vars(self.module).items() if name.isupper() and isinstance(value, str) and value.endswith(".example")]

    def stop(self):
        """Kills the process, like a power failure."""
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()
            self.process.stdin.close()
            self.process.stdout.close()

    def requests(self):
        file = self.folder / "requests.jsonl"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def recipe(file):
    """A file of the cookbook, out of the page that explains it."""
    found = re.search(rf"^`{re.escape(file)}`:\n\n```yaml\n(.*?)^```$", COOKBOOK.read_text(), re.M | re.S)
    if not found:
        raise AssertionError(f"The cookbook has no '{file}'.")
    return found[1]


class Gateway:
    """`holdfast serve` with a file of the cookbook, which gets the addresses of the replicas, and nothing else that matters to it."""

    def __init__(self, folder, text, replicas, authority, more="", scheme="http", environment=None):
        self.environment = os.environ | (environment or {})
        self.folder, self.log, self.access = folder, folder / "gateway.log", folder / "access.jsonl"
        origins = "".join(
            f'  "https://{name}": {{ca: {authority.file}, addresses: ["127.0.0.1:{port}"]}}\n' for replica in replicas for name, port in replica.hosts.items()
            if f"//{name}" in text
        )
        self.file = folder / "holdfast.yaml"
        self.file.write_text(f"{text}\n# Of the test.\nlog: {{access: all, format: json, query: full, to: {self.access}}}\norigins:\n{origins}{more}")
        self.scheme = scheme
        self.start()

    def start(self):
        """On a free port, another one each time."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", "--config", str(self.file), "--store", str(self.folder / "store"), "--no-control", "--threads", "2",
                 *([] if self.scheme == "https" else ["--listen", "127.0.0.1:0"])],
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, text=True, env=self.environment,
            )  # fmt: skip
        line = self.process.stdout.readline()
        found = re.match(r"holdfast listening on (https?://\S+:\d+)$", line)
        if not found:
            self.stop()
            raise AssertionError(f"The gateway did not start: {line}{self.log.read_text()[-3000:]}")
        self.url = found[1]

    def stop(self):
        """Ends it as an operator does."""
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
                raise AssertionError("The gateway did not end within its time.") from None
        self.process.stdout.close()

    def get(self, path, **fields):
        """Status, fields and content."""
        request = urllib.request.Request(self.url + path, headers={name.replace("_", "-"): value for name, value in fields.items()})
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=PATIENCE) as response:
                return response.status, response.headers, response.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, error.read()

    def lines(self):
        """The access log. It is whole once the gateway has ended."""
        return [json.loads(line) for line in self.access.read_text().splitlines()] if self.access.exists() else []


def content_of(folder, ignored=()):
    """The digest of each file below the folder, without files that tell of the installation and not of the package."""
    ignored = {"__pycache__", *ignored}
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(pathlib.Path(folder).rglob("*"))
        if path.is_file() and not ignored & set(path.relative_to(folder).parts)
    }


def stale(lines):
    """The paths that were served stale, because their origin was unreachable."""
    return {line["url.path"] for line in lines if "detail=unreachable" in line.get("cache.status", "") and line["http.response.status_code"] in (200, 304, 307)}


def seconds(line):
    return datetime.datetime.fromisoformat(line["time"].replace("Z", "+00:00")).timestamp()


class PackageTest(unittest.TestCase):
    """A test with a folder, a CA, replicas and a gateway, all of which end with it."""

    tool = None

    def setUp(self):
        if self.tool and not shutil.which(self.tool):
            self.skipTest(f"not run: {self.tool} is missing")
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-packages."))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.authority = Authority(self.folder)
        self.replicas, self.outage = [], None

    def replica(self, name, *options):
        replica = Replica(name, self.folder, self.authority, *options)
        self.replicas.append(replica)
        self.addCleanup(replica.stop)
        return replica

    def serve(self, file, change=lambda text: text, **options):
        """Starts the replicas and the gateway."""
        for replica in self.replicas:
            replica.start()
        self.gateway = Gateway(self.folder, change(recipe(file)), self.replicas, self.authority, **options)
        self.addCleanup(self.gateway.stop)
        return self.gateway

    def lose_origins(self):
        """Every origin ends. Online, no client went round the gateway, and each request came through it."""
        for replica in self.replicas:
            replica.stop()
        self.assertTrue(self.asked(), "no origin got a request")
        self.assertEqual([], [each for each in self.asked() if "holdfast" not in (each["via"] or "")], "requests that went round the gateway")
        self.outage = time.time()

    def asked(self):
        """The requests that the origins got."""
        return [each for replica in self.replicas for each in replica.requests()]

    def served(self):
        """Ends the gateway; the lines of its access log, before the outage and since."""
        self.gateway.stop()
        lines = self.gateway.lines()
        return [line for line in lines if seconds(line) < self.outage], [line for line in lines if seconds(line) >= self.outage]

    def environment(self, home, **more):
        """Without proxies and settings of this machine; the home is a new folder."""
        kept = {
            name: value for name, value in os.environ.items()
            if not re.match(r"(?i)(https?|all|no|ftp)_proxy$|pip_|npm_|cargo_|git_|apt_|uv_", name)
        }  # fmt: skip
        home.mkdir(parents=True, exist_ok=True)
        return kept | {"HOME": str(home), "LC_ALL": "C.UTF-8"} | more

    def attempt(self, command, environment, folder):
        """Runs a client; its status and output."""
        done = subprocess.run(
            command, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE, check=False
        )  # fmt: skip
        return done.returncode, done.stdout.decode(errors="replace")

    def succeed(self, command, environment, folder):
        status, said = self.attempt(command, environment, folder)
        self.assertEqual(0, status, f"{' '.join(command)}\n{said[-4000:]}\n{self.gateway.log.read_text()[-2000:]}")
        return said
