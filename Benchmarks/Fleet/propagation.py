"""Measures how long a purge at the first of eight nodes takes to be in force at the last one."""

import json
import selectors
import socket
import time

from nodes import PATH, Fleet

KEY = f"{PATH}/propagation"
# A response is asked for in the store only, so that no origin takes part.
QUESTION = f"GET {KEY} HTTP/1.1\r\nHost: localhost\r\nCache-Control: only-if-cached\r\n\r\n".encode()
LIMIT = 10


class Asker:
    """Asks one node again and again, until it refuses."""

    def __init__(self, node):
        self.socket = socket.create_connection(node.place)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.data = b""

    def ask(self):
        self.data = b""
        self.socket.sendall(QUESTION)

    def hears(self):
        """Reads; whether the node refuses, or None if the response has not ended."""
        self.data += self.socket.recv(65536)
        head, end, content = self.data.partition(b"\r\n\r\n")
        lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
        if not end or len(content) < int(lengths[0].split(b":")[1]):
            return None
        return head.startswith(b"HTTP/1.1 504")


def measure(fleet, askers):
    """One purge: the seconds from its call, and from its acknowledgement, to the last refusal."""
    content = json.dumps({"select": fleet.urls([KEY])}).encode()
    selector = selectors.DefaultSelector()
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(fleet.nodes[0].socket)
        selector.register(control, selectors.EVENT_READ)
        for asker in askers:
            selector.register(asker.socket, selectors.EVENT_READ, asker)
            asker.ask()
        start = time.monotonic()
        control.sendall(
            b"POST /v1/purges HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
            % (len(content), content)
        )
        acknowledged, last, waiting = None, None, len(askers)
        while waiting or acknowledged is None:
            if time.monotonic() > start + LIMIT:
                raise SystemExit(f"error: {waiting} nodes do not have the purge after {LIMIT} s")
            for ready, _ in selector.select(1):
                if ready.data is None:
                    if b"HTTP/1.1 200" not in control.recv(65536):
                        raise SystemExit("error: a purge was refused")
                    acknowledged = time.monotonic()
                    selector.unregister(control)
                elif refuses := ready.data.hears():
                    last, waiting = time.monotonic(), waiting - 1
                    selector.unregister(ready.fileobj)
                elif refuses is False:
                    ready.data.ask()
    return last - start, last - acknowledged


def percentile(values, part):
    return sorted(values)[min(len(values) - 1, int(len(values) * part))] * 1000


def both(values):
    return f"p50 {percentile(values, 0.5):.1f} ms, p99 {percentile(values, 0.99):.1f} ms"


async def run(options, folder):
    async with Fleet(options.bin, folder, 8) as fleet:
        results = []
        askers = [Asker(node) for node in fleet.nodes]
        for number in range(options.purges + 5):
            await fleet.warm([KEY])
            # A node that put a purge in force less than 25 ms ago waits for more, to put them in
            # force together. This one comes alone.
            time.sleep(0.06)
            result = measure(fleet, askers)
            # The first ones make what the others find: scripts, pages, statements.
            if number >= 5:
                results.append(result)
        called, acknowledged = zip(*results)
        words = f"purge at 1 of 8 nodes, called → refused by the last ({len(results)} purges)"
        return [
            (words, both(called), "", True),
            ("the same from its acknowledgement on", both(acknowledged), "p99 ≤ 5 ms", percentile(acknowledged, 0.99) <= 5),
        ]
