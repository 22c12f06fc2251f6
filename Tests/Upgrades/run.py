"""WebSockets through the built gateway, with the library 'websockets' on both sides, and with 'h2' as the client of RFC 8441; a real haproxy
that names its clients by the PROXY protocol: run.py --bin FOLDER [--count NUMBER] [--only REGEX]."""

import argparse
import asyncio
import contextlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, ResponseReceived, StreamEnded, StreamReset, WindowUpdated
from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.frames import Frame, Opcode
from websockets.protocol import CLIENT, Protocol

# The tunnels of one connection of HTTP/2.
STREAMS = 100
GRACE = 2
# A machine that does other work may take long for a thousand handshakes.
PATIENCE = 120


class Failure(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Failure(what)


def places(count):
    """The limit at which one client has this number of tunnels: the last quarter is for others."""
    return count * 4 // 3


class Gateway:
    """A gateway in front of an origin on a port, with a route for WebSockets and one without."""

    def __init__(self, program, folder, origin, limit, more=""):
        self.folder = folder
        path = os.path.join(folder, "holdfast.yaml")
        with open(path, "w") as file:
            file.write(
                f"""version: 1
listen: [{{address: "127.0.0.1:0"{more}}}]
store: {{path: store}}
clients: {{trusted: [127.0.0.1]}}
metrics: {{listen: "127.0.0.1:0"}}
limits: {{tunnels: {limit}}}
timeouts: {{drain: {GRACE} s, tunnel: 10 m}}
log: {{access: all, format: json}}
routes:
  - {{name: live, path: /live, origin: "http://127.0.0.1:{origin}/", upgrades: [websocket]}}
  - {{name: plain, origin: "http://127.0.0.1:{origin}"}}
"""
            )
        self.log_path = os.path.join(folder, "log")
        self.log = open(self.log_path, "ab")
        self.process = subprocess.Popen(
            [program, "serve", "--config", path], stdout=subprocess.PIPE, stderr=self.log, stdin=subprocess.DEVNULL, text=True
        )
        found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", self.process.stdout.readline())
        with open(self.log_path, errors="replace") as file:
            log = file.read()
        check(found, f"the gateway did not start: {log[-2000:]}")
        self.port = int(found[1])

    @property
    def metrics_port(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            with open(self.log_path) as file:
                found = re.search(r"metrics at http://127\.0\.0\.1:(\d+)", file.read())
            if found:
                return int(found[1])
            time.sleep(0.05)
        raise Failure("the gateway does not say where its metrics are")

    def metrics(self):
        with urllib.request.urlopen(f"http://127.0.0.1:{self.metrics_port}/metrics") as response:
            text = response.read().decode()
        return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line and line[0] != "#"}

    def lines(self):
        with open(self.log_path) as file:
            return [json.loads(line) for line in file if line.startswith("{")]

    def terminate(self):
        """Ends it as a service manager does; returns the time that it takes."""
        start = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        # Its tunnels have clients in this process, which must continue.
        return start

    async def ended(self, start):
        while self.process.poll() is None:
            check(time.monotonic() - start < GRACE + PATIENCE, "the gateway does not end")
            await asyncio.sleep(0.05)
        check(self.process.returncode == 0, f"the gateway ended with status {self.process.returncode}")
        return time.monotonic() - start

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()


async def echo(socket):
    with contextlib.suppress(ConnectionClosed):
        async for message in socket:
            await socket.send(message)


@contextlib.asynccontextmanager
async def gateway(options, limit, more=""):
    with tempfile.TemporaryDirectory() as folder:
        # The library closes tunnels that answer no ping; here nothing but the gateway ends them.
        async with serve(echo, "127.0.0.1", 0, ping_interval=None, max_size=None) as server:
            port = server.sockets[0].getsockname()[1]
            running = Gateway(options.program, folder, port, limit, more)
            try:
                yield running
            finally:
                running.stop()


async def until(condition, what):
    end = time.monotonic() + PATIENCE
    while not condition():
        check(time.monotonic() < end, what)
        await asyncio.sleep(0.05)


# HTTP/1.1


async def client_of_http1(gate, **more):
    return await connect(f"ws://127.0.0.1:{gate.port}/live/a", ping_interval=None, max_size=None, open_timeout=PATIENCE, **more)


async def test_http1(options):
    count = options.count
    async with gateway(options, places(count)) as gate:
        sockets = []
        for start in range(0, count, 50):
            sockets += await asyncio.gather(*(client_of_http1(gate) for _ in range(start, min(start + 50, count))))

        async def speak(number, socket):
            await socket.send(f"message {number}")
            check(await socket.recv() == f"message {number}", f"tunnel {number} brings another message")

        await asyncio.gather(*(speak(number, socket) for number, socket in enumerate(sockets)))
        check(gate.metrics()["holdfast_tunnels"] == count, "the gauge differs from the number of tunnels")
        try:
            await client_of_http1(gate)
            raise Failure("one tunnel too many was opened")
        except InvalidStatus as error:
            check(error.response.status_code == 503, f"one tunnel too many gets {error.response.status_code}")
            check(error.response.headers.get("Retry-After") == "1", "there is no Retry-After")
        # A permit is free again after a tunnel ends.
        await sockets.pop().close()
        await until(lambda: gate.metrics()["holdfast_tunnels"] == count - 1, "the place is not free again")
        sockets.append(await client_of_http1(gate))
        check(gate.metrics()['holdfast_tunnels_total{route="live",result="closed"}'] == 1, "the end is not counted")
        await speak(count, sockets[-1])
        await drain(gate, [socket.wait_closed() for socket in sockets], count)
        return f"{count} tunnels"


async def drain(gate, ends, count, status=101):
    """Ends the gateway, and expects the end of all tunnels."""
    start = gate.terminate()
    await asyncio.wait_for(asyncio.gather(*ends), PATIENCE)
    await gate.ended(start)
    seconds = time.monotonic() - start
    lines = [line for line in gate.lines() if line.get("url.path", "").startswith("/live") or "/live" in json.dumps(line)]
    done = [line for line in lines if line.get("http.response.status_code") == status]
    drained = [line for line in done if "tunnel-drained" in json.dumps(line)]
    check(len(done) >= count, f"the access log has {len(done)} of {count} tunnels")
    check(len(drained) == count, f"{len(drained)} of {count} tunnels were drained")
    print(f"    drained in {seconds:.1f} s", flush=True)


async def test_large_messages(options):
    async with gateway(options, 10) as gate:
        async with await client_of_http1(gate, compression=None) as socket:
            message = os.urandom(8 << 20)
            for _ in range(4):
                await socket.send(message)
                check(await socket.recv() == message, "a large message has changed")
        return "32 MiB each way"


async def test_without_leave(options):
    async with gateway(options, 10) as gate:
        try:
            await connect(f"ws://127.0.0.1:{gate.port}/other")
            raise Failure("a route without 'upgrades' passes a WebSocket")
        except InvalidStatus as error:
            check(error.response.status_code == 501, f"the status is {error.response.status_code}")
        return "501"


# HTTP/2


class HTTP2:
    """A connection of HTTP/2 with WebSockets on its streams: frames by 'websockets', without its handshake."""

    def __init__(self, port):
        self.port = port
        self.h2 = H2Connection(H2Configuration(client_side=True, header_encoding="utf-8"))
        self.queues, self.windows, self.sockets = {}, {}, {}

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection("127.0.0.1", self.port)
        self.h2.initiate_connection()
        self.h2.increment_flow_control_window(1 << 24)
        self.flush()
        self.settled = asyncio.get_running_loop().create_future()
        self.task = asyncio.create_task(self.run())
        await self.settled
        check(self.h2.remote_settings.enable_connect_protocol == 1, "the gateway does not announce RFC 8441")
        return self

    def flush(self):
        self.writer.write(self.h2.data_to_send())

    async def run(self):
        with contextlib.suppress(ConnectionError):
            while data := await self.reader.read(65536):
                for event in self.h2.receive_data(data):
                    name = type(event).__name__
                    if name == "RemoteSettingsChanged" and not self.settled.done():
                        self.settled.set_result(None)
                    if isinstance(event, DataReceived):
                        self.h2.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                    if isinstance(event, (ResponseReceived, DataReceived, StreamEnded, StreamReset)):
                        self.queues[event.stream_id].put_nowait(event)
                    if isinstance(event, WindowUpdated):
                        for window in self.windows.values():
                            window.set()
                self.flush()
        for queue in self.queues.values():
            queue.put_nowait(None)

    async def begin(self, path="/live/a"):
        """Opens a tunnel; returns its stream and its status."""
        stream = self.h2.get_next_available_stream_id()
        self.queues[stream], self.windows[stream] = asyncio.Queue(), asyncio.Event()
        self.sockets[stream] = Protocol(CLIENT, max_size=None)
        self.h2.send_headers(
            stream,
            [
                (":method", "CONNECT"),
                (":protocol", "websocket"),
                (":scheme", "http"),
                (":path", path),
                (":authority", f"127.0.0.1:{self.port}"),
                ("sec-websocket-version", "13"),
            ],
        )
        self.flush()
        event = await self.queues[stream].get()
        check(isinstance(event, ResponseReceived), f"a tunnel begins with {event}")
        return stream, dict(event.headers)

    async def send(self, stream, message):
        socket = self.sockets[stream]
        socket.send_binary(message)
        data = b"".join(socket.data_to_send())
        while data:
            size = min(len(data), self.h2.local_flow_control_window(stream), self.h2.max_outbound_frame_size)
            if size:
                self.h2.send_data(stream, data[:size])
                data = data[size:]
                self.flush()
            else:
                self.windows[stream].clear()
                await self.windows[stream].wait()

    async def receive(self, stream):
        """The next message; `None` at the end."""
        parts = b""
        while True:
            for event in self.sockets[stream].events_received():
                if isinstance(event, Frame) and event.opcode in (Opcode.BINARY, Opcode.CONT):
                    parts += event.data
                    if event.fin:
                        return parts
            event = await self.queues[stream].get()
            if not isinstance(event, DataReceived):
                return None
            self.sockets[stream].receive_data(event.data)

    async def closed(self):
        await self.task

    def close(self):
        self.writer.close()


async def test_http2(options):
    count = options.count
    async with gateway(options, places(count)) as gate:
        connections = [await HTTP2(gate.port).open() for _ in range(0, count, STREAMS)]
        tunnels = []

        async def begin(connection, number):
            for _ in range(min(STREAMS, count - number * STREAMS)):
                stream, head = await connection.begin()
                check(head[":status"] == "200", f"a tunnel gets {head[':status']}")
                tunnels.append((connection, stream))

        await asyncio.gather(*(begin(connection, number) for number, connection in enumerate(connections)))

        async def speak(number, connection, stream):
            message = f"message {number}".encode()
            await connection.send(stream, message)
            check(await connection.receive(stream) == message, f"tunnel {number} brings another message")

        await asyncio.gather(*(speak(number, *tunnel) for number, tunnel in enumerate(tunnels)))
        check(gate.metrics()["holdfast_tunnels"] == count, "the gauge differs from the number of tunnels")
        other = await HTTP2(gate.port).open()
        _, head = await other.begin()
        check(head[":status"] == "503", f"one tunnel too many gets {head[':status']}")
        check(head.get("retry-after") == "1", "there is no Retry-After")
        other.close()
        await drain(gate, [connection.closed() for connection in connections], count, 200)
        return f"{count} tunnels on {len(connections)} connections"


async def test_large_messages_over_http2(options):
    async with gateway(options, 10) as gate:
        connection = await HTTP2(gate.port).open()
        stream, _ = await connection.begin()
        message = os.urandom(4 << 20)
        for _ in range(4):
            await asyncio.gather(connection.send(stream, message), expect(connection, stream, message))
        _, head = await connection.begin("/other")
        check(head[":status"] == "501", f"a route without 'upgrades' gets {head[':status']}")
        connection.close()
        return "16 MiB each way"


async def expect(connection, stream, message):
    check(await connection.receive(stream) == message, "a large message has changed")


# The PROXY protocol


async def test_haproxy(options):
    program = shutil.which("haproxy")
    if not program:
        return "not run: there is no haproxy"
    async with gateway(options, 10, ", proxy-protocol: true") as gate:
        for word in ("send-proxy", "send-proxy-v2", "send-proxy-v2 proxy-v2-options crc32c,unique-id"):
            await through_haproxy(program, gate, word)
        # A client that comes past haproxy sends no header.
        reader, writer = await asyncio.open_connection("127.0.0.1", gate.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n")
        check(await reader.read() == b"", "a client without a header gets a response")
        writer.close()
        check(gate.metrics()['holdfast_proxy_protocol_refusals_total{reason="missing"}'] == 1, "it is not counted")
        return "versions 1 and 2"


async def through_haproxy(program, gate, word):
    with tempfile.TemporaryDirectory() as folder:
        with contextlib.closing(await free_port()) as port_holder:
            port = port_holder.getsockname()[1]
        path = os.path.join(folder, "haproxy.cfg")
        with open(path, "w") as file:
            file.write(
                f"""defaults
  mode tcp
  timeout connect 10s
  timeout client 60s
  timeout server 60s
listen a
  bind 127.0.0.1:{port}
  unique-id-format %ID
  server gateway 127.0.0.1:{gate.port} {word}
"""
            )
        process = subprocess.Popen([program, "-db", "-f", path], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            end = time.monotonic() + PATIENCE
            while True:
                try:
                    # Another address of the loopback network than haproxy's own.
                    socket = await connect(f"ws://127.0.0.1:{port}/live/a", local_addr=("127.0.0.9", 0), ping_interval=None)
                    break
                except OSError:
                    check(process.poll() is None and time.monotonic() < end, "haproxy does not start")
                    await asyncio.sleep(0.05)
            async with socket:
                await socket.send("hello")
                check(await socket.recv() == "hello", "haproxy brings another message")
            await until(
                lambda: any("127.0.0.9" in json.dumps(line) for line in gate.lines()), f"the log does not name the client behind '{word}'"
            )
        finally:
            process.kill()
            process.wait()
            process.stderr.close()


async def free_port():
    import socket

    holder = socket.socket()
    holder.bind(("127.0.0.1", 0))
    return holder


TESTS = [test_http1, test_large_messages, test_without_leave, test_http2, test_large_messages_over_http2, test_haproxy]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", required=True, help="the folder with 'holdfast'")
    parser.add_argument("--count", type=int, default=1000, help="tunnels at a time")
    parser.add_argument("--only", default="", help="tests whose name has this in it, a regular expression")
    options = parser.parse_args()
    options.program = os.path.join(options.bin, "holdfast")
    # Both sides of the tunnels are in this process.
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(most, 65536), most))
    failed = False
    for test in TESTS:
        name = test.__name__.removeprefix("test_").replace("_", " ")
        if not re.search(options.only, name):
            continue
        start = time.monotonic()
        try:
            result = asyncio.run(test(options))
            print(f"  {name}: {result}, {time.monotonic() - start:.1f} s", flush=True)
        except (Failure, OSError, asyncio.TimeoutError) as error:
            failed = True
            print(f"  {name}: FAILED: {error or type(error).__name__}", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
