"""A connection of HTTP/2 that sends any bytes, and counts what comes back."""

import asyncio
import collections
import contextlib
import socket

import h2.config
import h2.connection
import hpack
import hyperframe.exceptions
import hyperframe.frame
from h2.errors import ErrorCodes

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAMES = hyperframe.frame


def raw(kind, flags, stream, payload=b""):
    """A frame of any kind and content, also such as hyperframe does not make."""
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def request(path, method="GET", fields=()):
    """The header block of a request. It uses no dynamic table, so it means the same everywhere."""
    encoder = hpack.Encoder()
    return encoder.encode(
        [hpack.NeverIndexedHeaderTuple(name, value) for name, value in (
            (":method", method), (":scheme", "http"), (":path", path), (":authority", "a.example"), *fields)]
    )  # fmt: skip


def headers(stream, block, ends=True):
    return raw(1, 0x5 if ends else 0x4, stream, block)


def window(stream, increment):
    return raw(8, 0, stream, increment.to_bytes(4, "big"))


def settings(**values):
    frame = FRAMES.SettingsFrame(0, settings={getattr(FRAMES.SettingsFrame, name): value for name, value in values.items()})
    return frame.serialize()


class Connection:
    """One attacking connection. It reads all the time, unless the attack does not want it to."""

    def __init__(self, number, reads=True):
        self.number, self.reads = number, reads
        self.sent = 0  # frames that the attack has sent
        self.kinds = collections.Counter()  # frames that came, by type
        self.resets = collections.Counter()  # their codes
        self.statuses = collections.Counter()
        self.content = 0
        self.goaway = None  # the code and the last stream
        self.closed = asyncio.Event()
        self.decoder = hpack.Decoder()
        self.buffer = bytearray()

    async def open(self, port, beginning=None):
        """Connects, and sends the preface and the settings."""
        made = socket.socket()
        made.setblocking(False)
        if not self.reads:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        await asyncio.get_running_loop().sock_connect(made, ("127.0.0.1", port))
        # The limit is what asyncio reads before anyone asks for it.
        self.reader, self.writer = await asyncio.open_connection(sock=made, limit=64 << 10 if self.reads else 1)
        self.task = asyncio.create_task(self.read()) if self.reads else None
        await self.send(PREFACE + (settings() if beginning is None else beginning))

    async def send(self, data, frames=0):
        """Sends bytes. The end of the connection is no error: reading notes it."""
        if self.closed.is_set():
            return
        with contextlib.suppress(ConnectionError):
            self.writer.write(data)
            await self.writer.drain()
            self.sent += frames
            return
        self.closed.set()

    async def read(self):
        with contextlib.suppress(ConnectionError):
            while data := await self.reader.read(1 << 16):
                self.buffer += data
                self.take()
        self.closed.set()

    def take(self):
        place = 0
        while len(self.buffer) - place >= 9:
            length = int.from_bytes(self.buffer[place : place + 3], "big")
            if len(self.buffer) - place < 9 + length:
                break
            kind, flags = self.buffer[place + 3], self.buffer[place + 4]
            payload = bytes(self.buffer[place + 9 : place + 9 + length])
            place += 9 + length
            self.frame(kind, flags, payload)
        del self.buffer[:place]

    def frame(self, kind, flags, payload):
        self.kinds[kind] += 1
        if kind == 0:
            self.content += len(payload)
        elif kind == 1:
            self.statuses[dict(self.decoder.decode(payload))[":status"]] += 1
        elif kind == 3:
            self.resets[code(payload)] += 1
        elif kind == 7:
            self.goaway = code(payload[4:]), int.from_bytes(payload[:4], "big") & 0x7FFFFFFF

    async def wait(self, seconds):
        """Waits for the connection's end, but no longer."""
        if not self.reads:
            # The frames that have come meanwhile say how it ended.
            self.reads, self.task = True, asyncio.create_task(self.read())
        with contextlib.suppress(TimeoutError, asyncio.TimeoutError):
            await asyncio.wait_for(self.closed.wait(), seconds)

    async def close(self):
        if self.task:
            self.task.cancel()
        self.writer.transport.abort()
        with contextlib.suppress(asyncio.CancelledError, ConnectionError):
            await asyncio.gather(self.task, return_exceptions=True) if self.task else None

    def ends(self):
        """How it ended, in words: a set, because streams may end in other ways than one another."""
        if self.goaway and self.goaway[0] != "NO_ERROR":
            return {f"GOAWAY {self.goaway[0]}"}
        ends = {f"RST_STREAM {name}" for name in self.resets} | {f"status {status}" for status in self.statuses if status >= "400"}
        if not ends and self.goaway:
            return {"GOAWAY NO_ERROR"}
        return ends or {"closed" if self.closed.is_set() else "open"}


def code(payload):
    number = int.from_bytes(payload[:4], "big")
    try:
        return ErrorCodes(number).name
    except ValueError:
        return str(number)


def h2_client(**values):
    """A connection of the package h2: it sends what a client may send."""
    client = h2.connection.H2Connection(h2.config.H2Configuration(client_side=True, header_encoding="utf-8", validate_outbound_headers=False))
    client.local_settings.update({getattr(h2.settings.SettingCodes, name): value for name, value in values.items()})
    client.initiate_connection()
    client.data_to_send()  # Connection has sent the preface.
    return client


GET = [(":method", "GET"), (":scheme", "http"), (":authority", "a.example")]
POST = [(":method", "POST"), (":scheme", "http"), (":authority", "a.example")]
