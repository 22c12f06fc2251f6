"""An origin whose responses have versions, which it raises before they are purged."""

import asyncio
import contextlib

from wire import FAILURES, head

GROUPS, MEMBERS, TAGS = 8, 10, 8
KEYS = [f"/g{group}/k{member}" for group in range(GROUPS) for member in range(MEMBERS)]

NAMES = [f"category-{number}" for number in range(TAGS)]


def tag_of(key):
    return NAMES[sum(key.encode()) % TAGS]


class Origin:
    """Each response is of the version that was current when its request came, and may be late."""

    def __init__(self, randomness, keys):
        self.versions = dict.fromkeys(keys, 1)
        self.randomness = randomness
        self.requests = self.validations = 0
        self.server, self.port, self.writers = None, 0, set()

    async def start(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", self.port)
        self.port = self.server.sockets[0].getsockname()[1]

    @property
    def url(self):
        return f"http://127.0.0.1:{self.port}"

    async def stop(self):
        """From now on connections are refused."""
        self.server.close()
        for writer in self.writers:
            writer.transport.abort()

    def lateness(self):
        """Sometimes a purge overtakes the response."""
        chance = self.randomness.random()
        return 0 if chance < 0.5 else self.randomness.uniform(0, 0.02) if chance < 0.9 else self.randomness.uniform(0.02, 0.2)

    async def serve(self, reader, writer):
        self.writers.add(writer)
        with contextlib.suppress(*FAILURES):
            while True:
                first, fields = await head(reader)
                response = self.respond(first.split()[1], fields.get("if-none-match"))
                if late := self.lateness():
                    await asyncio.sleep(late)
                writer.write(response)
                await writer.drain()
        self.writers.discard(writer)
        writer.close()

    def respond(self, key, known):
        self.requests += 1
        version = self.versions.get(key)
        if version is None:
            return b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
        fields = f'ETag: "{version}"\r\nCache-Control: max-age=3600\r\nCache-Tag: {tag_of(key)}\r\n'
        if known is not None:
            self.validations += 1
        if known == f'"{version}"':
            return f"HTTP/1.1 304 Not Modified\r\n{fields}\r\n".encode()
        body = f"{key} {version}\n"
        return f"HTTP/1.1 200 OK\r\n{fields}Content-Length: {len(body)}\r\n\r\n{body}".encode()
