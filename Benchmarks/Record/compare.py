#!/usr/bin/env python3
"""Records and replays one list of 5,000 requests with holdfast and with mitmproxy: compare.py --bin FOLDER --mitmproxy FILE [--share N] [--only REGEX]."""

import argparse
import base64
import contextlib
import http.client
import json
import os
import pathlib
import re
import resource
import signal
import ssl
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "Tests" / name) for name in ("Record", "Jobs", "Packages")]

import network  # noqa: E402
import traffic  # noqa: E402
from parts import Authority  # noqa: E402
from replicas import site  # noqa: E402

PATIENCE = 300
PORT = 18080
CLIENTS = 16


class Proxy:
    """A program that records or replays, and where its clients find it."""

    def __init__(self, words, environment, folder):
        self.log = open(folder / "proxy.log", "w+")  # noqa: SIM115
        self.process = subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        self.user, self.address, self.port, self.bundle = None, "127.0.0.1", PORT, None

    def said(self):
        self.log.seek(0)
        return self.log.read()

    def wait(self, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            if self.process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"The proxy did not start: {self.said()[-2000:]}")
            time.sleep(0.1)

    def end(self):
        """Ends it; its processor time and its largest memory, in seconds and bytes."""
        # The kernel's figure at the end includes the memory of the process that started it.
        memory = int(re.search(r"VmHWM:\s*(\d+) kB", pathlib.Path(f"/proc/{self.process.pid}/status").read_text())[1]) << 10
        self.process.send_signal(signal.SIGINT)
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return usage.ru_utime + usage.ru_stime, memory


class Holdfast:
    """`record` and `replay` for a shell, without settings, or with those for streams."""

    def __init__(self, program, folder, authority, settings=None):
        self.program, self.folder, self.authority = program, folder, authority
        self.place = ["--store", str(folder / "store")]
        if settings:
            (folder / "holdfast.yaml").write_text(settings)
            self.place += ["--config", str(folder / "holdfast.yaml")]

    def start(self, replays):
        words = ["replay", "list", "--as-recorded"] if replays else ["record", "list", "--post", "--origin-ca", str(self.authority.file), "--allow-private"]
        (self.folder / "tmp").mkdir(exist_ok=True)
        environment = os.environ | {"TMPDIR": str(self.folder / "tmp"), "HOME": str(self.folder)}
        proxy = Proxy([self.program, *words, *self.place, "--print-env"], environment, self.folder)
        proxy.wait(lambda: "serves a shell" in proxy.said() and "export npm_config_proxy" in proxy.said())
        variables = dict(re.findall(r"export (\w+)='(.*)'", proxy.said()))
        proxy.user, proxy.address, port = re.match(r"http://(.*)@(.*):(\d+)$", variables["https_proxy"]).groups()
        proxy.port, proxy.bundle = int(port), variables["SSL_CERT_FILE"]
        return proxy

    def size(self):
        return sum(file.stat().st_size for file in (self.folder / "store").rglob("*") if file.is_file())


class Mitmproxy:
    """`mitmdump` with its defaults, or with what its manual offers for such a list."""

    def __init__(self, program, folder, authority, *options):
        self.program, self.folder, self.authority, self.options = program, folder, authority, options

    def start(self, replays):
        flows = str(self.folder / "flows")
        words = ["--server-replay", flows, "--set", "server_replay_extra=kill", *self.options] if replays else ["--save-stream-file", flows]
        words += ["--set", f"confdir={self.folder}", "--set", f"ssl_verify_upstream_trusted_ca={self.authority.file}"]
        proxy = Proxy([self.program, "--listen-host", "127.0.0.1", "-p", str(PORT), "-q", *words], os.environ, self.folder)
        bundle = self.folder / "mitmproxy-ca-cert.pem"
        proxy.wait(lambda: bundle.exists() and listens())
        proxy.bundle = str(bundle)
        return proxy

    def size(self):
        return (self.folder / "flows").stat().st_size


def listens():
    with contextlib.suppress(OSError):
        http.client.HTTPConnection("127.0.0.1", PORT, timeout=PATIENCE).connect()
        return True
    return False


class Client(threading.Thread):
    """Sends groups of requests, each on its own connection, and notes what is wrong."""

    def __init__(self, proxy, groups, wrong, lock):
        super().__init__()
        self.proxy, self.groups, self.wrong, self.lock = proxy, groups, wrong, lock
        self.context = ssl.create_default_context(cafile=proxy.bundle)
        self.connection = None

    def run(self):
        while True:
            with self.lock:
                if not self.groups:
                    return
                group = self.groups.pop()
            if len(group) == 1:
                self.check(group[0])
                continue
            others = [Client(self.proxy, [[request]], self.wrong, self.lock) for request in group]
            for other in others:
                other.start()
            for other in others:
                other.join()

    def check(self, request):
        kind, method, path, fields, content = request
        try:
            try:
                found = self.ask(method, path, content, fields)
            except http.client.RemoteDisconnected:
                # A connection that was idle may be closed at any time.
                self.connection = None
                found = self.ask(method, path, content, fields)
        except (OSError, http.client.HTTPException) as error:
            found = type(error).__name__, b""
            self.connection = None
        if found != traffic.expected(request):
            with self.lock:
                status = "another response" if found[0] in (200, 206) else f"refused ({found[0]})"
                self.wrong.setdefault(kind, {}).setdefault(status, 0)
                self.wrong[kind][status] += 1

    def ask(self, method, path, content, fields):
        if self.connection is None:
            self.connection = self.connect()
        self.connection.request(method, path, content, fields)
        response = self.connection.getresponse()
        return response.status, response.read()

    def connect(self):
        connection = http.client.HTTPSConnection(self.proxy.address, self.proxy.port, timeout=PATIENCE, context=self.context)
        user = {"Proxy-Authorization": "Basic " + base64.b64encode(self.proxy.user.encode()).decode()} if self.proxy.user else {}
        connection.set_tunnel(site.SITE, 443, user)
        return connection


def send(proxy, groups):
    """The time for all requests, in seconds, and what was wrong, by kind."""
    wrong, lock, left = {}, threading.Lock(), list(groups)
    clients = [Client(proxy, left, wrong, lock) for _ in range(CLIENTS)]
    start = time.monotonic()
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return time.monotonic() - start, wrong


def measure(subject, groups, origin):
    """The figures of one program: recorded with the origin, then replayed in another order without it."""
    result = {}
    for phase, seed in (("record", 1), ("replay", 2)):
        before = origin.asked
        proxy = subject.start(phase == "replay")
        try:
            seconds, wrong = send(proxy, traffic.shuffled(groups, seed))
        finally:
            processor, memory = proxy.end()
        result[phase] = {"seconds": seconds, "processor": processor, "memory": memory, "wrong": wrong, "asked": origin.asked - before}
    return result | {"size": subject.size()}


def table(results):
    """Markdown."""
    lines = ["| | " + " | ".join(results) + " |", "|---|" + "--:|" * len(results)]

    def row(name, of):
        lines.append(f"| {name} | " + " | ".join(of(result) for result in results.values()) + " |")

    for phase in ("record", "replay"):
        row(f"{phase}, s", lambda result: f"{result[phase]['seconds']:.1f}")
        row(f"{phase}, processor time, s", lambda result: f"{result[phase]['processor']:.1f}")
        row(f"{phase}, largest memory, MiB", lambda result: f"{result[phase]['memory'] / 2**20:.0f}")
        row(f"{phase}, requests to the origin", lambda result: f"{result[phase]['asked']:,}")
    row("on disk, MiB", lambda result: f"{result['size'] / 2**20:.1f}")
    for kind, count in traffic.KINDS.items():
        row(f"wrong of {count:,} {kind}", lambda result: ", ".join(f"{number} {what}" for what, number in result["replay"]["wrong"].get(kind, {}).items()) or "0")
    return "\n".join(lines)


STREAMS = f"""version: 1
rules:
  - name: streams
    match: {{url: "https://{site.SITE}/stream/**"}}
    store: {{events: {{ends-with: "[DONE]"}}}}
    freshness: {{lifetime: 1 d}}
    ignore: {{directives: [no-cache]}}
"""
# A list is an option for each value.
REUSED = ["server_replay_reuse=true", "server_replay_use_headers=range", "server_replay_use_headers=accept-language"]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="folder of holdfast")
    parser.add_argument("--mitmproxy", required=True, help="the program mitmdump")
    parser.add_argument("--share", type=int, default=1, help="sends every Nth group only")
    parser.add_argument("--only", default="", help="only programs whose name matches")
    options = parser.parse_args()
    network.enter()
    # Each client has connections and threads of its own.
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    holdfast = str(pathlib.Path(options.bin, "holdfast").resolve())
    subjects = {
        "Holdfast": lambda folder, authority: Holdfast(holdfast, folder, authority),
        "Holdfast, rule for streams": lambda folder, authority: Holdfast(holdfast, folder, authority, STREAMS),
        "mitmproxy": lambda folder, authority: Mitmproxy(options.mitmproxy, folder, authority),
        "mitmproxy, reuse and fields": lambda folder, authority: Mitmproxy(options.mitmproxy, folder, authority, *(word for option in REUSED for word in ("--set", option))),
    }
    groups, results = traffic.shuffled(traffic.requests(), 0)[:: options.share], {}
    with tempfile.TemporaryDirectory(prefix="holdfast-compare.") as place:
        place = pathlib.Path(place)
        authority = Authority(place)
        authority.certify([site.SITE], place)
        origin = traffic.Origin(place)
        threading.Thread(target=origin.serve_forever, daemon=True).start()
        for name, make in subjects.items():
            if not re.search(options.only, name):
                continue
            folder = place / str(len(results))
            folder.mkdir()
            results[name] = measure(make(folder, authority), groups, origin)
            print(json.dumps({name: results[name]}), file=sys.stderr, flush=True)
    print(table(results))


if __name__ == "__main__":
    main()
