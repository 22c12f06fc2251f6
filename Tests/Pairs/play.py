"""Plays one row: a gateway, an origin, a mirror, three clients, and the cases of the probes."""

import asyncio
import collections
import itertools
import os
import random
import shutil
import signal
import ssl
import tempfile
import time

import clients
import settings
from gateway import Broken, Gateway
from oracle import Finding, Oracle, Rules
from origin import Log, Origin
from probes import HONEST, PROXY, SPELLINGS
from tokens import HOSTNAME, OPERATOR, ORDINARY, SECRET, Tokens
from world import PEM, Configuration, is_secure

ADDRESSES = {HONEST: settings.HONEST, PROXY: settings.PROXY, "stranger": settings.STRANGER}
CONTROL_TOKEN = "9f" * 32
LANES = 3


class Asked:
    """Who asked, and what for."""

    def __init__(self, case, party, host, scheme, method, secrets, request):
        """`secrets`: the fields with credentials, in lower case."""
        self.case, self.party, self.host, self.scheme = case, party, host, scheme
        self.method, self.secrets, self.request = method, secrets, request


class World:
    def __init__(self, row, seed, program, pem, make=Gateway):
        """`make`: a gateway of a program, a folder and variables of the environment."""
        self.row, self.pem = row, pem
        self.random = random.Random(seed)
        self.tokens, self.ticks = Tokens(self.random), itertools.count(1)
        self.log = Log(self.tokens, ADDRESSES, lambda: next(self.ticks), row.value("world:coding") == "gzip", row.value("world:validators"))
        self.origin, self.mirror = Origin("origin", self.log), Origin("mirror", self.log)
        self.oracle = Oracle(self.tokens, self.log, lambda party: party == PROXY and row.value("top:clients.trusted") is not None)
        self.findings, self.counts, self.connections = [], collections.Counter(), {}
        self.known, self.hosts, self.sent, self.stage, self.judged = {}, {}, {}, "start", 0
        self.folder = os.path.realpath(tempfile.mkdtemp(prefix="pairs."))
        self.secret = self.tokens.new("operator", OPERATOR, "x-operator-key")
        self.gateway = make(program, self.folder, {"PAIRS_SECRET": self.secret})
        self.transcript = []

    # Its life.

    async def play(self, cases):
        """The findings."""
        try:
            await self.start()
            await self.stages(cases)
        except (Broken, *clients.FAILURES) as error:
            self.add(Finding("harness", f"{type(error).__name__}: {error}"), None, None)
        finally:
            await self.end()
        return self.findings

    async def start(self):
        if self.pem:
            shutil.copy(self.pem, os.path.join(self.folder, PEM))
        # The control plane's token must not be the one for metrics.
        for name, token in [("pairs.token", CONTROL_TOKEN), ("metrics.token", CONTROL_TOKEN[::-1])]:
            with open(os.path.join(self.folder, name), "w") as file:
                os.fchmod(file.fileno(), 0o600)
                file.write(token)
        self.context = None
        if is_secure(self.row):
            self.oracle.port = 443
            self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self.context.load_cert_chain(self.pem)
        await self.origin.start(self.context)
        await self.mirror.start(self.context)
        self.configuration = Configuration(self.row, self.origin.port, self.mirror.port, bool(self.pem))
        await self.launch(is_late=False)

    async def launch(self, is_late):
        self.gateway.write(self.configuration.file(is_late))
        await self.gateway.start(self.configuration.kinds)
        self.use(is_late)

    def use(self, is_late):
        self.is_late = is_late
        row = self.row
        self.log.rules = self.oracle.rules = Rules(self.configuration.rule(is_late), row.set("route"), row.set("top"), row.set("origin"))

    async def end(self):
        for connection in self.connections.values():
            connection.close()
        await self.gateway.end()
        self.origin.stop()
        self.mirror.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    async def stages(self, cases):
        """Half of the cases are tried at each stage, the others at the last one alone: a stranger who
        has asked before has a response of its own."""
        early = [case for case in cases if case.number % 2 == 0]
        await self.all(cases, "first", "at first")
        if self.configuration.changes_late():
            self.gateway.write(self.configuration.file(True))
            await self.gateway.reload()
            self.use(True)
        turn, fault = self.row.value("world:turn"), self.row.value("world:fault")
        if turn != "nothing" or fault != "nothing":
            await self.all(early, "then", "online")
        await self.turn(turn, cases)
        if turn != "nothing" and fault != "nothing":
            await self.all(early, "then", f"after {turn}")
        if fault == "down":
            self.origin.refuse()
        else:
            self.origin.mood = fault
        stage = " and ".join(word for word in ("" if turn == "nothing" else f"after {turn}", "" if fault == "nothing" else f"origin: {fault}") if word)
        await self.all(cases, "then", stage or "online")

    async def turn(self, turn, cases):
        if turn == "reload":
            await self.gateway.reload()
        elif turn in ("expire", "remove"):
            select = {"tags": ["pairs"]} if self.oracle_tags() and self.random.random() < 0.5 else {"all": True}
            await self.gateway.purge(select, turn)
            if turn == "remove" and "all" in select:
                self.removed(cases)
        elif turn == "PURGE" and self.row.value("top:clients.purgers"):
            await self.purge_by_method([case for case in cases if case.number % 3 == 0])
        elif turn in ("restart", "kill"):
            await self.gateway.end(signal.SIGINT if turn == "restart" else signal.SIGKILL)
            for connection in self.connections.values():
                connection.close()
            await self.launch(self.is_late)

    def oracle_tags(self):
        return any(self.row.value(name) for name in ("rule:tags", "rule:tags-from", "route:tags-from"))

    def removed(self, cases, is_one_host=False):
        now = next(self.ticks)
        for case in cases:
            self.oracle.removed_at[case.number] = now, self.host(case) if is_one_host else None

    async def purge_by_method(self, cases):
        token = CONTROL_TOKEN
        if not self.row.value("top:control.tokens"):
            with open(os.path.join(self.folder, "store", "control.token")) as file:
                token = file.read().strip()
        connection = self.connection(0, PROXY, "http")
        for case in cases:
            fields = [("Authorization", f"Bearer {token}"), ("Fastly-Soft-Purge", "0")]
            response = await connection.exchange(clients.Request("PURGE", self.host(case), case.path(self.prefix), fields))
            if response is None or response.status != 200:
                raise Broken(f"PURGE gets {response.status if response else 'nothing'}: {response and response.decoded()}")
            self.removed([case], is_one_host=True)

    # Its requests.

    @property
    def prefix(self):
        return self.row.value("route:path") or ""

    def host(self, case):
        if case.number not in self.hosts:
            self.hosts[case.number] = self.tokens.new("all", HOSTNAME, "host") + ".pairs.test"
        return self.hosts[case.number]

    def way(self, who, way=None):
        way = way or self.row.value(f"world:{who}")
        if not self.pem:
            way = way.replace("tls", "http")
        if way == "proxied" and not self.configuration.trusts_proxy:
            way = "http"
        return way

    def connection(self, lane, who, way=None):
        key = lane, who, self.way(who, way)
        if key not in self.connections:
            self.connections[key] = clients.Connection(self.gateway, clients.Way(key[2], ADDRESSES[who]), settings.PROXY)
        return self.connections[key]

    async def all(self, cases, steps, stage):
        self.stage = stage
        todo = iter([case for case in cases if getattr(case, steps)])

        async def lane(number):
            for case in todo:
                await self.one(number, case, getattr(case, steps))
                if steps == "first" and case.is_quick:
                    await self.one(number, case, case.then)

        await asyncio.gather(*(lane(number) for number in range(LANES)))
        self.judge_servers()
        if self.gateway.has_ended:
            raise Broken("the gateway has ended:\n" + "\n".join(self.gateway.lines[-8:]))

    async def one(self, lane, case, steps):
        self.counts["cases"] += 1
        if case.together:
            await asyncio.gather(*(self.step((lane, number), case, step) for number, step in enumerate(steps)))
        else:
            for step in steps:
                await self.step(lane, case, step)

    async def step(self, lane, case, step):
        request = self.sent[case.number] if step.same else self.request(case, step)
        if not step.same and case.first and step is case.first[0]:
            self.sent[case.number] = request
        connection = self.connection(lane, step.who, step.way)
        scheme = "https" if connection.way.is_secure else "http"
        if step.scheme and self.oracle.is_trusted(step.who):
            scheme = step.scheme
        secrets = {name.lower() for name, _, kind in step.fields if kind == SECRET}
        asked = Asked(case, step.who, request.host, scheme, request.method, secrets, request)
        began = time.monotonic()
        response = await connection.exchange(request)
        # No world has a reason to wait.
        self.counts["late"] += time.monotonic() - began > 1
        self.counts["requests"] += 1
        self.transcript.append((self.stage, case, step.who, connection.way, request, response))
        if response is None:
            self.counts["without response"] += 1
            return
        for finding in self.oracle.of_response(asked, response):
            self.add(finding, case, len(self.transcript) - 1)

    def request(self, case, step):
        fields = [("User-Agent", "pairs/" + self.token(case, step.who, ORDINARY, "user-agent"))]
        for name, text, kind in step.fields:
            fields.append((name, text.format(self.token(case, step.who, kind, name)) if kind else text))
        content = self.token(case, step.who, step.content, "content").encode() if step.content else b""
        if content and step.method == "POST":
            content = b'{"query": "query { %s }"}' % content
        return clients.Request(step.method, SPELLINGS[step.spelling](self.host(case)), case.path(self.prefix, step.query), fields, content)

    def token(self, case, who, kind, name):
        key = case.number, who, kind, name
        if key not in self.known:
            self.known[key] = self.tokens.new(who, kind, name)
        return self.known[key]

    # Its judgment.

    def judge_servers(self):
        for made in self.log.received[self.judged:]:
            for finding in self.oracle.of_receipt(made):
                self.add(finding, None, None, made)
        self.judged = len(self.log.received)

    def add(self, finding, case, exchange, made=None):
        finding.case, finding.stage, finding.exchange, finding.made = case, self.stage, exchange, made
        if made is not None:
            finding.words += f" at '{made.request.first}'"
        self.findings.append(finding)
