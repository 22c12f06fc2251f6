"""Measures how many hits per second are kept while a thousand purges a second reach four nodes."""

import asyncio
import json
import re
import shutil
import time

from nodes import PATH, Fleet
from wire import Connection

HOT = f"{PATH}/hot"
# The control plane takes fifty requests a second, each with many URLs.
URLS, RATE = 20, 1000


async def load(node, seconds):
    """Hits per second of one node, by wrk."""
    process = await asyncio.create_subprocess_exec(
        *[shutil.which("wrk"), "-t1", "-c4", f"-d{seconds}s", f"http://127.0.0.1:{node.port}{HOT}"],
        stdout=asyncio.subprocess.PIPE,
    )
    said = (await process.communicate())[0].decode()
    if "Non-2xx" in said or not (found := re.search(r"Requests/sec:\s+([\d.]+)", said)):
        raise SystemExit(f"error: wrk says: {said}")
    return float(found[1])


async def purge(fleet, node, seconds):
    """The node's part of the rate; how many."""
    start, count = time.monotonic(), 0
    pause = URLS * len(fleet.nodes) / RATE
    # One connection, as a client has that purges all the time.
    connection = Connection(node.socket)
    while time.monotonic() < start + seconds:
        urls = fleet.urls([f"{PATH}/{node.name}/{count + number}" for number in range(URLS)])
        content = json.dumps({"select": urls, "action": "expire"}).encode()
        response = await connection.request("POST", "/v1/purges", ["Content-Type: application/json"], content)
        if response.status != 200:
            raise SystemExit(f"error: '{node.name}' refuses a purge: {response}")
        count += URLS
        await asyncio.sleep(max(0, start + count / URLS * pause - time.monotonic()))
    connection.close()
    return count


async def measure(fleet, seconds, with_purges):
    purges = [purge(fleet, node, seconds) for node in fleet.nodes] if with_purges else []
    results = await asyncio.gather(*(load(node, seconds) for node in fleet.nodes), *purges)
    hits, counts = sum(results[: len(fleet.nodes)]), results[len(fleet.nodes) :]
    for node in fleet.nodes:
        await fleet.following(node)
    return hits, sum(counts) / seconds


async def run(options, folder):
    if not shutil.which("wrk"):
        raise SystemExit("error: wrk is missing. Install it, then try again.")
    async with Fleet(options.bin, folder, 4) as fleet:
        await fleet.warm([HOT])
        await measure(fleet, 2, False)
        # Turns, because a machine is not equally fast all the time.
        without, with_, rates = [], [], []
        for _ in range(2):
            without.append((await measure(fleet, options.seconds // 2, False))[0])
            hits, rate = await measure(fleet, options.seconds // 2, True)
            with_.append(hits)
            rates.append(rate)
        # Every node has heard of the purges of the others.
        applied = [(await node.metrics())["applied_total"] for node in fleet.nodes]
        kept = sum(with_) / sum(without)
        words = f"{sum(rates) / 2:.0f} purges/s over 4 nodes for {options.seconds // 2 * 2} s: hits/s kept"
        figure = f"{kept:.0%} ({sum(without) / 2:.0f} → {sum(with_) / 2:.0f}; {min(applied):.0f} applied at each node)"
        return [(words, figure, "≥ 90 %", kept >= 0.9)]
