"""Clients of the Service: load.py ADDRESS PORT COUNT SEED. Half of them keep their connections, half make one for each request.

They end with standard input. Then one line says what they got: a JSON object. A request that gets no
response, or one that the origin did not send, is a failure. No client tries again, except on a
connection that was closed before its request.
"""

import asyncio
import collections
import json
import random
import sys
import time

from origin import is_sent
from wire import FAILURES, Connection

PAUSE = 0.1


class Client:
    def __init__(self, number, place, report, seed):
        self.number, self.place, self.report = number, place, report
        self.keeps = number % 2 == 0
        self.random = random.Random(f"{seed} {number}")
        self.connection = Connection(place)

    def next(self, serial):
        chance = self.random.random()
        if chance < 0.6:
            return "GET", f"/fresh/{self.random.randrange(500)}"
        if chance < 0.75:
            return "GET", f"/short/{self.random.randrange(20)}"
        if chance < 0.85:
            return "GET", f"/private/{self.number}-{serial}"
        if chance < 0.95:
            return "POST", f"/post/{self.number}-{serial}"
        return "GET", f"/slow/{self.random.randrange(3000)}/{self.number}-{serial}"

    async def run(self, ended):
        serial = 0
        while not ended.is_set():
            serial += 1
            await self.send(*self.next(serial))
            await asyncio.sleep(self.random.uniform(0, PAUSE))
        self.connection.close()

    async def send(self, method, target):
        connection, began = self.connection, time.monotonic()
        # Closed before the request. An answer to it cannot be lost.
        if connection.reader is not None and connection.reader.at_eof():
            self.report.counts["idle connections closed"] += 1
            connection.close()
        try:
            response = await connection.request(method, target, [], b"content" if method == "POST" else b"")
        except (*FAILURES, TimeoutError) as error:
            return self.report.fail(self, method, target, repr(error), began)
        if response.status != 200:
            self.report.fail(self, method, target, f"status {response.status}, {response.fields}", began)
        elif not is_sent(target, response.body):
            self.report.fail(self, method, target, f"not the origin's response: {response.body[:200]}", began)
        else:
            self.report.count(response.fields)
        if response.fields.get("connection", "").lower() == "close":
            self.report.counts["responses with 'Connection: close'"] += 1
        if not self.keeps:
            connection.close()


class Report:
    def __init__(self):
        self.counts, self.failures, self.began = collections.Counter(), [], time.monotonic()

    def count(self, fields):
        self.counts["responses"] += 1
        self.counts["hits" if "hit" in fields.get("cache-status", "") else "other"] += 1

    def fail(self, client, method, target, reason, began):
        self.counts["failures"] += 1
        now = time.monotonic() - self.began
        kind = "kept" if client.keeps else "new"
        self.failures.append(f"at {now:.2f} s, after {now - (began - self.began):.2f} s, client {client.number} ({kind}), {method} {target}: {reason}")


async def main(address, port, count, seed):
    report, ended = Report(), asyncio.Event()
    clients = [Client(number, (address, port), report, seed) for number in range(count)]
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    async with asyncio.TaskGroup() as group:
        for client in clients:
            group.create_task(client.run(ended))
        await reader.read()
        ended.set()
    print(json.dumps({"seconds": time.monotonic() - report.began, "counts": report.counts, "failures": report.failures[:50]}), flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
