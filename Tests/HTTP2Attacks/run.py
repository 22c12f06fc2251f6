"""Plays the attacks on HTTP/2 to the built gateway, and measures it; run.py --bin FOLDER [--only REGEX].

Each attack has a gateway of its own with one thread, thirty connections at a time, and an honest
client beside it. An attack fails if it is not ended by a rule that it names, if the gateway took more
than the rule allows, if it needs much memory, or more when it is played again, if connections stay
open, or if the honest client gets anything but hits. Needs Linux, for the figures of the process.
"""

import argparse
import asyncio
import collections
import concurrent.futures
import contextlib
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time

from attacks import ALL
from wire import Connection

ATTACKERS = 30
MEBIBYTE = 1 << 20
MEMORY, GROWTH = 32 * MEBIBYTE, 8 * MEBIBYTE

# A request under way needs some 64 KiB, and as much again for content that its client does not take,
# whichever client sends it. So the limits are for few of them: all connections of HTTP/2 together have no more
# than 'connections'.
CONFIGURATION = """
version: 1
listen: 127.0.0.1:0
threads: 1
store: {{path: a.store}}
timeouts: {{client: 5 s}}
limits: {{connections: 200}}
log: {{access: "off"}}
routes: [{{name: api, origin: "{origin}"}}]
"""


@contextlib.contextmanager
def running(*command):
    """A program that prints the address that it listens on, in one line: its process and its URL."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True)
    try:
        found = re.search(r"listening on (http://\S+)", line := process.stdout.readline())
        if not found:
            sys.exit(f"error: '{command[0]}' did not start: {line}")
        yield process, found[1]
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


class Gateway:
    """The gateway's process, as the system sees it."""

    def __init__(self, port, process):
        self.port, self.folder = port, f"/proc/{process}"

    def memory(self, name="VmRSS"):
        with open(f"{self.folder}/status") as file:
            return int(re.search(rf"{name}:\s+(\d+)", file.read())[1]) * 1024

    def forget_peak(self):
        with open(f"{self.folder}/clear_refs", "w") as file:
            file.write("5")

    def seconds(self):
        """Processor time so far."""
        with open(f"{self.folder}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def connections(self):
        """Sockets of clients, also those that these have closed already."""
        place = f"0100007F:{self.port:04X}"
        with open("/proc/net/tcp") as file:
            rows = [line.split() for line in file.readlines()[1:]]
        # 0A listens. A socket without an inode belongs to no process any more.
        return sum(1 for row in rows if row[1] == place and row[3] != "0A" and row[9] != "0")


class Honest:
    def __init__(self, port):
        command = [sys.executable, os.path.join(os.path.dirname(os.path.abspath(__file__)), "honest.py"), str(port)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "ready\n":
            sys.exit("error: the honest client did not start; see above.")

    def stop(self):
        try:
            return json.loads(self.process.communicate("", timeout=60)[0])
        except (ValueError, subprocess.TimeoutExpired) as error:
            self.process.kill()
            return {"count": 0, "wrong": [f"it does not end: {error}"], "median": 0, "most": 0}


async def attacker(attack, port, number, results):
    for _ in range(attack.rounds):
        connection = Connection(number, attack.reads)
        await connection.open(port, attack.beginning)
        start = time.monotonic()
        await attack.play(connection)
        if attack.settles:
            await settle(connection, attack)
        results.append((connection, time.monotonic() - start))
        await connection.close()


async def settle(connection, attack):
    """Waits until the gateway has ended the connection, or all of its streams."""
    end = time.monotonic() + attack.patience
    while time.monotonic() < end and not connection.closed.is_set():
        await connection.wait(0.2)
        count = sum(connection.resets.values()) + sum(n for status, n in connection.statuses.items() if status >= "400")
        if connection.goaway and connection.goaway[0] != "NO_ERROR" or 0 < connection.sent <= count:
            return


async def attack_together(attack, gateway):
    results = []
    await asyncio.gather(*(attacker(attack, gateway.port, number, results) for number in range(ATTACKERS)))
    return results


def settled(read, most, seconds):
    """Waits for a figure to sink; the last one."""
    end = time.monotonic() + seconds
    while (figure := read()) > most and time.monotonic() < end:
        time.sleep(0.1)
    return figure


def play(attack, gateway):
    """Plays one attack. Its line of the table, and what is wrong."""
    # Memory that the first responses need for good is no attack's.
    Honest(gateway.port).stop()
    honest = Honest(gateway.port)
    time.sleep(0.5)
    before, seconds = gateway.memory(), gateway.seconds()
    gateway.forget_peak()
    start = time.monotonic()
    results = asyncio.run(attack_together(attack, gateway))
    took, seconds = time.monotonic() - start, gateway.seconds() - seconds
    peak = gateway.memory("VmHWM")
    hits = honest.stop()
    still_open = settled(gateway.connections, 0, 15)
    growth = 0
    if not attack.waits:
        asyncio.run(attack_together(attack, gateway))
        growth = max(0, gateway.memory("VmHWM") - peak)

    ends = collections.Counter(end for connection, _ in results for end in connection.ends())
    taken = [attack.taken(connection) for connection, _ in results] if attack.taken else []
    faults = [f"{count} connections ended by '{end}'" for end, count in ends.items() if end not in attack.ends]
    for (_, duration), count in zip(results, taken):
        if attack.most and count > attack.most + 100 * (duration + 1):
            faults.append(f"{count} were taken in {duration:.1f} s, which is more than {attack.most}, and 100 each second")
            break
    if peak - before > MEMORY or growth > GROWTH:
        faults.append(f"{(peak - before) / MEBIBYTE:.1f} MiB more memory, and {growth / MEBIBYTE:.1f} when played again")
    if still_open:
        faults.append(f"{still_open} connections stay open")
    if hits["wrong"] or hits["count"] < 2:
        faults.append(f"of {hits['count']} hits these are wrong: {hits['wrong']}")
    line = [
        attack.name,
        ", ".join(end for end, _ in ends.most_common()),
        f"{statistics.median(duration for _, duration in results):.1f}",
        f"{statistics.median(connection.sent for connection, _ in results):.0f}",
        f"{max(taken)}" if taken else "",
        f"{seconds:.2f} of {took:.1f}",
        f"{max(0, peak - before) / MEBIBYTE:.1f}",
        "" if attack.waits else f"{growth / MEBIBYTE:.1f}",
        f"{hits['count']}: {hits['median'] * 1000:.0f}, {hits['most'] * 1000:.0f}",
    ]
    return line, faults


def play_alone(attack, bin_, origin):
    with tempfile.TemporaryDirectory(prefix="holdfast-h2.") as folder:
        file = os.path.join(folder, "holdfast.yaml")
        with open(file, "w") as configuration:
            configuration.write(CONFIGURATION.format(origin=origin))
        with running(os.path.join(bin_, "holdfast"), "serve", "--config", file, "--no-control") as (process, url):
            try:
                line, faults = play(attack, Gateway(int(url.rpartition(":")[2]), process.pid))
            except OSError as error:
                line, faults = [attack.name], [str(error)]
            if process.poll() is not None:
                faults.append(f"the gateway ended by itself, with status {process.returncode}")
    print("| " + " | ".join(line) + " |", flush=True)
    for fault in faults:
        print(f"  FAILED: {attack.name}: {fault}", file=sys.stderr, flush=True)
    return attack.name if faults else None


HEAD = ["Attack", "Ended by", "after s", "sent", "taken", "CPU s", "MiB more", "and again", "hits: ms, longest"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--only", default=".")
    options = parser.parse_args()
    chosen = [attack for attack in ALL if re.search(options.only, attack.name)]
    if not chosen:
        sys.exit(f"error: No attack is called '{options.only}'. There are: {'; '.join(attack.name for attack in ALL)}.")
    print("| " + " | ".join(HEAD) + " |\n" + "|---" * len(HEAD) + "|", flush=True)
    with running(os.path.join(options.bin, "sample-origin"), "--port", "0", "--quiet") as (_, origin):
        failed = [play_alone(attack, options.bin, origin) for attack in chosen if not attack.waits]
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            failed += pool.map(lambda attack: play_alone(attack, options.bin, origin), [attack for attack in chosen if attack.waits])
    if failed := [name for name in failed if name]:
        sys.exit(f"error: {len(failed)} of {len(chosen)} attacks failed: {', '.join(failed)}.")
    print(f"\n{len(chosen)} attacks, each by {ATTACKERS} connections at a time")


if __name__ == "__main__":
    main()
