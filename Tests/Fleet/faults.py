"""What goes wrong: with the servers of the log, and with the nodes and their ways to it."""

import asyncio
import contextlib
import signal

import load
from relay import moody
from wire import FAILURES

# The ways in which a command to a stopped or ended server may fail.
UNREACHABLE = (OSError, EOFError, TimeoutError)


class EngineFaults:
    """Faults of the servers, one after the other."""

    def __init__(self, randomness, world):
        self.randomness, self.world, self.engines = randomness, world, world.engines
        self.kinds = {
            self.flush: 3, self.stop: 2, self.restart_empty: 2, self.fail_over: 4,
            self.back_up: 1, self.restore: 1, self.stall_replication: 1,
        }
        self.last = [self.flush, self.back_up, self.fail_over, self.restart_empty, self.restore]
        if world.cut_off == "validate":
            # A server that forgets what it has confirmed may break the promise of 'everywhere'.
            for fault in (self.back_up, self.restore):
                del self.kinds[fault]
                self.last.remove(fault)

    async def perform(self, kind):
        async with self.world.calm:
            return await kind()

    @contextlib.asynccontextmanager
    async def one_away(self):
        """Often a node is away before, and misses purges that the fault then takes from the log."""
        if self.randomness.random() < 0.4:
            yield
            return
        async with moody(self.randomness.choice(self.world.gateways).relay, "refuse"):
            await asyncio.sleep(self.randomness.uniform(0.3, 2))
            yield

    async def flush(self):
        async with self.one_away():
            await self.engines.primary.command("FLUSHALL")

    async def stop(self):
        self.engines.primary.send(signal.SIGSTOP)
        await asyncio.sleep(self.randomness.uniform(0.05, 3))
        self.engines.primary.send(signal.SIGCONT)

    async def restart_empty(self):
        async with self.one_away():
            await self.engines.primary.kill()
        await asyncio.sleep(self.randomness.choice([0, self.randomness.uniform(0.1, 2)]))
        await self.engines.primary.start()

    async def back_up(self):
        await self.engines.primary.back_up()

    async def restore(self):
        await self.engines.primary.kill()
        await self.engines.primary.start(from_backup=True)

    async def stall_replication(self):
        async with moody(self.engines.link, "stall"):
            await asyncio.sleep(self.randomness.uniform(0.1, 2))

    async def fail_over(self):
        """The replica takes over, mostly without the last writes. The old primary goes on for some."""
        if not await self.engines.is_in_step():
            return False
        old = self.engines.primary
        if self.randomness.random() < 0.7:
            self.engines.link.set_mood("stall")
        async with self.one_away():
            await asyncio.sleep(self.randomness.uniform(0, 1))
            await self.replace(old)
        # It is still one for those who were not told.
        await asyncio.sleep(self.randomness.choice([0, self.randomness.uniform(0.1, 1)]))
        await self.engines.follow()
        self.world.lead_to_primary()
        return True

    async def replace(self, old):
        """The replica takes over, for some nodes at once. The old primary may be stopped meanwhile."""
        if is_stopped := self.randomness.random() < 0.4:
            old.send(signal.SIGSTOP)
            await asyncio.sleep(self.randomness.uniform(0, 1))
        try:
            await self.engines.swap()
            relays = [gateway.relay for gateway in self.world.gateways]
            for relay in self.randomness.sample(relays, self.randomness.randint(1, len(relays))):
                relay.lead_to(self.engines.primary.port)
            await asyncio.sleep(self.randomness.choice([0, self.randomness.uniform(0.1, 3)]))
        finally:
            if is_stopped:
                old.send(signal.SIGCONT)
            self.engines.link.set_mood("pass")


class NodeFaults:
    """Faults of one node at a time."""

    def __init__(self, randomness, world):
        self.randomness, self.world = randomness, world
        moods = ("refuse", "stall", "half", "slow", "garbage")
        self.kinds = {self.kill: 4, self.stop: 2, self.miss: 3} | {self.relayed(mood): 2 for mood in moods}

    async def perform(self, kind):
        return await kind()

    def gateway(self):
        return self.randomness.choice(self.world.gateways)

    async def kill(self):
        """Right behind the acknowledgement of a purge, or before it."""
        gateway = self.gateway()
        selection = load.selection(self.randomness, self.world.origin)
        purge = asyncio.create_task(load.purge(self.world.history, gateway, *selection))
        if self.randomness.random() < 0.6:
            await purge
        else:
            await asyncio.sleep(self.randomness.uniform(0, 0.02))
        await gateway.kill()
        await purge
        await asyncio.sleep(self.randomness.choice([0, self.randomness.uniform(0, 3)]))
        await self.world.start(gateway)

    async def miss(self):
        """A node is down while another one purges. Its first responses after a start must know that."""
        history = self.world.history
        gateway = self.gateway()
        other = self.randomness.choice([node for node in self.world.gateways if node is not gateway])
        async with self.world.calm:
            # It follows the log, so it may be waited for.
            if not (await self.world.follows(other, 0))[0]:
                return False
            await gateway.kill()
            words, select, keys = load.selection(self.randomness, self.world.origin)
            purge = history.begin_purge(other.name, f"{words} (expire) while {gateway.name} is down", keys)
            try:
                is_acknowledged, response = await other.purge(select, "expire", wait="published")
            except FAILURES:
                is_acknowledged, response = False, None
            is_published = is_acknowledged and response.status == 200
            history.end_purge(other.name, purge, is_acknowledged, "no response")
            if is_published:
                history.miss(gateway.name, purge)
            await self.world.start(gateway)
            for key in keys[:20]:
                await load.read(history, gateway, key)
        return is_published

    async def stop(self):
        gateway = self.gateway()
        gateway.send(signal.SIGSTOP)
        await asyncio.sleep(self.randomness.uniform(0.1, 3))
        gateway.send(signal.SIGCONT)

    def relayed(self, mood):
        async def fault():
            async with moody(self.gateway().relay, mood):
                await asyncio.sleep(self.randomness.uniform(0.1, 4))

        fault.__name__ = f"relay_{mood}"
        return fault


async def go_wrong(faults, history, ends):
    """One fault after the other, until it has to end. The last one ends before."""
    kinds, weights = zip(*faults.kinds.items())
    while not ends.is_set():
        await asyncio.sleep(faults.randomness.uniform(0, 1.2))
        if ends.is_set():
            return
        kind = faults.randomness.choices(kinds, weights)[0]
        name = kind.__name__.replace("_", " ")
        history.note_fault(f"-- {name} begins")
        try:
            if await faults.perform(kind) is not False:
                history.counts[f"fault {name}"] += 1
        except UNREACHABLE as error:
            history.note_fault(f"-- {name}: {error!r}")
        history.note_fault(f"-- {name} ends")
