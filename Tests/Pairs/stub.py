"""A gateway that stores nothing, for tests of the harness: no process, HTTP/1.1 without TLS alone.

Two settings together break it, if it is told so: then it serves the first response of each path to all.
"""

import asyncio
import contextlib

from clients import FAILURES
from gateway import Gateway
from wire import head, read_content, read_head, read_response

DROPPED = ("host", "content-length", "forwarded", "x-forwarded-proto")


def has(file, setting):
    """Whether a file of a world has a setting, which is named as in settings.py."""
    group, _, name = setting.partition(":")
    for part in {"top": [file], "route": file["routes"], "rule": file.get("rules", [])}[group]:
        for word in name.split("."):
            part = part.get(word) if isinstance(part, dict) else None
        if part is not None:
            return True
    return False


class Stub(Gateway):
    """`broken`: the two settings."""

    def __init__(self, broken, folder, environment):
        super().__init__("", folder, environment)
        self.broken, self.servers, self.kept = broken, [], {}

    def write(self, configuration):
        self.configuration = configuration

    async def start(self, kinds):
        for kind in kinds:
            if kind == "unix":
                server = await asyncio.start_unix_server(lambda *ends: self.serve("http", *ends), self.unix)
            else:
                server = await asyncio.start_server(lambda *ends: self.serve(kind, *ends), "127.0.0.1", 0)
                self.ports[kind] = server.sockets[0].getsockname()[1]
            self.servers.append(server)

    async def reload(self):
        pass

    async def end(self, _=None):
        for server in self.servers:
            server.close()

    async def serve(self, kind, reader, writer):
        # A test ends while connections are open.
        with contextlib.suppress(*FAILURES, asyncio.CancelledError):
            if kind == "proxied":
                await reader.readuntil(b"\r\n")
            while True:
                request = await read_head(reader)
                await read_content(reader, request)
                writer.write(await self.answer(request))
                await writer.drain()
        writer.close()

    async def answer(self, request):
        method, path = request.first.split()[:2]
        if all(has(self.configuration, setting) for setting in self.broken) and method == "GET":
            if path not in self.kept:
                self.kept[path] = await self.forward(request, method, path)
            return self.kept[path]
        return await self.forward(request, method, path)

    async def forward(self, request, method, path):
        route = self.configuration["routes"][0]
        authority = route["origin"].partition("://")[2]
        reader, writer = await asyncio.open_connection(*authority.split(":"))
        fields = [field for field in request.fields if field[0].lower() not in DROPPED]
        fields += [("Host", authority), ("X-Forwarded-Proto", "http"), ("Content-Length", len(request.content))]
        writer.write(head(f"{method} {path.removeprefix(route.get('path', ''))} HTTP/1.1", fields) + request.content)
        response = await read_response(reader, method)
        writer.close()
        fields = [field for field in response.fields if field[0].lower() not in ("content-length", "transfer-encoding")]
        if response.status != 304 and method != "HEAD":
            fields.append(("Content-Length", len(response.content)))
        return head(response.first, fields) + response.content
