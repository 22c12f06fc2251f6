"""The cases: throughput compared with the peers, and limits under pressure."""

import asyncio
import http.client
import json
import os
import resource
import shutil
import signal
import socket
import time
import urllib.parse
from statistics import median

import load
import servers
from load import Failure
from processes import free_port
from results import ratio
from slow_origin import body_of

KIB, MIB = 1 << 10, 1 << 20


class Cases:
    """Each method is one case, in a folder and with processes of its own."""

    NAMES = ["hit_1k", "hit_100k", "hit_disk", "miss", "collapsing", "slow_origin", "loops", "idle", "flood", "purge", "restart", "offline"]

    def __init__(self, options, results):
        self.options, self.results = options, results
        self.running = []
        self.folder = None
        self.prefixes = 0
        resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)

    def run(self, name):
        self.folder = os.path.join(self.options.folder, name)
        os.makedirs(self.folder)
        try:
            getattr(self, name)()
        finally:
            for server in reversed(self.running):
                server.stop()
            self.running = []
            shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, server):
        self.running.append(server)
        return server.start()

    def peers(self, origin, names=servers.PEERS, **options):
        names = [name for name in names if name in self.options.peers]
        return [self.start(servers.MAKERS[name](self.folder, origin.port, **options)) for name in names]

    def ours(self, origin, **options):
        return self.start(servers.holdfast(self.folder, self.options.binary[0], origin.port, **options))

    # MARK: Throughput

    def in_turn(self, section, all_servers, options_of, origin, length, hits, tool=load.wrk):
        """Runs rounds in which each server takes its turn; returns the reports by server.

        Bodies must have that length. If all requests must be hits, the origin must get none.
        """
        reports = {server.name: [] for server in all_servers}
        # Warm up: sockets, threads and tiers.
        for server in all_servers:
            tool(server, **options_of(1))
        for number in range(self.options.rounds):
            # In turn first and last, so that no server profits from its place.
            for server in all_servers if number % 2 == 0 else reversed(all_servers):
                before = load.count_at(origin)
                report = tool(server, **options_of(self.options.seconds))
                reports[server.name].append(report)
                if report["bytes"] < 0.98 * length * report["requests"]:
                    raise Failure(f"'{server.name}' sent {report['bytes']:,.0f} bytes in {report['requests']} responses, less than {length} each.")
                seen = load.count_at(origin) - before
                if hits and seen > 0:
                    raise Failure(f"'{server.name}' had to serve from its cache, and sent the origin {seen} requests.")
        for server in all_servers:
            self.results.measured(section, server.name, reports[server.name])
        return reports

    def check_hit(self, server, target, length):
        """Checks that the response is the origin's for this target, and ours marked as a hit."""
        body = b""
        for _ in range(4):
            status, fields, body = load.get(server.port, target)
        if status != 200 or not body.startswith(f"{target} holdfast".encode()) or not length * 0.98 <= len(body) <= length * 1.02:
            raise Failure(f"'{server.name}' responds to {target} with {status} and {len(body)} bytes, {body[:40]!r}.")
        if server.name in ("holdfast", "old", "new", "off", "notable", "all") and not fields["Cache-Status"].startswith("holdfast; hit"):
            raise Failure(f"'{server.name}' sends 'Cache-Status: {fields['Cache-Status']}' for a request that must be a hit.")

    def hit(self, section, target, length, peer, limit):
        origin = self.start(servers.origin(self.folder))
        mine, *others = all_servers = [self.ours(origin), *self.peers(origin)]
        for server in all_servers:
            self.check_hit(server, target, length)
        reports = self.in_turn(section, all_servers, lambda seconds: self.load_options(seconds, target=target), origin, length, hits=True)
        for other in others:
            bound = ("at most", limit) if other.name == peer else None
            self.results.limit(f"{section}: CPU compared with {other.name}", ratio(reports[mine.name], reports[other.name], "processor"), bound)

    def load_options(self, seconds, **more):
        return {"seconds": seconds, "connections": self.options.connections, **more}

    def hit_1k(self):
        self.hit("Hit, 1 KiB, from memory", "/1k/a", 1024, "nginx", 1)

    def hit_100k(self):
        self.hit("Hit, 100 KiB, from memory", "/100k/a", 100 * 1024, "varnish", 1)

    def hit_disk(self):
        """Random reads of ten times what the memory tier holds: nine of ten come from disk."""
        section = "Hit, 8 KiB, from disk"
        origin = self.start(servers.origin(self.folder))
        count, prefix = (8192, "/8k/") if not self.options.quick else (1024, "/8k/")
        memory = count * 8192 // 10
        mine = self.ours(origin, memory=f"{memory} B")
        others = [server for server in self.peers(origin) if server.name in ("nginx", "trafficserver")]
        for server in [mine, *others]:
            # Responses are stored a moment later: repeat until the origin gets no more requests.
            for _ in range(10):
                before = load.count_at(origin)
                self.fill(server, prefix, count)
                if load.count_at(origin) == before:
                    break
            else:
                raise Failure(f"'{server.name}' does not hold {count} responses of 8 KiB.")
        seeds = iter(range(1, 10_000))
        reports = self.in_turn(
            section,
            [mine, *others],
            lambda seconds: self.load_options(seconds, script="spread.lua", arguments=(prefix, count, next(seeds))),
            origin,
            8192,
            hits=True,
        )
        for other in others:
            bound = ("at least", 0.5) if other.name == "nginx" else None
            self.results.limit(f"{section}: rate compared with {other.name}", ratio(reports[mine.name], reports[other.name], "rate"), bound)
            self.results.limit(f"{section}: CPU compared with {other.name}", ratio(reports[mine.name], reports[other.name], "processor"))

    def fill(self, server, prefix, count):
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        for number in range(count):
            status, _, body = load.get(server.port, f"{prefix}{number}", connection=connection)
            if status != 200 or not body.startswith(f"{prefix}{number} holdfast".encode()):
                raise Failure(f"'{server.name}' responds to {prefix}{number} with {status}, {body[:40]!r}.")
        connection.close()

    def miss(self):
        """Distinct targets: first with responses that must not be stored, then with storable ones."""
        origin = self.start(servers.origin(self.folder))
        mine = self.ours(origin)
        others = [server for server in self.peers(origin) if server.name != "trafficserver"]
        for section, prefix, names, limit in [
            ("Miss passing through, 1 KiB", "/pass/", servers.PEERS, 1.5),
            ("Miss that is stored, 1 KiB", "/1k/", ["nginx"], None),
        ]:
            beside = [other for other in others if other.name in names]
            reports = self.misses(section, prefix, origin, [mine, *beside])
            for other in beside:
                bound = ("at most", limit) if limit and other.name == "nginx" else None
                self.results.limit(f"{section}: CPU compared with {other.name}", ratio(reports[mine.name], reports[other.name], "processor"), bound)

    def misses(self, section, prefix, origin, all_servers):
        """Runs rounds of distinct targets, of which each must reach the origin."""
        def options_of(seconds):
            self.prefixes += 1
            return self.load_options(seconds, script="unique.lua", arguments=(f"{prefix}{self.prefixes}-", 0))

        before = load.count_at(origin)
        reports = self.in_turn(section, all_servers, options_of, origin, 1024, hits=False)
        received = sum(report["requests"] for some in reports.values() for report in some)
        if load.count_at(origin) - before < received:
            raise Failure("Some requests that must be misses did not reach the origin.")
        return reports

    # MARK: Pressure

    def collapsing(self):
        """A thousand concurrent clients for one key without a stored response."""
        slow = self.start(servers.slow_origin(self.folder))
        mine = self.ours(slow)
        clients, size = (1000, 100 * 1024) if not self.options.quick else (100, 1024)
        target = f"/cold?wait=500&size={size}&control=max-age%3D600"
        start = time.monotonic()
        responses = asyncio.run(crowd(mine.port, target, clients))
        took = time.monotonic() - start
        right = sum(1 for head, body in responses if head.startswith(b"HTTP/1.1 200 ") and body == body_of("/cold", size))
        _, _, count = load.get(slow.port, f"/requests?of={urllib.parse.quote(target, safe='')}")
        self.results.limit(f"{clients:,} clients for one cold key: requests at the origin", int(count), ("at most", 1))
        self.results.limit(f"{clients:,} clients for one cold key: right responses of {size // 1024} KiB", right, ("at least", clients))
        self.results.limit(f"{clients:,} clients for one cold key: until the last one has it, including the origin's 500 ms", took * 1000, unit="ms")

    def slow_origin(self):
        """Hits at a steady pace, alone and while one request in ten waits 300 ms."""
        origin, slow = self.start(servers.origin(self.folder)), self.start(servers.slow_origin(self.folder))
        for server in [self.ours(origin, slow_port=slow.port), *[peer for peer in self.peers(slow) if peer.name == "nginx"]]:
            target = "/1k/a" if server.name == "holdfast" else "/hit?size=1024&control=max-age%3D600"
            load.get(server.port, target)
            quiet, busy, share = [], [], []
            # The first pair only warms up.
            for number in range(self.options.rounds + 1):
                for reports, is_busy in [(quiet, False), (busy, True)]:
                    report, waiting = self.paced(server, target, is_busy)
                    if number:
                        reports.append(report)
                        if is_busy:
                            share.append(waiting / (waiting + report["requests"]))
            section = "Hits, 1 KiB, at a steady pace"
            self.results.measured(section, f"{server.name}, alone", quiet)
            self.results.measured(section, f"{server.name}, with slow misses", busy)
            name = f"p99 of hits while {100 * sum(share) / len(share):.0f} % of the requests wait on a slow origin: times that without, {server.name}"
            self.results.limit(name, ratio(busy, quiet, "p99"), ("at most", 2) if server.name == "holdfast" else None)

    def loops(self):
        """Hits at half the rate that one loop serves at most, with one loop and with two."""
        origin = self.start(servers.origin(self.folder))
        loops = [self.ours(origin), self.ours(origin, threads=2)]
        for server in loops:
            self.check_hit(server, "/1k/a", 1024)
        best = load.wrk(loops[0], target="/1k/a", seconds=int(self.options.seconds))["rate"]
        # Each connection sends a request every 16 ms.
        connections = round(best / 2 * 0.016)
        reports = [[], []]
        # The first pair only warms up.
        for number in range(self.options.rounds + 1):
            for server, kept in zip(loops, reports):
                report, _ = self.paced(server, "/1k/a", False, connections)
                if number:
                    kept.append(report)
        section = "Hits, 1 KiB, at half of what one loop serves"
        self.results.measured(section, "holdfast, one loop", reports[0])
        self.results.measured(section, "holdfast, two loops", reports[1])
        self.results.limit(f"{section}: CPU with two loops compared with one", ratio(reports[1], reports[0], "processor"))

    def paced(self, server, target, is_busy, connections=64):
        seconds = int(self.options.seconds)
        waiting = None
        if is_busy:
            self.prefixes += 1
            prefix = f"/slow/{self.prefixes}?wait=300&number="
            waiting = load.start_wrk(server.port, seconds=seconds + 1, connections=128, script="unique.lua", arguments=(prefix, 0))
            time.sleep(0.5)
        before = server.processor_time()
        report = load.report_of(load.start_wrk(server.port, seconds=seconds, connections=connections, script="paced.lua", arguments=(target, 16)))
        report["processor"] = (server.processor_time() - before) / report["requests"]
        return report, load.report_of(waiting)["requests"] * seconds / (seconds + 1) if waiting else 0

    def idle(self):
        """Clients that stay connected after one response each."""
        origin = self.start(servers.origin(self.folder))
        count = 10_000 if not self.options.quick else 1000
        for server in [self.ours(origin), *[peer for peer in self.peers(origin) if peer.name == "nginx"]]:
            load.get(server.port, "/1k/a")
            alone = server.resident()
            asked = asyncio.run(stay(server.port, "/1k/a", count, server.resident))
            name = f"{count:,} idle connections: resident memory, {server.name}"
            self.results.limit(name, asked / MIB, ("at most", 150) if server.name == "holdfast" else None, "MiB")
            self.results.limit(f"{name}, extra for each", (asked - alone) / count / 1024, unit="KiB")

    def flood(self):
        """Storable responses for distinct targets, until store and memory are full, and longer."""
        origin = self.start(servers.origin(self.folder))
        seconds, memory, budget = (40, 32, 128) if not self.options.quick else (4, 32, 128)
        mine = self.ours(origin, memory=f"{memory} MiB", budget=f"{budget} MiB")
        process = load.start_wrk(mine.port, seconds=seconds, connections=64, script="unique.lua", arguments=("/1k/f", 0))
        samples = []
        while process.poll() is None:
            samples.append((mine.resident(), disk_use(mine.store)))
            time.sleep(0.25)
        report = load.report_of(process)
        resident = [sample[0] for sample in samples]
        third = len(samples) // 3
        growth = max(resident[2 * third :]) / max(resident[third : 2 * third])
        text = f"{report['requests'] / 1000:,.0f} thousand distinct targets"
        self.results.limit(f"{text}, {memory} MiB of memory tier: resident memory at its peak", max(resident) / MIB, ("at most", memory + 150), "MiB")
        self.results.limit(f"{text}: peak of the last third, of the second's", growth, ("at most", 1.15))
        self.results.limit(f"{text}, a budget of {budget} MiB: the store's folder at its peak", max(sample[1] for sample in samples) / MIB, ("at most", budget), "MiB")

    def purge(self):
        """Purges by a tag that all stored responses carry, during hits at a steady pace."""
        origin = self.start(servers.origin(self.folder))
        count = 100_000 if not self.options.quick else 2000
        mine = self.ours(origin, extra="rules: [{match: {url: '/1k/t*'}, tags: [big]}]")
        self.fill(mine, "/1k/t", count)
        for _ in range(2):
            load.get(mine.port, "/1k/a")
        self.until(lambda: control(mine, {"select": {"tags": ["big"]}, "dryRun": True})[0]["responses"] == count, f"{count} responses are stored")
        quiet = [self.paced(mine, "/1k/a", False)[0] for _ in range(self.options.rounds + 1)][1:]
        self.results.measured("Hits, 1 KiB, at a steady pace", "holdfast, without purges", quiet)
        for kind, action in (("soft", "expire"), ("hard", "remove")):
            what = f"{kind} purge of a tag that {count // 1000} thousand responses carry"
            hits = load.start_wrk(mine.port, seconds=int(self.options.seconds), connections=64, script="paced.lua", arguments=("/1k/a", 16))
            time.sleep(0.5)
            matched, took = control(mine, {"select": {"tags": ["big"]}, "action": action})
            report = load.report_of(hits)
            if matched["exact"] and matched["responses"] != count:
                raise Failure(f"The {kind} purge matched {matched['responses']} responses, not {count}.")
            self.results.limit(f"{what}: until it is acknowledged", took * 1000, ("at most", 50), "ms")
            self.results.limit(f"{what}: p99 of hits meanwhile, times that without", report["p99"] / median([one["p99"] for one in quiet]), ("at most", 2))

    def restart(self):
        """Hits on many entries at a steady pace, before and after a restart that empties the memory."""
        origin = self.start(servers.origin(self.folder))
        count, seconds = (100_000, 12) if not self.options.quick else (2000, 2)
        mine = self.ours(origin)
        self.fill(mine, "/1k/", count)
        seeds = iter(range(1, 10_000))

        def second():
            arguments = ("/1k/", 16, count, next(seeds))
            return load.report_of(load.start_wrk(mine.port, seconds=1, connections=64, script="paced.lua", arguments=arguments))["p99"]

        # Everything is in memory, and was used more than once.
        load.wrk(mine, seconds=seconds, script="spread.lua", arguments=("/1k/", count, next(seeds)))
        before = median([second() for _ in range(seconds)])
        asked = load.count_at(origin)
        mine.stop()
        mine.start()
        start, after = time.monotonic(), []
        while time.monotonic() < start + seconds:
            after.append((time.monotonic() - start, second() / before))
        if load.count_at(origin) > asked:
            raise Failure("After the restart, the origin got requests for stored responses.")
        text = f"Restart with {count:,} hot entries: p99 of hits, times that before"
        self.results.limit(f"{text}, in the first second", after[0][1])
        self.results.limit(f"{text}, after 10 s", median([times for begin, times in after if begin >= seconds - 4]), ("at most", 1.5))

    # MARK: Offline

    def offline(self):
        """The origin is stopped and restarted; the gateway is killed and restarted."""
        port = free_port()
        slow = self.start(servers.slow_origin(self.folder, port))
        mine = self.ours(slow, extra="breaker: {first-probe: 200 ms, longest-pause: 2 s}")
        stale, fresh = "/stale?size=5000&control=max-age%3D0", "/fresh?size=5000&control=max-age%3D600"
        for target in (stale, fresh):
            load.get(mine.port, target)
        self.until(lambda: load.get(mine.port, fresh)[1]["Cache-Status"].startswith("holdfast; hit"), "a stored response is a hit")
        slow.stop(signal.SIGKILL)

        def check(name, target, status, part, within=0.1, body=None):
            start = time.monotonic()
            got, fields, content = load.get(mine.port, target)
            took = time.monotonic() - start
            said = fields["Cache-Status"] or ""
            is_so = got == status and all(word in said for word in part) and took <= within and (body is None or content == body)
            self.results.held(name, f"{got} after {took * 1000:.0f} ms, '{said}'", is_so)

        body = body_of("/stale", 5000)
        check("Origin killed: stored, stale", stale, 200, ["holdfast; hit", "detail=unreachable"], body=body)
        check("Origin killed: stored, fresh", fresh, 200, ["holdfast; hit"], body=body_of("/fresh", 5000))
        check("Origin killed: not stored", "/unknown", 504, ["holdfast;", "detail="])
        check("Origin killed: not stored, again", "/unknown", 504, ["holdfast;", "detail="])
        self.start(servers.slow_origin(self.folder, port))
        start = time.monotonic()
        back = self.until(lambda: load.get(mine.port, "/unknown")[0] == 200, "the gateway finds the origin again")
        self.results.limit("Origin back: until its responses are served again, without a restart", (back - start) * 1000, ("at most", 5000), "ms")
        # After a failure a stored response is served for a second before the origin is asked again.
        self.until(lambda: "fwd=stale" in load.get(mine.port, stale)[1]["Cache-Status"], "what was served stale is validated")
        check("Origin back: served stale before", stale, 200, ["fwd=stale"], body=body)
        mine.stop(signal.SIGKILL)
        self.running[-1].stop(signal.SIGKILL)
        mine.start()
        check("Gateway killed and started, origin gone: stored, stale", stale, 200, ["holdfast; hit", "detail=unreachable"], body=body)
        check("Gateway killed and started, origin gone: stored, fresh", fresh, 200, ["holdfast; hit"], body=body_of("/fresh", 5000))

    @staticmethod
    def until(condition, what):
        """Waits until the condition holds, and returns the time."""
        deadline = time.monotonic() + 20
        while not condition():
            if time.monotonic() > deadline:
                raise Failure(f"Waited 20 s in vain until {what}.")
            time.sleep(0.02)
        return time.monotonic()


def control(server, purge):
    """Sends a purge over the control socket; returns what it matched, and the seconds that it took."""
    connection = http.client.HTTPConnection("localhost", timeout=20)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(os.path.join(server.store, "control.sock"))
    start = time.monotonic()
    connection.request("POST", "/v1/purges", json.dumps(purge), {"Content-Type": "application/json"})
    response = connection.getresponse()
    body = response.read()
    took = time.monotonic() - start
    connection.close()
    if response.status != 200:
        raise Failure(f"A purge got {response.status}: {body!r}")
    return json.loads(body)["matched"], took


def disk_use(folder):
    total = 0
    for name in os.listdir(folder):
        try:
            total += os.stat(os.path.join(folder, name)).st_blocks * 512
        except OSError:
            pass
    return total


async def crowd(port, target, count):
    """Opens all connections before it sends the first request; then sends all requests."""
    pairs = []
    for _ in range(0, count, 100):
        pairs += await asyncio.gather(*[asyncio.open_connection("127.0.0.1", port) for _ in range(min(100, count - len(pairs)))])

    async def ask(reader, writer):
        writer.write(f"GET {target} HTTP/1.1\r\nHost: cold.test\r\n\r\n".encode())
        return await read_response(reader)

    try:
        return await asyncio.wait_for(asyncio.gather(*[ask(*pair) for pair in pairs]), 60)
    finally:
        for _, writer in pairs:
            writer.close()


async def read_response(reader):
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:"))
    return head, await reader.readexactly(length)


async def stay(port, target, count, measure, **options):
    """Opens all connections, sends one request on each, and measures while all are open."""
    writers = []
    try:
        for _ in range(0, count, 200):
            pairs = await asyncio.gather(*[asyncio.open_connection("127.0.0.1", port, limit=4096, **options) for _ in range(min(200, count - len(writers)))])
            for reader, writer in pairs:
                writer.write(f"GET {target} HTTP/1.1\r\nHost: idle.test\r\n\r\n".encode())
                head, _ = await read_response(reader)
                if not head.startswith(b"HTTP/1.1 200 "):
                    raise Failure(f"One of {count} connections got {head[:40]!r}.")
                writers.append(writer)
        return measure()
    finally:
        for writer in writers:
            writer.close()
