"""A fleet that is measured: gateways, a Redis, and an origin whose responses come at once."""

import asyncio
import os
import random
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Tests", "Fleet"))

from engines import Engine
from gateways import Gateway
from origin import Origin
from wire import once

# Until a node follows the log, in seconds.
PATIENCE = 60
# Words that Redis must not see.
TAG, PATH = "lighthouse", "/harbour"


class AnyVersion(dict):
    """Every key is there."""

    def get(self, key, _=None):
        return super().get(key, 1)


class PromptOrigin(Origin):
    def __init__(self):
        super().__init__(random.Random(1), [])
        self.versions = AnyVersion()
        self.late = 0

    def lateness(self):
        return self.late

    def respond(self, key, known):
        return super().respond(key, known).replace(b"Cache-Tag: ", f"Cache-Tag: {TAG}, ".encode())


class Fleet:
    def __init__(self, bin_, folder, count, share="invalidations"):
        self.folder = os.path.join(folder, f"fleet-{count}-{time.monotonic_ns()}")
        os.mkdir(self.folder)
        self.bin, self.count, self.share = bin_, count, share
        self.origin, self.engine = PromptOrigin(), Engine("redis-server", self.folder, "redis")
        self.environment = {**os.environ, "FLEET_SECRET": random.Random(7).randbytes(32).hex()}
        self.nodes = []

    async def __aenter__(self):
        await self.origin.start()
        await self.engine.start()
        for number in range(1, self.count + 1):
            self.nodes.append(self.gateway(f"n{number}"))
        for node in self.nodes:
            await node.start(self.environment)
        for node in self.nodes:
            await self.following(node)
        return self

    def gateway(self, name):
        program = os.path.join(self.bin, "holdfast")
        return Gateway(program, self.folder, name, self.origin.url, self.engine, self.share)

    async def add(self, name):
        """Another node, which follows the log."""
        self.nodes.append(node := self.gateway(name))
        await node.start(self.environment)
        await self.following(node)
        return node

    async def __aexit__(self, *_):
        for node in self.nodes:
            await node.kill()
        await self.engine.kill()
        await self.origin.stop()

    async def following(self, node):
        """Waits until a node follows the log."""
        deadline = time.monotonic() + PATIENCE
        while (shared := await node.state()).get("state") != 3 or shared["outbox"]:
            if time.monotonic() > deadline:
                raise SystemExit(f"error: '{node.name}' does not follow the log: {shared}")
            await asyncio.sleep(0.005)

    async def get(self, node, key, *fields):
        return await once(node.place, "GET", key, fields)

    async def warm(self, keys):
        """Every node has the keys, and serves them without its origin."""
        for node in self.nodes:
            for key in keys:
                await self.get(node, key)
                if "; hit" not in (response := await self.get(node, key)).fields["cache-status"]:
                    raise SystemExit(f"error: '{node.name}' has not stored '{key}': {response}")

    async def purge(self, node, select):
        is_acknowledged, response = await node.purge(select, "expire")
        if not is_acknowledged:
            raise SystemExit(f"error: '{node.name}' refuses a purge: {response}")

    def urls(self, keys):
        return {"urls": [self.origin.url + key for key in keys]}
