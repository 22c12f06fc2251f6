"""A client of HTTP/1.1 over one connection, as much of it as the gateway's responses need."""

import asyncio
import collections

Response = collections.namedtuple("Response", "status fields body")

# A guard against hanging: no fault lasts as long. A response that takes longer counts as none.
PATIENCE = 300
# A connection ends with one of these, or is not made.
FAILURES = (OSError, EOFError, ValueError, asyncio.LimitOverrunError)


async def head(reader):
    """The first line of a head, and its fields by their names in lower case."""
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")[:-2]
    fields = (line.partition(":") for line in lines)
    return first, {name.lower(): value.strip() for name, _, value in fields}


class Connection:
    """To an address (host and port), or to the path of a Unix socket."""

    def __init__(self, place):
        self.place, self.reader, self.writer = place, None, None

    async def request(self, method, target, fields=(), content=b""):
        try:
            async with asyncio.timeout(PATIENCE):
                return await self.exchange(method, target, fields, content)
        except BaseException:
            self.close()
            raise

    async def exchange(self, method, target, fields, content):
        if self.writer is None:
            if isinstance(self.place, str):
                self.reader, self.writer = await asyncio.open_unix_connection(self.place)
            else:
                self.reader, self.writer = await asyncio.open_connection(*self.place)
        lines = [f"{method} {target} HTTP/1.1", "Host: localhost", *fields]
        if content:
            lines.append(f"Content-Length: {len(content)}")
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + content)
        first, fields = await head(self.reader)
        body = await self.content(fields)
        if fields.get("connection", "").lower() == "close":
            self.close()
        return Response(int(first.split()[1]), fields, body)

    async def content(self, fields):
        if fields.get("transfer-encoding", "").lower() != "chunked":
            return await self.reader.readexactly(int(fields.get("content-length", 0)))
        body = b""
        while length := int((await self.reader.readline()).split(b";")[0], 16):
            body += await self.reader.readexactly(length)
            await self.reader.readline()
        await self.reader.readline()
        return body

    def close(self):
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


async def once(place, method, target, fields=(), content=b""):
    """One request over a connection of its own."""
    connection = Connection(place)
    try:
        return await connection.request(method, target, fields, content)
    finally:
        connection.close()
