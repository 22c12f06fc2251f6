"""Upgrades the gateway under load, from an older build and from stores of every earlier schema, and tries
a downgrade: run.py --old FOLDER --new FOLDER [--seed N].

FOLDER has 'holdfast' and 'cache-dump'. The listening socket stays open, as with systemd's holdfast.socket;
if both versions have 'serve --takeover', that is tried too. Thirty clients send requests during each change. No request may
be refused, and every response must have the content that the origin has for its URL.
"""

import argparse
import asyncio
import os
import random
import shutil
import socket
import struct
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
STORES = os.path.join(ROOT, "Tests", "Fixtures", "stores")
CLIENTS = 30
ITEMS = 200
# Guards against hanging. Nothing is measured.
PATIENCE = 120


class Failed(Exception):
    """A claim that does not hold."""


def check(holds, words):
    if not holds:
        raise Failed(words)


def content(path):
    return f"content of {path}\n".encode() * 20


class Origin:
    """Serves the content of a path, fresh for a day."""

    async def start(self):
        self.requests = 0
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self.server.sockets[0].getsockname()[1]}"

    async def serve(self, reader, writer):
        try:
            while line := await reader.readline():
                while (await reader.readline()).strip():
                    pass
                self.requests += 1
                body = content(line.split()[1].decode())
                writer.write(b"HTTP/1.1 200 OK\r\nCache-Control: max-age=86400\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
                await writer.drain()
        except (ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    def stop(self):
        self.server.close()


class Gateway:
    """A process of 'holdfast serve'."""

    # Those of the scene, which end with it.
    running = []

    def __init__(self, bin, store, origin):
        self.bin, self.store, self.origin, self.port = bin, store, origin, None

    def command(self):
        return [os.path.join(self.bin, "holdfast"), "serve", "--origin", self.origin, "--store", self.store]

    async def start(self, *options, port=0, listener=None):
        """With a listener, the process gets it as systemd passes sockets: as descriptor 3."""
        self.log = tempfile.TemporaryFile("w+")
        command = [*self.command(), *options]
        if listener:
            command = ["sh", "-c", f'LISTEN_FDS=1 LISTEN_PID=$$ exec "$@" 3<&{listener.fileno()}', "sh", *command]
        else:
            command += ["--listen", f"127.0.0.1:{port}"]
        self.process = await asyncio.create_subprocess_exec(
            *command, stdout=subprocess.PIPE, stderr=self.log, pass_fds=[listener.fileno()] if listener else [])
        self.running.append(self.process)
        line = (await asyncio.wait_for(self.process.stdout.readline(), PATIENCE)).decode()
        if not line.startswith("holdfast listening on "):
            await self.process.wait()
            raise Failed(f"'holdfast serve' did not start: {self.said()}")
        self.port = None if listener else int(line.rsplit(":", 1)[1].strip().rstrip("/"))
        return self

    def said(self):
        self.log.seek(0)
        return self.log.read().strip()

    async def ended(self):
        """Waits for the end of the process, and returns its status."""
        return await asyncio.wait_for(self.process.wait(), PATIENCE)

    async def stop(self):
        if self.process.returncode is None:
            self.process.terminate()
        status = await self.ended()
        check(status == 0, f"the gateway should stop with status 0, and its status is {status}: {self.said()}")


class Load:
    """Clients that send requests for as long as the block runs, on new and on kept connections."""

    def __init__(self, port, seed, expected=content):
        """`expected`: returns the content of the origin's response for a path."""
        self.port, self.seed, self.expected = port, seed, expected
        self.counts = {"responses": 0, "hits": 0, "retries": 0}

    async def __aenter__(self):
        self.runs = True
        self.tasks = [asyncio.create_task(self.client(random.Random(self.seed * 1000 + number))) for number in range(CLIENTS)]
        return self

    async def __aexit__(self, kind, *_):
        self.runs = False
        results = await asyncio.gather(*self.tasks, return_exceptions=True)
        failures = [str(result) for result in results if isinstance(result, Exception)]
        if kind is None:
            check(not failures, f"{len(failures)} of {CLIENTS} clients had a wrong or refused response: {failures[:3]}")

    async def progress(self, responses):
        """Waits until the clients got so many more responses."""
        goal = self.counts["responses"] + responses
        while self.counts["responses"] < goal and not any(task.done() for task in self.tasks):
            await asyncio.sleep(0.01)

    async def client(self, chance):
        connection = None
        while self.runs:
            path = f"/item/{chance.randrange(ITEMS)}"
            kept = connection
            if kept is None or chance.random() < 0.3:
                if kept:
                    kept[1].close()
                kept, connection = None, await self.connect()
            try:
                fields = await self.fetch(connection, path)
            except (ConnectionError, asyncio.IncompleteReadError) as error:
                # A server may close an idle connection at any time, so each client repeats such a
                # request on a new connection. There it has to succeed.
                if kept is None:
                    raise Failed(f"a request for '{path}' on a new connection was refused: {error!r}") from None
                self.counts["retries"] += 1
                connection = await self.connect()
                fields = await self.fetch(connection, path)
            self.counts["responses"] += 1
            self.counts["hits"] += "; hit" in fields.get("cache-status", "")
            if fields.get("connection", "").lower() == "close":
                connection[1].close()
                connection = None
        if connection:
            connection[1].close()

    async def connect(self):
        try:
            return await asyncio.wait_for(asyncio.open_connection("127.0.0.1", self.port), PATIENCE)
        except OSError as error:
            raise Failed(f"a connection was refused: {error!r}") from None

    async def fetch(self, connection, path):
        reader, writer = connection
        writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{self.port}\r\n\r\n".encode())
        await writer.drain()
        head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), PATIENCE)).decode().split("\r\n")
        fields = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:] if line)}
        body = await asyncio.wait_for(reader.readexactly(int(fields["content-length"])), PATIENCE)
        if " 200 " not in head[0] or body != self.expected(path):
            raise Failed(f"the response for '{path}' is wrong: {head[0]}, {fields}, {body[:80]}")
        return fields


def dump(bin, *arguments):
    return subprocess.run([os.path.join(bin, "cache-dump"), *arguments], capture_output=True, text=True)


async def upgrade(options, folder):
    """The old version, then the new one, and back and forth if the schema is the same."""
    said = [await replace(options, os.path.join(folder, "socket"), False)]
    if all(has_takeover(bin) for bin in (options.old, options.new)):
        said.append(await replace(options, os.path.join(folder, "takeover"), True))
    return "; ".join(said)


def has_takeover(bin):
    return "--takeover" in subprocess.run([os.path.join(bin, "holdfast"), "serve", "--help"], capture_output=True, text=True).stdout


async def replace(options, folder, takes_over):
    """Replaces the process under load: on a socket that stays open, or by takeovers."""
    origin = Origin()
    await origin.start()
    os.mkdir(folder)
    store = os.path.join(folder, "store")
    steps = [options.new] + ([options.old, options.new] if has_one_schema(options, folder) else [])
    listener = None
    if not takes_over:
        listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    gateway = await Gateway(options.old, store, origin.url).start(listener=listener)
    port = listener.getsockname()[1] if listener else gateway.port
    async with Load(port, options.seed) as load:
        await load.progress(ITEMS * 10)
        for bin in steps:
            last = gateway
            gateway = Gateway(bin, store, origin.url)
            if takes_over:
                await gateway.start("--takeover", port=port)
                check(await last.ended() == 0, f"the process that was replaced did not end with status 0: {last.said()}")
            else:
                await last.stop()
                await gateway.start(listener=listener)
            await load.progress(ITEMS * 10)
    origin.stop()
    # Everything that the old version stored is served without an origin.
    before = origin.requests
    async with Load(port, options.seed + 1) as offline:
        await offline.progress(ITEMS * 5)
    check(origin.requests == before and offline.counts["hits"] == offline.counts["responses"], f"after the upgrade, every response should be a hit: {offline.counts}")
    await gateway.stop()
    if listener:
        listener.close()
    verified = dump(options.new, "verify", store)
    check(verified.returncode == 0, f"the store is not intact after the upgrade: {verified.stdout}{verified.stderr}")
    how = "takeovers" if takes_over else "restarts on an open socket"
    return f"{len(steps)} {how} under {load.counts['responses']} requests, {load.counts['retries']} repeated on a new connection"


def has_one_schema(options, folder):
    """Returns whether both versions have the same schema, by a store that each of them makes."""
    numbers = []
    for name in ("old", "new"):
        store = os.path.join(folder, f"schema-of-{name}")
        shutil.copytree(os.path.join(STORES, sorted(os.listdir(STORES))[-1]), store)
        # The newest frozen store is migrated when a gateway opens it; 'stats' of that build names the schema.
        process = subprocess.Popen([os.path.join(getattr(options, name), "holdfast"), "serve", "--origin", "http://127.0.0.1:1", "--store", store, "--listen", "127.0.0.1:0"],
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        process.stdout.readline()
        process.terminate()
        process.wait(PATIENCE)
        numbers.append(version_of(store))
    return numbers[0] == numbers[1]


def version_of(store):
    """Returns the number of the schema, which SQLite keeps at offset 60."""
    with open(os.path.join(store, "0001.sqlite"), "rb") as file:
        return struct.unpack(">i", file.read(64)[60:])[0]


async def frozen(options, folder):
    """The new version migrates a store of each earlier schema while clients wait for it, and keeps its entries."""
    names = sorted(name for name in os.listdir(STORES) if name.startswith("schema-"))
    for name in names:
        store = os.path.join(folder, name)
        shutil.copytree(os.path.join(STORES, name), store)
        before = version_of(store)
        origin = Origin()
        await origin.start()
        # Clients connect before the gateway starts, as with systemd's holdfast.socket.
        listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
        async with Load(listener.getsockname()[1], options.seed) as load:
            gateway = await Gateway(options.new, store, origin.url).start(listener=listener)
            await load.progress(ITEMS * 5)
        await gateway.stop()
        listener.close()
        origin.stop()
        check(version_of(store) > before, f"'{name}' was not migrated")
        listed = dump(options.new, "list", store)
        check("https://api.example/plain" in listed.stdout, f"'{name}' lost its entries: {listed.stdout[:400]}{listed.stderr}")
        verified = dump(options.new, "verify", store)
        check(verified.returncode == 0, f"'{name}' is not intact: {verified.stdout}{verified.stderr}")
    return f"{len(names)} schemas"


async def downgrade(options, folder):
    """A store of a newer schema: the gateway does not start, names the next step, and changes nothing."""
    store = os.path.join(folder, "newer")
    shutil.copytree(os.path.join(STORES, sorted(os.listdir(STORES))[-1]), store)
    path = os.path.join(store, "0001.sqlite")
    with open(path, "r+b") as file:
        file.seek(60)
        file.write(struct.pack(">i", 32517))
    with open(path, "rb") as file:
        before = file.read()
    try:
        gateway = await Gateway(options.new, store, "http://127.0.0.1:1").start()
    except Failed as error:
        said = str(error)
    else:
        await gateway.stop()
        raise Failed("the gateway opened a store of a newer schema")
    with open(path, "rb") as file:
        check(file.read() == before, "the database was changed")
    check("has schema version 32517" in said and "restore a backup from before the upgrade" in said, f"the error should say how to go back: {said}")
    return "rejected, and nothing was changed"


async def run(options):
    status = 0
    for scene in (upgrade, frozen, downgrade):
        if options.only and scene.__name__ not in options.only:
            continue
        folder = tempfile.mkdtemp(prefix="holdfast-upgrade.")
        try:
            print(f"{scene.__name__:10} {await scene(options, folder)}")
        except Failed as error:
            print(f"{scene.__name__:10} FAILED: {error}", file=sys.stderr)
            status = 1
        finally:
            for process in Gateway.running:
                if process.returncode is None:
                    process.kill()
                    await process.wait()
            Gateway.running.clear()
            shutil.rmtree(folder)
    return status


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--old", required=True)
    parser.add_argument("--new", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", choices=["upgrade", "frozen", "downgrade"])
    sys.exit(asyncio.run(run(parser.parse_args())))


if __name__ == "__main__":
    main()
