"""Measures a fleet that shares responses: one request for all, a cold node, and a server that stops."""

import asyncio
import os
import re
import resource
import shutil
import signal
import time

from nodes import PATH, Fleet

CLIENTS, NODES, STALLED = 500, 8, 40
# For how long the origin keeps the request that all wait for.
LATE = 0.3


def percentile(times, share):
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]


async def run(options, folder):
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return [*await collapse(options, folder), *await cold(options, folder), await stall(options, folder)]


async def all_at_once(fleet, key):
    """Requests at the origin when every client of every node asks for one key."""
    fleet.origin.late = LATE
    before = fleet.origin.requests
    responses = await asyncio.gather(*(fleet.get(node, key) for node in fleet.nodes for _ in range(CLIENTS)))
    fleet.origin.late = 0
    wrong = [response for response in responses if response.status != 200 or key.encode() not in response.body]
    if wrong:
        raise SystemExit(f"error: {len(wrong)} responses are wrong: {wrong[0]}")
    return fleet.origin.requests - before


async def collapse(options, folder):
    async with Fleet(options.bin, folder, NODES, "responses") as fleet:
        together = await all_at_once(fleet, f"{PATH}/together")
        await fleet.engine.kill()
        apart = await all_at_once(fleet, f"{PATH}/apart")
    words = f"{NODES} nodes with {CLIENTS} clients each, one cold key: requests at the origin"
    return [
        (words, f"{together}", "1", together == 1),
        (f"{words}, without Redis", f"{apart}", f"≤ {NODES}", apart <= NODES),
    ]


async def cold(options, folder):
    """A node without anything reads what another one has."""
    count = options.objects
    async with Fleet(options.bin, folder, 1, "responses") as fleet:
        warm = fleet.nodes[0]
        await read(fleet, warm, [f"{PATH}/{number}" for number in range(count)])
        async with asyncio.timeout(60):
            while (await warm.metrics())['offers_total{result="put"}'] < count:
                await asyncio.sleep(0.05)
        node = await fleet.add("cold")
        before = fleet.origin.requests
        start = time.monotonic()
        # A half by wrk with 64 connections, each key once: in turns with pauses and without.
        figure, p99, _ = await by_wrk(fleet, node, 0, count // 4, PACED)
        _, _, cost = await by_wrk(fleet, node, count // 4, count // 2)
        await read(fleet, node, [f"{PATH}/{number}" for number in range(count // 2, count)])
        seconds = time.monotonic() - start
        requests = fleet.origin.requests - before
    async with Fleet(options.bin, folder, 1, "invalidations") as fleet:
        _, _, of_miss = await by_wrk(fleet, fleet.nodes[0], count // 4, count // 2)
    share = requests / count
    return [
        (f"a cold node, {count} responses of another one: requests at the origin", f"{requests} ({share:.2%}), {seconds:.1f} s", "≤ 1 %", share <= 0.01),
        ("1,000 responses a second from Redis, 64 clients: p99", figure, "≤ 2 ms", p99 <= 2),
        ("CPU of the gateway for a response from Redis, by that for a miss that is stored", f"{cost / of_miss:.2f} ({cost * 1e6:.0f} µs, {of_miss * 1e6:.0f} µs)", "≤ 1.3", cost <= 1.3 * of_miss),
    ]


async def read(fleet, node, keys):
    """Each key once, by 16 clients."""
    rest = iter(keys)

    async def client():
        for key in rest:
            response = await fleet.get(node, key)
            if response.status != 200:
                raise SystemExit(f"error: '{node.name}' responds to '{key}' with {response}")

    await asyncio.gather(*(client() for _ in range(16)))


# 64 clients that ask for 1,000 responses a second: without a pause it would be the queue that is
# measured.
PACED = """
delay = function()
  return math.random(0, 128)
end
"""

SCRIPT = """
local number = %d - 1
request = function()
  number = number + 1
  if number >= %d then wrk.thread:stop() end
  return wrk.format("GET", "%s/" .. math.min(number, %d - 1))
end
"""


def cpu(node):
    """Seconds of CPU that a gateway has used."""
    with open(f"/proc/{node.process.pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def by_wrk(fleet, node, first, end, pauses=""):
    """Each key once: the p99 in words and in ms, and the gateway's CPU for one of them."""
    script = os.path.join(fleet.folder, "keys.lua")
    with open(script, "w") as file:
        file.write(SCRIPT % (first, end, PATH, end) + pauses)
    before = cpu(node)
    process = await asyncio.create_subprocess_exec(
        *[shutil.which("wrk"), "-t1", "-c64", "-d10s", "--latency", "-s", script, f"http://127.0.0.1:{node.port}/"],
        stdout=asyncio.subprocess.PIPE,
    )
    said = (await process.communicate())[0].decode()
    found = re.search(r"99%\s+([\d.]+)(us|ms|s)", said)
    if "Non-2xx" in said or not found:
        raise SystemExit(f"error: wrk says: {said}")
    p99 = float(found[1]) * {"us": 0.001, "ms": 1, "s": 1000}[found[2]]
    return f"{p99:.1f} ms", p99, (cpu(node) - before) / (end - first)


async def misses(fleet, node, name):
    times = []
    for number in range(STALLED):
        start = time.monotonic()
        await fleet.get(node, f"{PATH}/{name}/{number}")
        times.append((time.monotonic() - start) * 1000)
    return times


async def stall(options, folder):
    async with Fleet(options.bin, folder, 1, "responses") as fleet:
        node = fleet.nodes[0]
        before = percentile(await misses(fleet, node, "before"), 0.5)
        fleet.engine.send(signal.SIGSTOP)
        times = await misses(fleet, node, "stalled")
        fleet.engine.send(signal.SIGCONT)
    late = max(times) - before
    slow = sum(one > before + 25 for one in times)
    words = "Redis is stopped (SIGSTOP): the slowest miss, and how many were slow"
    return (words, f"+{late:.0f} ms, {slow} of {STALLED}", "≤ +50 ms", late <= 55)
