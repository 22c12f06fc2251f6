"""Redis servers: a primary and a replica, which change their roles."""

import asyncio
import contextlib
import os
import shutil
import signal

from relay import Relay
from wire import PATIENCE


class Engine:
    """One redis-server. It keeps nothing by itself."""

    def __init__(self, program, folder, name):
        self.program, self.name, self.folder = program, name, os.path.join(folder, name)
        self.process, self.port = None, 0
        os.mkdir(self.folder)

    def file(self, name):
        return os.path.join(self.folder, name)

    async def start(self, from_backup=False):
        """With the data of the last backup, or with none."""
        if from_backup and os.path.exists(self.file("backup.rdb")):
            shutil.copyfile(self.file("backup.rdb"), self.file("dump.rdb"))
        elif os.path.exists(self.file("dump.rdb")):
            os.remove(self.file("dump.rdb"))
        for _ in range(20):
            port = self.port or await free_port()
            with open(self.file("log"), "ab") as log:
                self.process = await asyncio.create_subprocess_exec(
                    *[self.program, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--rdbcompression", "no"],
                    *["--repl-diskless-sync-delay", "0", "--repl-timeout", "5", "--dir", self.folder],
                    stdin=asyncio.subprocess.DEVNULL, stdout=log, stderr=log,
                )
            # It answers, or has ended because another program has its port.
            while self.process.returncode is None:
                with contextlib.suppress(OSError, EOFError, TimeoutError):
                    if await self.command("PING", port=port) == b"+PONG":
                        self.port = port
                        return
                await asyncio.sleep(0.02)
        raise SystemExit(f"error: '{self.program}' does not start; see '{self.file('log')}'.")

    async def command(self, *words, port=None):
        """The reply: a line, or the content of a bulk string."""
        async with asyncio.timeout(PATIENCE):
            reader, writer = await asyncio.open_connection("127.0.0.1", port or self.port)
            try:
                writer.write(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words))
                line = (await reader.readuntil(b"\r\n")).rstrip()
                return await reader.readexactly(int(line[1:])) if line[:1] == b"$" and line != b"$-1" else line
            finally:
                writer.close()

    async def content(self):
        """Everything that it holds, as it writes it to a disk."""
        await self.command("SAVE")
        with open(self.file("dump.rdb"), "rb") as file:
            return file.read()

    async def back_up(self):
        await self.command("SAVE")
        shutil.copyfile(self.file("dump.rdb"), self.file("backup.rdb"))

    async def kill(self):
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    def send(self, number):
        if self.process.returncode is None:
            self.process.send_signal(number)


class Engines:
    """Both servers, and the link over which the replica hears of the primary."""

    def __init__(self, program, folder, randomness):
        self.primary = Engine(program, folder, "redis-1")
        self.replica = Engine(program, folder, "redis-2")
        self.link = Relay(randomness, 0)

    async def start(self):
        await self.primary.start()
        await self.replica.start()
        self.link.target = self.primary.port
        await self.link.start()
        await self.follow()

    async def follow(self):
        """The replica follows the primary."""
        self.link.lead_to(self.primary.port)
        await self.replica.command("REPLICAOF", "127.0.0.1", str(self.link.port))

    async def is_in_step(self):
        try:
            return b"master_link_status:up" in await self.replica.command("INFO", "replication")
        except (OSError, EOFError, TimeoutError):
            return False

    async def swap(self):
        """The replica takes the primary's place, whatever it has heard of it. The other one goes on."""
        await self.replica.command("REPLICAOF", "NO", "ONE")
        self.primary, self.replica = self.replica, self.primary

    async def kill(self):
        for engine in (self.primary, self.replica):
            engine.send(signal.SIGCONT)
            await engine.kill()
        await self.link.stop() if self.link.server else None


async def free_port():
    """A port that was free a moment ago: redis-server does not say which one it has chosen."""
    server = await asyncio.start_server(lambda *_: None, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    return port
