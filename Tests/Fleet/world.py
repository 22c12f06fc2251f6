"""The fleet: gateways, each with a relay in front of Redis, and an origin."""

import asyncio
import contextlib
import os
import random
import time

import load
from engines import Engines
from faults import EngineFaults, NodeFaults, go_wrong
from gateways import Gateway, Ended
from history import History
from origin import KEYS, NAMES, Origin
from relay import Relay

NODES = ["a", "b", "c"]
CLIENTS = 3
# A guard against hanging, in seconds: the fleet comes to rest at all. How long that took is printed.
REST = 300


# Appends a purge in a version of the record that no present program knows, in place of a node of a newer
# version. Nodes cannot say which responses it is about. Like a node, it appends nothing before an epoch
# has begun at this server: after a failover, the entry could get the position of a purge that only the
# old primary has, and the node of that purge would not know that the log lost it.
NEWER_RECORD = """
local run, isBegun = string.match(redis.call('INFO', 'server'), 'run_id:(%x+)'), false
for _, key in ipairs(redis.call('KEYS', '*')) do
  isBegun = isBegun or redis.call('TYPE', key).ok == 'hash' and redis.call('HGET', key, 'run') == run
end
if not isBegun then return 'none' end
for _, key in ipairs(redis.call('KEYS', '*')) do
  local last = redis.call('TYPE', key).ok == 'stream' and redis.call('XREVRANGE', key, '+', '-', 'COUNT', 1)[1]
  if last then
    local fields = {}
    for i = 1, #last[2], 2 do fields[last[2][i]] = last[2][i + 1] end
    redis.call('XADD', key, string.match(last[1], '^%d+') .. '-*', 'p', string.char(2) .. string.rep('x', 200), 't', fields['t'])
    return 'added'
  end
end
return 'none'
"""
# A node logs this when it meets the first of such records.
UNREADABLE = "entries of the fleet log cannot be opened"


def marker(node):
    """A key that is purged only to see that a purge arrives."""
    return f"/marker/{node}"


def reported_by(node):
    """The name of a count."""
    return f"unreadable records that {node} reported"


class World:
    def __init__(self, bin_, folder, seed, share, cut_off, newer=False):
        self.bin, self.folder, self.seed, self.share, self.cut_off = bin_, folder, seed, share, cut_off
        self.origin = Origin(self.randomness("origin"), [*KEYS, *map(marker, NODES)])
        self.engines = Engines("redis-server", folder, self.randomness("link"))
        self.history = History(self.origin, NODES)
        self.gateways = []
        self.environment = {**os.environ, "FLEET_SECRET": self.randomness("secret").randbytes(32).hex()}
        # By default all gateways of a host have its name.
        self.node = "gw" if self.randomness("names").random() < 0.5 else None
        # Held by a fault of the servers, and by who must not meet one.
        self.calm = asyncio.Lock()
        # Whether records of a newer version are appended.
        self.newer = newer
        # The longest time to come to rest.
        self.rest = 0

    @property
    def levels(self):
        """How far purges have to come. That one is everywhere is said of nodes that serve on, too, and more seldom."""
        return [load.EVERYWHERE, load.EVERYWHERE, None] if self.cut_off == "validate" else [load.EVERYWHERE, None, None]

    def randomness(self, name):
        return random.Random(f"{self.seed} {name}")

    @property
    def secrets(self):
        """Words of the run that Redis must not see. Shorter ones would be found in any ciphertext."""
        secret = self.environment["FLEET_SECRET"]
        return [self.origin.url.encode(), secret.encode(), bytes.fromhex(secret), *(word.encode() for word in KEYS + NAMES), b"cache-control"]

    async def start_all(self):
        await self.origin.start()
        await self.engines.start()
        for name in NODES:
            relay = await Relay(self.randomness(f"relay {name}"), self.engines.primary.port).start()
            program = os.path.join(self.bin, "holdfast")
            self.gateways.append(Gateway(program, self.folder, name, self.origin.url, relay, self.share, self.cut_off, self.node))
        await asyncio.gather(*map(self.start, self.gateways))

    async def start(self, gateway):
        await gateway.start(self.environment)

    async def end(self):
        for gateway in self.gateways:
            await gateway.kill()
            await gateway.relay.stop()
        await self.engines.kill()

    def lead_to_primary(self):
        for gateway in self.gateways:
            gateway.relay.lead_to(self.engines.primary.port)

    # MARK: Under faults

    async def suffer(self, seconds, name):
        """Reads, purges and faults for a while. All faults have ended when it returns."""
        ends = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            clients = [
                group.create_task(load.client(self.randomness(f"client {name} {number} {gateway.name}"), self.history, gateway))
                for gateway in self.gateways
                for number in range(CLIENTS)
            ]
            others = [
                group.create_task(load.operator(self.randomness(f"operator {name} {gateway.name}"), self.history, gateway, ends, self.levels))
                for gateway in self.gateways
            ]
            for faults in (EngineFaults, NodeFaults):
                chosen = faults(self.randomness(f"{faults.__name__} {name}"), self)
                others.append(group.create_task(go_wrong(chosen, self.history, ends)))
            if self.newer:
                others.append(group.create_task(self.write_newer_records(self.randomness(f"newer {name}"), ends)))
            deadline = time.monotonic() + seconds
            while time.monotonic() < deadline and not self.history.has_ended:
                await asyncio.sleep(0.1)
                self.look_for_ends()
            ends.set()
            await asyncio.gather(*others)
            for client in clients:
                client.cancel()

    async def write_newer_records(self, randomness, ends):
        """Appends purges that no node can read, as a node of a newer version would."""
        while not ends.is_set():
            await asyncio.sleep(randomness.uniform(0.2, 1))
            await self.write_newer_record()

    async def write_newer_record(self):
        with contextlib.suppress(OSError, EOFError, TimeoutError):
            added = await self.engines.primary.command("EVAL", NEWER_RECORD, "0")
            self.history.counts["records of a newer version"] += added == b"added"

    async def reports_newer_records(self, gateway):
        """Whether the node counts purges that it could not read, and has said so in its log. If not, it gets one more."""
        count = int((await gateway.state()).get("unreadable_total", 0))
        if count and gateway.has_logged(UNREADABLE):
            self.history.counts[reported_by(gateway.name)] += count
            return True, count
        await self.write_newer_record()
        await asyncio.sleep(0.5)
        return False, f"{count} records in its metrics, '{UNREADABLE}' in its log: {gateway.has_logged(UNREADABLE)}"

    def look_for_ends(self):
        for gateway in self.gateways:
            if gateway.has_ended:
                raise Ended(f"gateway {gateway.name} has ended by itself: {gateway.process.returncode}\n{gateway.last_lines()}")

    # MARK: At rest

    async def come_to_rest(self):
        """Waits until every node has everything, and judges every key at every node then."""
        start = time.monotonic()
        self.history.note_fault("-- all faults have ended")
        self.lead_to_primary()
        if self.newer:
            for gateway in self.gateways:
                await self.wait(
                    f"{gateway.name} reports records of the newer version", lambda gateway=gateway: self.reports_newer_records(gateway)
                )
        if self.newer and self.cut_off == "validate":
            # Until then, a node validates every response, because it cannot read every purge. Elsewhere no
            # such purge hides one that was lost.
            await load.purge(self.history, self.gateways[0], load.ALL, {"all": True}, list(self.origin.versions))
        for gateway in self.gateways:
            await self.wait(f"{gateway.name} follows the log", lambda gateway=gateway: self.follows(gateway, start))
        # Twice: a purge of everything that reaches a node late covers the first markers too.
        for _ in range(2):
            await self.exchange_markers(start)
        self.rest = max(self.rest, time.monotonic() - start)
        self.history.counts["times at rest"] += 1
        self.history.note_fault("-- the fleet has come to rest")
        self.history.come_to_rest(NODES)
        await self.read_all()
        self.history.judge_content(await self.engines.primary.content(), self.secrets)

    async def exchange_markers(self, start):
        """Each node hears of a purge of each one. What was published before comes before it."""
        for gateway in self.gateways:
            for key in map(marker, NODES):
                # One that was marked already would be fetched without any purge.
                await self.wait(f"{gateway.name} has {key} stored", lambda gateway=gateway, key=key: self.stores(gateway, key))
        for gateway in self.gateways:
            key = marker(gateway.name)
            select = {"urls": [self.origin.url + key]}
            if not await load.purge(self.history, gateway, key, select, [key]):
                self.history.violate(key, f"{gateway.name} refuses a purge at rest")
                return
        for gateway in self.gateways:
            for key in map(marker, NODES):
                await self.wait(f"{gateway.name} has the purge of {key}", lambda gateway=gateway, key=key: self.has(gateway, key))
            await self.wait(f"{gateway.name} has published everything", lambda gateway=gateway: self.follows(gateway, start))

    async def follows(self, gateway, since):
        now = time.monotonic()
        shared = await gateway.state()
        has_contact = 0 <= shared.get("contact_age_seconds", -1) < now - since
        return (has_contact and shared["state"] == 3 and shared["outbox"] == 0), shared

    async def stores(self, gateway, key):
        response = await load.read(self.history, gateway, key)
        status = response and response.fields.get("cache-status", "")
        return bool(status) and "; hit" in status, status

    async def has(self, gateway, key):
        response = await load.read(self.history, gateway, key)
        version = response and response.body.split()[1].decode()
        return version == str(self.history.purged[key]), version

    async def wait(self, words, is_so):
        deadline = time.monotonic() + REST
        while True:
            found, seen = await is_so()
            if found or self.history.has_ended:
                return
            if time.monotonic() > deadline:
                self.history.violate(None, f"I5: after {REST} s it is not so that {words}: {seen}")
                return
            self.look_for_ends()
            await asyncio.sleep(0.02)

    async def read_all(self, gateways=None):
        for key in KEYS:
            for gateway in gateways or self.gateways:
                response = await load.read(self.history, gateway, key)
                if response is None:
                    self.history.violate(key, f"{gateway.name} does not respond to {key}")

    # MARK: Offline

    async def go_offline(self):
        """Everything is stored everywhere. Then the log fails in every way, and goes, with the origin."""
        await self.read_all()
        for gateway in self.gateways:
            await load.purge(self.history, gateway, load.ALL, {"all": True}, list(self.origin.versions))
        faults = EngineFaults(self.randomness("the end"), self)
        for fault in faults.last:
            self.history.note_fault(f"-- {fault.__name__} at the end")
            await fault()
        garbage = NodeFaults(self.randomness("garbage at the end"), self)
        await garbage.relayed("garbage")()
        await self.miss_everything(self.gateways[0])
        await self.engines.kill()
        await self.origin.stop()
        self.history.note_fault("-- Redis and the origin have ended")
        await self.read_all()
        # A start needs neither.
        last = self.gateways[-1]
        await last.kill()
        await self.start(last)
        await self.read_all([last])
        self.history.counts["responses offline"] = len(KEYS) * (len(self.gateways) + 1)

    async def miss_everything(self, gateway):
        """The log is lost while a node is away, so that it has to doubt everything that it has."""
        await gateway.kill()
        await self.engines.primary.command("FLUSHALL")
        await self.start(gateway)

        async def doubts():
            shared = await gateway.state()
            return shared.get("gaps_total", 0) > 0 and shared["state"] == 3, shared

        await self.wait(f"{gateway.name} follows the log, and doubts what it has", doubts)
