"""An old and a new program side by side: the cost of hits and misses, and its limits."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time
from dataclasses import dataclass, replace

import servers
from cases import Cases
from load import Failure
from results import ratio

PROCESSOR_LIMIT, INSTRUCTION_LIMIT = 1.05, 1.03
# Of the old program's CPU without a log, and of the CPU without a log.
METRICS_LIMIT, NOTABLE_LIMIT, ALL_LIMIT = 1.03, 1.01, 1.15
# Of the instructions of a hit without guards.
GUARDS_LIMIT = 1.02
# Of the instructions of a miss without a recording, and of a hit at the gateway's own listener.
RECORDED_LIMIT, BESIDE_LIMIT = 1.05, 1.01


class Programs(Cases):
    """The cases of Cases that compare, with the old program in place of the peers."""

    NAMES = ["instructions", "guards", "recording", "hit_1k", "miss", "log"]

    def pair(self, origin):
        """Starts both programs, each with a store of its own."""
        pair = []
        for name, binary in zip(("old", "new"), self.options.binary):
            server = servers.holdfast(servers.made(self.folder, name), binary, origin.port)
            server.name = name
            pair.append(self.start(server))
        return pair

    def compare(self, section, reports):
        value = ratio(reports["new"], reports["old"], "processor")
        self.results.limit(f"{section}: CPU compared with the old program", value, ("at most", PROCESSOR_LIMIT), digits=3)

    def hit_1k(self):
        section, target = "Hit, 1 KiB, from memory", "/1k/a"
        origin = self.start(servers.origin(self.folder))
        pair = self.pair(origin)
        for server in pair:
            self.check_hit(server, target, 1024)
        self.compare(section, self.in_turn(section, pair, lambda seconds: self.load_options(seconds, target=target), origin, 1024, hits=True))

    def miss(self):
        origin = self.start(servers.origin(self.folder))
        pair = self.pair(origin)
        for section, prefix in [("Miss passing through, 1 KiB", "/pass/"), ("Miss that is stored, 1 KiB", "/1k/")]:
            self.compare(section, self.misses(section, prefix, origin, pair))

    def log(self):
        """Hits with the access log off, with notable requests and with all, compared with the old program.

        With the log off the difference to a program without metrics is that of the metrics.
        """
        section, target = "Hit, 1 KiB, and the access log", "/1k/a"
        origin = self.start(servers.origin(self.folder))
        every = []
        for name, level in [("old", None), ("off", "off"), ("notable", "notable"), ("all", "all")]:
            folder = servers.made(self.folder, name)
            log = f"log: {{access: {level}, to: '{folder}/access.log'}}" if level else ""
            server = servers.holdfast(folder, self.options.binary[level is not None], origin.port, extra=log)
            server.name = name
            every.append(self.start(server))
            self.check_hit(server, target, 1024)
        reports = self.in_turn(section, every, lambda seconds: self.load_options(seconds, target=target), origin, 1024, hits=True)
        for name, base, limit in [("off", "old", METRICS_LIMIT), ("notable", "off", NOTABLE_LIMIT), ("all", "off", ALL_LIMIT)]:
            value = ratio(reports[name], reports[base], "processor")
            self.results.limit(f"{section}: CPU of '{name}' compared with '{base}'", value, ("at most", limit), digits=3)
        # A log that loses lines costs less than it should. It is whole when the program has ended.
        every[-1].process.send_signal(signal.SIGTERM)
        every[-1].process.wait(every[-1].patience)
        with open(os.path.join(self.folder, "all", "access.log"), "rb") as file:
            lines = sum(1 for _ in file)
        if lines < (wanted := sum(report["requests"] for report in reports["all"])):
            raise Failure(f"The log of all requests has {lines:,} lines for at least {wanted:,} requests.")

    # MARK: Instructions

    def instructions(self):
        """Instructions of a request of each kind, which other load on the machine does not change."""
        origin = self.start(servers.origin(self.folder))
        for kind in KINDS:
            old, new = (self.instructions_of(kind, name, binary, origin) for name, binary in zip(("old", "new"), self.options.binary))
            name = f"{kind.name}: instructions"
            self.results.limit(f"{name}, old", old)
            self.results.limit(f"{name}, new", new)
            self.results.limit(f"{name}, of the old program's", new / old, ("at most", INSTRUCTION_LIMIT), digits=3)

    def guards(self):
        """What an address list and a rate add to a hit of the new program."""
        origin = self.start(servers.origin(self.folder))
        guarded = replace(HIT, extra=ALLOW, limits=RATE)
        off, on = (self.instructions_of(kind, name, self.options.binary[1], origin) for kind, name in [(HIT, "unguarded"), (guarded, "guarded")])
        name = f"{HIT.name}, with an address list and a rate: instructions"
        self.results.limit(f"{name}, of those without", on / off, ("at most", GUARDS_LIMIT), digits=3)

    def recording(self):
        """What a recording adds to a miss that it records, and to a hit of the gateway that runs beside it, of the new program."""
        origin = self.start(servers.origin(self.folder))
        for kind, at, limit in [(STORED, "recorded", RECORDED_LIMIT), (HIT, "beside", BESIDE_LIMIT), (HIT, "recorded", None)]:
            off, on = (self.instructions_of(each, f"{each.label}-{at}-{each.recording}", self.options.binary[1], origin)
                       for each in (kind, replace(kind, recording=at)))  # fmt: skip
            words = "recorded" if at == "recorded" else "with a recording beside it"
            limits = [("at most", limit)] if limit else []
            self.results.limit(f"{kind.name}, {words}: instructions, of those without a recording", on / off, *limits, digits=3)

    def instructions_of(self, kind, name, binary, origin):
        """The difference between a long run and a short one, for each request.

        Both begin and end in the same way, so the difference is that of the requests.
        """
        few, many = (1000, 3000) if self.options.quick else (2000, 12_000)
        folder = os.path.join(self.folder, kind.label)
        counted = [self.counted(kind, os.path.join(folder, f"{name}-{count}"), binary, origin, count) for count in (few, many)]
        return (counted[1] - counted[0]) / (many - few)

    def counted(self, kind, folder, binary, origin, count):
        """The instructions of a whole run with that number of requests, counted by callgrind."""
        os.makedirs(folder)
        # valgrind reads all debug information before it begins, which takes minutes.
        stripped = os.path.join(folder, "stripped")
        subprocess.run(["objcopy", "--strip-debug", binary, stripped], check=True)
        server = servers.holdfast(folder, stripped, origin.port, memory=kind.memory, extra=kind.extra, limits=kind.limits)
        server.command = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", *server.command]
        # Hashes differ from process to process otherwise, and their collisions with them.
        server.environment = {"SWIFT_DETERMINISTIC_HASHING": "1", "LD_PRELOAD": self.main_queue()}
        server.patience = 300
        self.start(server)
        recorded = begin_recording(server) if kind.recording else None
        kind.ask(recorded if kind.recording == "recorded" else server.port, kind, count)
        server.process.send_signal(signal.SIGTERM)
        server.process.wait(server.patience)
        os.remove(stripped)
        with open(server.log, errors="replace") as log:
            text = log.read()
        found = re.search(r"Collected : (\d+)", text)
        if not found:
            raise Failure(f"callgrind counted nothing:\n{text[-2000:]}")
        return int(found[1])

    def main_queue(self):
        """A library with another dispatch_main: see dispatch_main.c."""
        library = os.path.join(self.folder, "dispatch_main.so")
        if not os.path.exists(library):
            source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "dispatch_main.c")
            # Its other functions are found in the program's libdispatch.
            subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, source], check=True)
        return library


def ask_one_by_one(port, kind, count):
    """Sends requests on one connection, each when the response to the one before has come.

    The first round stores the responses of a kind that has hits.
    """
    with socket.create_connection(("127.0.0.1", port), timeout=300) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        received = connection.makefile("rb")
        for number in range(count + kind.targets if kind.hits else count):
            target = f"{kind.prefix}{number % kind.targets if kind.hits else number}"
            connection.sendall(f"GET {target} HTTP/1.1\r\nHost: count.test\r\n\r\n".encode())
            head = b""
            while line := received.readline().rstrip(b"\r\n"):
                head += line + b"\n"
            length = int(re.search(rb"(?i)^content-length: (\d+)$", head, re.MULTILINE)[1])
            if len(received.read(length)) != length or not head.startswith(b"HTTP/1.1 200"):
                raise Failure(f"Request {number} got {head[:60]!r}.")
            expected = kind.hits and number >= kind.targets
            if (b"cache-status: holdfast; hit" in head.lower()) != expected:
                raise Failure(f"Request {number} is {'no' if expected else 'a'} hit: {head!r}")


def begin_recording(server):
    """Begins a recording, which ends with the program. Returns the port of its address."""
    control = os.path.join(server.store, "control.sock")
    # The program listens to clients first.
    end = time.monotonic() + server.patience
    while not os.path.exists(control):
        if server.process.poll() is not None or time.monotonic() > end:
            raise Failure(f"There is no control socket at '{control}'.")
        time.sleep(0.1)
    connection = http.client.HTTPConnection("localhost", timeout=300)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(300)
    connection.sock.connect(control)
    connection.request("POST", "/v1/recordings", json.dumps({"name": "measured"}), {"Content-Type": "application/json"})
    response = connection.getresponse()
    text = response.read()
    connection.close()
    if response.status != 200:
        raise Failure(f"The recording did not begin: {text!r}")
    return int(json.loads(text)["url"].rpartition(":")[2])


def ask_over_http2(port, kind, count):
    """Sends requests on one HTTP/2 connection, one stream at a time."""
    # The first response is stored, so that each of h2load's requests is a hit.
    ask_one_by_one(port, kind, 0)
    command = ["h2load", "-t", "1", "-c", "1", "-m", "1", "-n", str(count), f"http://127.0.0.1:{port}{kind.prefix}0"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if f"{count} succeeded" not in done.stdout or f"{count} 2xx" not in done.stdout:
        raise Failure(f"h2load met errors:\n{done.stdout}")


@dataclass(frozen=True)
class Kind:
    """A kind of request whose instructions are counted."""

    name: str
    label: str
    prefix: str
    hits: bool = True
    # The number of different targets that are asked for in turn, if they are hits.
    targets: int = 1
    memory: str = "256 MiB"
    extra: str = ""
    limits: str = ""
    # "recorded" if the requests are recorded, "beside" if another address records.
    recording: str = ""
    ask: callable = ask_one_by_one


HIT = Kind("Hit, 1 KiB, from memory", "hit", "/1k/")
STORED = Kind("Miss that is stored, 1 KiB", "stored", "/1k/", hits=False)
KINDS = [
    HIT,
    Kind("Hit, 1 KiB, from memory, HTTP/2", "h2", "/1k/", ask=ask_over_http2),
    # 4 MiB in turn, so that the memory tier never has the next one.
    Kind("Hit, 8 KiB, from disk", "disk", "/8k/", targets=500, memory="1 MiB"),
    Kind("Miss passing through, 1 KiB", "pass", "/pass/", hits=False),
    STORED,
]
# A rate that no run reaches.
ALLOW, RATE = "clients: {allow: [127.0.0.0/8]}", ", requests: {rate: 1000000/s, burst: 1000000, by: address}"
