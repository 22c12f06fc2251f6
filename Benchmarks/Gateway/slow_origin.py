"""An origin that counts its requests by target and delays its responses; slow_origin.py PORT.

GET /any/path?wait=MS&size=N&control=TEXT   N bytes made of the path, after MS milliseconds,
                                            with 'Cache-Control: TEXT'
GET /requests?of=TARGET                     the number of requests for that target
                                            (percent-encoded), as text
"""

import asyncio
import collections
import sys
import urllib.parse

requests = collections.Counter()


def body_of(target, size):
    """Bytes that only this target has."""
    word = f"{target} ".encode()
    return (word * (size // len(word) + 1))[:size]


class Connection(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport, self.received = transport, b""

    def data_received(self, data):
        self.received += data
        while b"\r\n\r\n" in self.received:
            head, _, self.received = self.received.partition(b"\r\n\r\n")
            self.respond(head.split(b" ", 2)[1].decode("ascii", "replace"))

    def respond(self, target):
        path, _, query = target.partition("?")
        wanted = dict(urllib.parse.parse_qsl(query))
        # A gateway may remove the first part of the path, so only the end of the path is compared.
        if path.endswith("/requests"):
            return self.send(str(requests[wanted["of"]]).encode(), "no-store")
        requests[target] += 1
        body = body_of(path, int(wanted.get("size", 100)))
        wait = int(wanted.get("wait", 0)) / 1000
        asyncio.get_running_loop().call_later(wait, self.send, body, wanted.get("control", "no-store"))

    def send(self, body, control):
        if self.transport.is_closing():
            return
        head = f"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\nCache-Control: {control}\r\n\r\n"
        self.transport.write(head.encode() + body)


async def main():
    loop = asyncio.get_running_loop()
    server = await loop.create_server(Connection, "127.0.0.1", int(sys.argv[1]), backlog=4096)
    async with server:
        await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
