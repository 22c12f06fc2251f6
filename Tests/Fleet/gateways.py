"""Gateways of the fleet: processes that are killed, stopped and started again on their stores."""

import asyncio
import json
import os
import re
import signal

from wire import FAILURES, once

# A guard against hanging, in seconds.
START = 300

CONFIGURATION = """
version: 1
listen: 127.0.0.1:0
threads: 1
store: {{path: store}}
log: {{access: "off"}}
fleet:
  url: "redis://127.0.0.1:{port}"
  namespace: fleet
  node: {node}
  secret: {{env: FLEET_SECRET}}
  share: {share}
{contract}routes: [{{name: all, origin: "{origin}", tags-from: [Cache-Tag]}}]
"""


# 'everywhere' is a promise with a replica, and nodes that serve nothing as fresh without a lease.
VALIDATING = """  cut-off: validate
  lease: 2s
  quorum: 1
"""


class Ended(Exception):
    """A gateway does not start, or has ended by itself."""


class Gateway:
    def __init__(self, program, folder, name, origin, relay, share, cut_off="serve", node=None):
        self.program, self.name, self.relay, self.origin = program, name, relay, origin
        self.folder = os.path.join(folder, name)
        os.mkdir(self.folder)
        self.file, self.log = os.path.join(self.folder, "holdfast.yaml"), os.path.join(self.folder, "log")
        with open(self.file, "w") as file:
            contract = VALIDATING if cut_off == "validate" else ""
            file.write(CONFIGURATION.format(port=relay.port, node=node or name, origin=origin, share=share, contract=contract))
        self.socket = os.path.join(self.folder, "store", "control.sock")
        self.process, self.port = None, 0
        # Whether it serves. It may be stopped for a moment all the same.
        self.up = asyncio.Event()

    @property
    def place(self):
        return ("127.0.0.1", self.port)

    async def start(self, environment):
        with open(self.log, "ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                *[self.program, "serve", "--config", self.file], env=environment,
                stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE, stderr=log,
            )
        try:
            async with asyncio.timeout(START):
                line = (await self.process.stdout.readline()).decode()
        except TimeoutError:
            line = f"it says nothing for {START} s"
        found = re.search(r"listening on http://127\.0\.0\.1:(\d+)", line)
        if not found:
            raise Ended(f"gateway {self.name} does not start: {line}\n{self.last_lines()}")
        self.port = int(found[1])
        self.up.set()

    def last_lines(self):
        with open(self.log, errors="replace") as log:
            return "".join(log.readlines()[-10:])

    def has_logged(self, words):
        with open(self.log, errors="replace") as log:
            return any(words in line for line in log)

    async def kill(self):
        self.up.clear()
        if self.process is not None and self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    def send(self, number):
        if self.process.returncode is None:
            self.process.send_signal(number)

    @property
    def has_ended(self):
        """Whether it has ended by itself."""
        return self.up.is_set() and self.process.returncode is not None

    async def purge(self, select, action, **level):
        """Whether it was acknowledged, and the response. With 202 it has not come to the level, and is in force here."""
        content = json.dumps({"select": select, "action": action, **level}).encode()
        response = await once(self.socket, "POST", "/v1/purges", ["Content-Type: application/json"], content)
        return response.status in (200, 202), response

    async def metrics(self):
        """The metrics of what is shared, by their names behind 'holdfast_fleet_'."""
        response = await once(self.socket, "GET", "/metrics")
        return {name: float(value) for name, value in re.findall(r"^holdfast_fleet_(\w+(?:\{[^}]*\})?) (\S+)$", response.body.decode(), re.M)}

    async def state(self):
        try:
            return await self.metrics()
        except FAILURES:
            return {}
