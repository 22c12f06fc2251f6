"""The Service that clients use: haproxy, which sends new connections to the pods that are ready.

It checks the path of the readiness probe, as often as the probe says. It never tries a second pod:
a refused connection is the client's failure.
"""

import asyncio
import contextlib
import csv
import os

from pods import DEFAULTS, Failed

FILE = """global
  stats socket {socket} level admin
defaults
  mode tcp
  retries 0
  timeout connect 5s
  timeout check {timeoutSeconds}s
  timeout client 1h
  timeout server 1h
listen gateways
  bind {address}:{port}
  balance roundrobin
  option httpchk GET {path}
  http-check expect status 200-399
  default-server inter {periodSeconds}s fall {failureThreshold} rise {successThreshold} check disabled
"""


class Balancer:
    def __init__(self, program, folder, network, service, names, container):
        self.program, self.names = program, names
        self.namespace, self.address = "service", network.attach("service")
        (self.port,) = (port["port"] for port in service["spec"]["ports"])
        self.file, self.socket = os.path.join(folder, "haproxy.cfg"), os.path.join(folder, "haproxy.sock")
        probe = {**DEFAULTS, **container["readinessProbe"]}
        with open(self.file, "w") as file:
            values = {**probe, "socket": self.socket, "address": self.address, "port": self.port, "path": probe["httpGet"]["path"]}
            file.write(FILE.format(**values))
            file.writelines(f"  server {name} {self.address}:1\n" for name in names)
        self.log = os.path.join(folder, "haproxy.log")

    async def start(self):
        with open(self.log, "ab") as log:
            self.process = await asyncio.create_subprocess_exec(
                "ip", "netns", "exec", self.namespace, self.program, "-db", "-f", self.file, stdout=log, stderr=log
            )
        while True:
            with contextlib.suppress(OSError):
                return await self.command("show info")
            if self.process.returncode is not None:
                raise Failed(f"haproxy does not start; see '{self.log}'")
            await asyncio.sleep(0.05)

    async def command(self, words):
        reader, writer = await asyncio.open_unix_connection(self.socket)
        writer.write(words.encode() + b"\n")
        reply = (await reader.read()).decode().strip()
        writer.close()
        return reply

    async def expect_done(self, words):
        reply = await self.command(words)
        if reply and "changed" not in reply and "no need to change" not in reply:
            raise Failed(f"haproxy replies to '{words}': {reply}")

    async def add(self, pod, port):
        """A started pod is not ready until its probe has succeeded. haproxy would believe it at once."""
        server = f"gateways/{pod.name}"
        await self.expect_done(f"set server {server} addr {pod.address} port {port}")
        # One line, so that no connection comes between the two.
        await self.expect_done(f"set server {server} state ready; set server {server} health down")

    async def remove(self, pod):
        """No new connections. Those to it stay."""
        await self.expect_done(f"set server gateways/{pod.name} state maint")

    async def states(self):
        """The state of each pod: 'UP' if it gets connections. haproxy adds the number of checks if some of them failed."""
        rows = csv.DictReader((await self.command("show stat")).removeprefix("# ").splitlines())
        return {row["svname"]: row["status"].split()[0] for row in rows if row["svname"] in self.names}

    async def until_ready(self, pod):
        while (await self.states())[pod.name] != "UP":
            if pod.process.returncode is not None:
                raise Failed(f"pod '{pod.name}' has ended by itself\n{pod.last_lines()}")
            await asyncio.sleep(0.05)
