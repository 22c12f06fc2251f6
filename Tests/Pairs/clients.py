"""Clients: how they connect, and what they say as HTTP/1.1 or HTTP/2."""

import asyncio
import contextlib
import ssl

import hpack
from wire import Message, head, read_response

# A guard against hanging, longer than any limit of a world.
PATIENCE = 300
FAILURES = (OSError, EOFError, ValueError, IndexError, TimeoutError, asyncio.LimitOverrunError)


class Way:
    """How a client connects: to which listener, from which address, with which protocol."""

    def __init__(self, way, address):
        self.is_secure, self.is_http2 = way.startswith("tls"), way.endswith("h2")
        self.kind, self.address = way.split()[0], address

    async def open(self, gateway, proxy):
        """A connection; `proxy`: the address of the proxy that speaks the PROXY protocol."""
        context = None
        if self.is_secure:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            context.set_alpn_protocols(["h2" if self.is_http2 else "http/1.1"])
        if self.kind == "unix":
            return await asyncio.open_unix_connection(gateway.unix)
        source = proxy if self.kind == "proxied" else self.address
        reader, writer = await asyncio.open_connection("127.0.0.1", gateway.ports[self.kind], ssl=context, local_addr=(source, 0))
        if self.kind == "proxied":
            writer.write(f"PROXY TCP4 {self.address} 127.0.0.1 40000 80\r\n".encode())
        return reader, writer


class Connection:
    """One connection, which is opened anew when it has ended."""

    def __init__(self, gateway, way, proxy):
        self.gateway, self.way, self.proxy = gateway, way, proxy
        self.reader = self.writer = None
        self.stream = 1

    async def exchange(self, request):
        """The response; `None` if there is none."""
        for is_last in (False, True):
            try:
                async with asyncio.timeout(PATIENCE):
                    if self.writer is None:
                        await self.connect()
                    return await (self.over_http2(request) if self.way.is_http2 else self.over_http1(request))
            except FAILURES:
                self.close()
                if is_last:
                    return None

    async def connect(self):
        self.reader, self.writer = await self.way.open(self.gateway, self.proxy)
        self.stream = 1
        if self.way.is_http2:
            # SETTINGS: no table, no push. The window of the connection is as large as it can be.
            settings = b"\0\1\0\0\0\0" + b"\0\2\0\0\0\0"
            self.writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + frame(4, 0, 0, settings) + frame(8, 0, 0, b"\x3f\xff\0\0"))

    async def over_http1(self, request):
        self.writer.write(request.bytes)
        response = await read_response(self.reader, request.method)
        if (response.value("connection") or "").lower() == "close" or "content-length" not in [
            name.lower() for name, _ in response.fields
        ] + (["content-length"] if response.value("transfer-encoding") or response.status in (204, 304) or request.method == "HEAD" else []):
            self.close()
        return response

    async def over_http2(self, request):
        stream, self.stream = self.stream, self.stream + 2
        block = hpack.encoded(request.over_http2("https" if self.way.is_secure else "http"))
        self.writer.write(frame(1, 4 if request.content else 5, stream, block))
        if request.content:
            self.writer.write(frame(0, 1, stream, request.content))
        response, interim, block = None, [], b""
        while True:
            kind, flags, number, content = await read_frame(self.reader)
            if kind == 4 and not flags & 1:
                self.writer.write(frame(4, 1, 0, b""))
            elif kind == 6 and not flags & 1:
                self.writer.write(frame(6, 1, 0, content))
            elif kind == 7 or kind == 3 and number == stream:
                raise EOFError
            elif number == stream and kind in (1, 9):
                block += unpadded(flags, content, has_priority=True) if kind == 1 else content
                ends = flags & 1 if kind == 1 else ends
                if flags & 4:
                    fields, block = hpack.Decoder(block).fields(), b""
                    if response is not None:
                        response.trailers = fields
                    else:
                        message = Message("HTTP/2 " + dict(fields)[":status"], [field for field in fields if field[0][:1] != ":"])
                        if message.status < 200:
                            interim.append(message)
                        else:
                            response, response.interim = message, interim
                    if ends:
                        return response
            elif number == stream and kind == 0:
                response.content += unpadded(flags, content)
                if flags & 1:
                    return response
                if content:
                    self.writer.write(frame(8, 0, stream, len(content).to_bytes(4, "big")))

    def close(self):
        if self.writer is not None:
            with contextlib.suppress(*FAILURES):
                self.writer.transport.abort()
        self.reader = self.writer = None


def unpadded(flags, content, has_priority=False):
    if flags & 8:
        content = content[1:len(content) - content[0]]
    return content[5:] if has_priority and flags & 32 else content


def frame(kind, flags, stream, content):
    return len(content).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + content


async def read_frame(reader):
    start = await reader.readexactly(9)
    content = await reader.readexactly(int.from_bytes(start[:3], "big"))
    return start[3], start[4], int.from_bytes(start[5:], "big") & 0x7FFFFFFF, content


# Fields of a connection, which HTTP/2 does not have.
CONNECTION = {"connection", "host", "transfer-encoding", "upgrade", "te", "keep-alive"}


class Request:
    """What a client sends."""

    def __init__(self, method, host, path, fields=(), content=b""):
        self.method, self.host, self.path, self.fields, self.content = method, host, path, list(fields), content

    @property
    def bytes(self):
        fields = [("Host", self.host), *self.fields]
        if self.content:
            fields.append(("Content-Length", len(self.content)))
        return head(f"{self.method} {self.path} HTTP/1.1", fields) + self.content

    @property
    def text(self):
        return self.bytes.decode("latin-1")

    def over_http2(self, scheme):
        """The fields as HTTP/2 has them."""
        start = [(":method", self.method), (":scheme", scheme), (":authority", self.host), (":path", self.path)]
        return start + [(name.lower(), value) for name, value in self.fields if name.lower() not in CONNECTION]
