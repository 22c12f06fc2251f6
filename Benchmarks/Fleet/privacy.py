"""Flushes the log under load, and looks for words of the run in a dump of Redis."""

import asyncio
import os

import absence
from nodes import PATH, TAG, Fleet

KEYS = [f"{PATH}/flushed/{number}" for number in range(20)]
COOKIE = "session=starboard"
FLUSHES = 5


async def read(fleet, node, ends):
    count = 0
    while not ends.is_set():
        await fleet.get(node, KEYS[count % len(KEYS)])
        count += 1
    return count


async def run(options, folder):
    async with Fleet(options.bin, folder, 3, "responses") as fleet:
        await fleet.warm(KEYS)
        ends = asyncio.Event()
        readers = [asyncio.create_task(read(fleet, node, ends)) for node in fleet.nodes]
        before = fleet.origin.requests
        for _ in range(FLUSHES):
            epochs = [(await node.metrics())["epochs_total"] for node in fleet.nodes]
            await fleet.engine.command("FLUSHALL")
            for node, count in zip(fleet.nodes, epochs):
                await epoch(fleet, node, count)
        ends.set()
        reads = sum(await asyncio.gather(*readers))
        requests = fleet.origin.requests - before
        result = (f"{FLUSHES} times FLUSHALL under load, {reads} hits: requests at the origin", f"{requests}", "0", requests == 0)
        return [result, await dump(fleet)]


async def epoch(fleet, node, count):
    """Waits until the node has seen the next epoch."""
    async with asyncio.timeout(30):
        while (await node.metrics())["epochs_total"] <= count:
            await asyncio.sleep(0.01)
    await fleet.following(node)


async def dump(fleet):
    """Purges of every kind, with a cookie in the run, and a dump that holds nothing of them."""
    for node in fleet.nodes:
        await fleet.get(node, KEYS[0], f"Cookie: {COOKIE}")
        await fleet.purge(node, fleet.urls(KEYS[:4]))
        await fleet.purge(node, {"tags": [TAG]})
        await fleet.purge(node, {"prefixes": [fleet.origin.url + PATH]})
        await fleet.purge(node, {"hosts": ["127.0.0.1"]})
        await fleet.following(node)
    await fleet.engine.command("CONFIG", "SET", "rdbcompression", "no")
    await fleet.engine.command("SAVE")
    with open(os.path.join(fleet.engine.folder, "dump.rdb"), "rb") as file:
        content = file.read()
    names = await absence.keys_of(fleet.engine)
    words = [PATH.strip("/"), TAG, "starboard", "session", "127.0.0.1", str(fleet.origin.port), "flushed", "http:"]
    found = [word for word in words if word.encode() in content or any(word in name for name in names)]
    is_whole = len(names) > 3 and all(name.encode() in content for name in names)
    words = f"{len(content)} bytes of RDB, {len(names)} keys: words of the run"
    return (words, ", ".join(found) or "none", "none", is_whole and not found)
