"""Measures the start of a node that was away for so long that the log no longer reaches back to it."""

import asyncio
import time

from nodes import PATH, Fleet
from wire import Connection

CONNECTIONS = 8


async def fill(fleet, node, keys):
    connection = Connection(node.place)
    for key in keys:
        response = await connection.request("GET", key)
        if response.status != 200:
            raise SystemExit(f"error: {response}")
    connection.close()


async def run(options, folder):
    async with Fleet(options.bin, folder, 2) as fleet:
        away, other = fleet.nodes
        keys = [f"{PATH}/stored/{number}" for number in range(options.entries)]
        await asyncio.gather(*(fill(fleet, away, keys[first::CONNECTIONS]) for first in range(CONNECTIONS)))
        away.process.terminate()
        await away.process.wait()
        # Purges of others, of which the log keeps the last one.
        for number in range(20):
            await fleet.purge(other, fleet.urls([f"{PATH}/other/{number}"]))
        await fleet.following(other)
        await trim(fleet.engine)
        start = time.monotonic()
        await away.start(fleet.environment)
        response = await fleet.get(away, keys[0])
        serves = time.monotonic() - start
        if response.status != 200:
            raise SystemExit(f"error: {response}")
        await fleet.following(away)
        follows = time.monotonic() - start
        gaps = (await away.metrics())["gaps_total"]
        response = await fleet.get(away, keys[-1])
        is_validated = "fwd=stale" in response.fields["cache-status"]
        words = f"start → it follows the log, with {gaps:.0f} gap, and validates what it has"
        return [
            (f"a week away, {options.entries} entries: start → first response", f"{serves:.2f} s", "≤ 1 s", serves <= 1),
            (words, f"{follows:.2f} s", "a gap", gaps >= 1 and is_validated),
        ]


async def trim(engine):
    for key in await keys_of(engine):
        if await engine.command("TYPE", key) == b"+stream":
            await engine.command("XTRIM", key, "MAXLEN", "=", "1")


async def keys_of(engine):
    reader, writer = await asyncio.open_connection("127.0.0.1", engine.port)
    writer.write(b"KEYS *\r\n")
    names = []
    for _ in range(int((await reader.readline())[1:])):
        await reader.readline()
        names.append((await reader.readline()).decode().strip())
    writer.close()
    return names
