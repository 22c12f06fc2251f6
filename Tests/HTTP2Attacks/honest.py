"""An honest client: asks for a stored response again and again, by HTTP/2 and by HTTP/1.1, until its
standard input ends. Then it says in one line of JSON how many responses came, what was wrong, and
how long they took."""

import contextlib
import http.client
import json
import socket
import sys
import threading
import time

import h2.connection
import h2.events

from wire import GET, h2_client

PATH, BODY = "/respond?body=same&field=Cache-Control:max-age%3D3600", b"same"
TIMEOUT = 10


def check(status, fields, body):
    if status != 200 or body != BODY or "hit" not in fields.get("cache-status", ""):
        raise ValueError(f"{status} {fields.get('cache-status')} {body[:50]!r}")


class Client:
    """One connection of HTTP/2, made with the package h2."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client = h2_client()
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\4\0\0\0\0\0")

    def ask(self):
        stream = self.client.get_next_available_stream_id()
        self.client.send_headers(stream, [*GET, (":path", PATH)], end_stream=True)
        fields, body = {}, b""
        while True:
            self.socket.sendall(self.client.data_to_send())
            data = self.socket.recv(1 << 16)
            if not data:
                raise ValueError("the connection was closed")
            for event in self.client.receive_data(data):
                if isinstance(event, h2.events.ResponseReceived):
                    fields = dict(event.headers)
                elif isinstance(event, h2.events.DataReceived):
                    body += event.data
                elif isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated)):
                    raise ValueError(str(event))
                elif isinstance(event, h2.events.StreamEnded):
                    return check(int(fields[":status"]), fields, body)

    def close(self):
        self.socket.close()


class OldClient:
    """A new connection of HTTP/1.1."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=TIMEOUT)

    def ask(self):
        self.connection.request("GET", PATH, headers={"Host": "a.example"})
        response = self.connection.getresponse()
        check(response.status, {name.lower(): value for name, value in response.getheaders()}, response.read())

    def close(self):
        self.connection.close()


def main():
    port = int(sys.argv[1])
    ended = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), ended.set()), daemon=True).start()
    times, wrong, kept = [], [], Client(port)
    # The first response comes from the origin, and is then stored.
    for _ in range(50):
        with contextlib.suppress(ValueError):
            kept.ask()
            break
        time.sleep(0.02)
    print("ready", flush=True)
    while not ended.is_set():
        # Every tenth request comes on a new connection: those must be accepted too.
        kind = len(times) % 20
        start = time.monotonic()
        try:
            if kind in (0, 10):
                client = OldClient(port) if kind == 0 else Client(port)
                client.ask()
                client.close()
            else:
                kept.ask()
        except (OSError, ValueError, KeyError, http.client.HTTPException) as error:
            wrong.append(f"{type(error).__name__}: {error}")
            if len(wrong) > 20:
                break
            kept = Client(port)
        times.append(time.monotonic() - start)
        ended.wait(0.005)
    kept.close()
    times = sorted(times) or [0]
    print(json.dumps({"count": len(times), "wrong": wrong[:5], "median": times[len(times) // 2], "most": times[-1]}))


if __name__ == "__main__":
    main()
