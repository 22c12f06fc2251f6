"""A relay in front of a server, which fails in the ways of networks."""

import asyncio
import contextlib

# Valid beginnings of replies that are too large, too deep, or none.
BOMBS = [
    *[b"*1000000000\r\n", b"$536870912\r\nabc", b"*1\r\n" * 5000, b"~1\r\n" * 900],
    *[b":99999999999999999999999\r\n", b"%-5\r\n", b"$-7\r\n"],
]


class Relay:
    """Its mood says what becomes of bytes:

    pass     they go on
    refuse   there is no connection
    stall    they wait
    half     those of the server vanish
    slow     they wait for some time
    garbage  some of the server's are others
    """

    def __init__(self, randomness, target):
        self.randomness, self.target = randomness, target
        self.mood, self.changed = "pass", asyncio.Event()
        self.server, self.port, self.connections = None, 0, {}

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    def set_mood(self, mood):
        # Connections that have lost bytes do not come back.
        if mood == "refuse" or self.mood in ("half", "garbage"):
            self.cut()
        self.mood = mood
        self.changed.set()
        self.changed = asyncio.Event()

    def lead_to(self, target):
        """Leads to another server, for connections that exist too."""
        if target != self.target:
            self.target = target
            self.cut()

    def cut(self):
        for client, server in self.connections.items():
            for writer in (client, server):
                if writer is not None:
                    writer.transport.abort()

    async def serve(self, reader, client):
        self.connections[client] = None
        server = None
        try:
            if self.mood == "refuse":
                return
            target = self.target
            other, server = await asyncio.open_connection("127.0.0.1", target)
            if target == self.target and not client.transport.is_closing():
                self.connections[client] = server
                async with asyncio.TaskGroup() as group:
                    group.create_task(self.pump(reader, server, False))
                    group.create_task(self.pump(other, client, True))
        except* (OSError, EOFError):
            pass
        finally:
            self.connections.pop(client, None)
            for writer in (client, server):
                if writer is not None:
                    writer.transport.abort()

    async def pump(self, reader, writer, is_reply):
        while data := await reader.read(65536):
            while self.mood == "stall":
                await self.changed.wait()
            if self.mood == "slow":
                await asyncio.sleep(self.randomness.uniform(0.005, 0.12))
            if is_reply and self.mood == "half":
                continue
            if is_reply and self.mood == "garbage" and self.randomness.random() < 0.4:
                data = self.randomness.choice([*BOMBS, self.randomness.randbytes(200), data[: len(data) // 2] + b"\0\xff"])
            writer.write(data)
            await writer.drain()
        # The other direction ends with this one.
        raise EOFError

    async def stop(self):
        self.server.close()
        self.set_mood("refuse")


@contextlib.asynccontextmanager
async def moody(relay, mood):
    """The relay has a mood for a while."""
    relay.set_mood(mood)
    try:
        yield
    finally:
        relay.set_mood("pass")
