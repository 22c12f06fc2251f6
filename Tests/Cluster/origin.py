"""The origin: origin.py ADDRESS PORT. Each response is signed, so that a client knows that this origin sent it.

/fresh/… is fresh for an hour, /short/… for a second, everything else is never stored. /slow/N takes
N milliseconds. `check` judges a response.
"""

import asyncio
import contextlib
import hashlib
import hmac
import itertools
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "Fleet"))
from wire import FAILURES, head  # noqa: E402

KEY = b"the origin of the cluster"
LIFETIMES = {"fresh": 3600, "short": 1}


def body_of(target, serial):
    line = f"{target} {serial}".encode()
    # From 100 bytes to 100 KiB, by the target.
    size = 100 << (hashlib.sha256(target.encode()).digest()[0] % 11)
    return line + b" " + hmac.new(KEY, line, "sha256").hexdigest().encode() + b"\n" + (line * (size // len(line)))


def is_sent(target, body):
    """Whether the origin sent this body for this target."""
    words = body.split(b"\n")[0].split(b" ")
    return len(words) == 3 and words[0] == target.encode() and words[1].isdigit() and body == body_of(target, int(words[1]))


async def serve(reader, writer, serials):
    with contextlib.suppress(*FAILURES):
        while True:
            first, fields = await head(reader)
            await reader.readexactly(int(fields.get("content-length", 0)))
            target = first.split()[1]
            kind, _, rest = target[1:].partition("/")
            if kind == "slow":
                await asyncio.sleep(int(rest.partition("/")[0]) / 1000)
            body = body_of(target, next(serials))
            control = f"max-age={LIFETIMES[kind]}" if kind in LIFETIMES else "no-store"
            writer.write(f"HTTP/1.1 200 OK\r\nCache-Control: {control}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
            await writer.drain()
    writer.close()


async def main(address, port):
    # A restarted origin numbers its responses anew, which no client minds.
    serials = itertools.count(1)
    server = await asyncio.start_server(lambda reader, writer: serve(reader, writer, serials), address, port, backlog=1024)
    print("listens", flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
