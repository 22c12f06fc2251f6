"""The built gateway as a process: started, reloaded, purged, stopped, killed."""

import asyncio
import json
import os
import re
import signal

from clients import FAILURES
from wire import head, read_response

# A guard against hanging, in seconds: for starts, reloads, ends and the control plane.
START = 300


class Broken(Exception):
    """The gateway does not start, rejects its file, or has ended by itself."""


class Gateway:
    def __init__(self, program, folder, environment):
        self.program, self.folder, self.environment = program, folder, {**os.environ, **environment}
        self.file = os.path.join(folder, "holdfast.yaml")
        self.unix, self.control = os.path.join(folder, "http.sock"), os.path.join(folder, "c.sock")
        self.process, self.ports, self.lines, self.reader = None, {}, [], None
        self.reloaded = asyncio.Event()

    def write(self, configuration):
        with open(self.file, "w") as file:
            json.dump(configuration, file, indent=1)

    async def start(self, kinds):
        """`kinds`: those of its listeners, in the order of the file."""
        self.process = await asyncio.create_subprocess_exec(
            self.program, "serve", "--config", self.file, cwd=self.folder, env=self.environment,
            stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
        )
        self.reader = asyncio.create_task(self.listen())
        try:
            async with asyncio.timeout(START):
                for kind in kinds:
                    line = (await self.process.stdout.readline()).decode()
                    if not line:
                        await self.reader
                        raise Broken("the gateway does not start:\n" + "\n".join(self.lines[-8:]))
                    if found := re.search(r":(\d+)\s*$", line):
                        self.ports[kind] = int(found[1])
        except TimeoutError:
            raise Broken(f"the gateway says nothing for {START} s") from None

    async def listen(self):
        """Reads its log, so that it never waits for a reader."""
        rest = ""
        while text := await self.process.stderr.read(1 << 16):
            *lines, rest = (rest + text.decode(errors="replace")).split("\n")
            self.lines = (self.lines + lines)[-50:]
            if any("Configuration reloaded" in line or "Configuration rejected" in line for line in lines):
                self.reloaded.set()

    async def reload(self):
        self.reloaded.clear()
        self.process.send_signal(signal.SIGHUP)
        done = asyncio.create_task(self.reloaded.wait())
        await asyncio.wait({done, self.reader}, timeout=START, return_when=asyncio.FIRST_COMPLETED)
        if not done.done():
            done.cancel()
            raise Broken("the gateway has ended at a reload" if self.reader.done() else "the gateway does not reload")
        if rejected := [line for line in self.lines if "Configuration rejected" in line]:
            raise Broken("the gateway rejects the file:\n" + "\n".join(rejected))

    async def ask(self, method, path, content=None):
        """A response of the control plane."""
        async with asyncio.timeout(START):
            # It comes a moment after the listeners.
            while not os.path.exists(self.control):
                await asyncio.sleep(0.01)
            reader, writer = await asyncio.open_unix_connection(self.control)
            try:
                return await self.answer(reader, writer, method, path, content)
            finally:
                writer.close()

    @staticmethod
    async def answer(reader, writer, method, path, content):
        content = json.dumps(content).encode() if content is not None else b""
        fields = [("Host", "localhost"), ("Content-Type", "application/json"), ("Content-Length", len(content))]
        writer.write(head(f"{method} {path} HTTP/1.1", fields) + content)
        return await read_response(reader, method)

    async def purge(self, select, action):
        response = await self.ask("POST", "/v1/purges", {"select": select, "action": action})
        if response.status != 200:
            raise Broken(f"a purge gets {response.status}: {response.decoded()}")

    async def end(self, number=signal.SIGKILL):
        """Ends it. SIGINT does so without the delay for load balancers."""
        if self.process is None or self.process.returncode is not None:
            return
        self.process.send_signal(number)
        try:
            async with asyncio.timeout(START):
                await self.process.wait()
                await self.reader
        except TimeoutError:
            raise Broken("the gateway does not stop") from None

    @property
    def has_ended(self):
        return self.process is not None and self.process.returncode is not None
