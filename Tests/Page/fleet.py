"""The page of a fleet: two gateways that share purges by a Redis, and tokens that open less than all."""

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import unittest

from playwright.sync_api import expect

from living import PROGRAM, Gateway
from look import TITLES, VIEWS, Look, wait_for

REDIS = shutil.which("redis-server") or shutil.which("valkey-server")
SECTION = "fleet: {{url: 'redis://127.0.0.1:{port}', namespace: page, node: {node}, secret: {{env: FLEET_SECRET}}}}\n"
SCOPES = {"reader": "read", "deploy": "purge"}


class Redis:
    """A Redis that keeps nothing."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="holdfast-page-redis.")
        self.process = None
        while self.process is None:
            with socket.socket() as found:
                found.bind(("127.0.0.1", 0))
                self.port = found.getsockname()[1]
            arguments = [REDIS, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", self.folder]
            process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            # It answers, or it has ended because its port was taken.
            wait_for(lambda: process.poll() is not None or self.answers(), "A Redis")
            self.process = process if process.poll() is None else None

    def answers(self):
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(7) == b"+PONG\r\n"
        return False

    def stop(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


@unittest.skipUnless(PROGRAM, "needs a built gateway: --gateway FOLDER")
@unittest.skipUnless(REDIS, "needs redis-server or valkey-server")
class FleetTest(unittest.TestCase):
    def setUp(self):
        self.redis = Redis()
        self.addCleanup(self.redis.stop)
        self.gateways = []
        for node in ("gw-1", "gw-2"):
            own = SECTION.format(port=self.redis.port, node=node)
            gateway = Gateway(tokens=SCOPES, more=own, environment={"FLEET_SECRET": "5" * 64})
            self.addCleanup(gateway.stop)
            self.gateways.append(gateway)
        for index in range(2):
            wait_for(lambda: self.sees(index), f"The fleet of gw-{index + 1}")

    def state(self, index):
        return json.loads(self.gateways[index].control("/v1/status")[2]).get("fleet") or {}

    def sees(self, index, **more):
        """Whether a gateway follows the log and has seen the other one."""
        own = self.state(index)
        wanted = {"name": f"gw-{2 - index}"} | more
        return own.get("state") == "following" and any(wanted.items() <= node.items() for node in own["nodes"])

    def state(self, index, end):
        responses = json.loads(self.gateways[index].control("/v1/responses?limit=1000")[2])["responses"]
        return next((each["state"] for each in responses if each["url"].endswith(end)), None)

    @contextlib.contextmanager
    def look(self, address, expected=()):
        look = Look(self, address, expected=expected)
        try:
            yield look
        finally:
            look.close()


class Nodes(FleetTest):
    def row(self, look):
        look.show("overview")
        look.show("nodes")
        return look.page.get_by_role("table", name="Other nodes").locator("tbody tr", has_text="gw-2")

    def test_a_node_that_is_behind_and_an_engine_that_is_away_are_shown(self):
        with self.look(self.gateways[0].inspect()) as look:
            look.open()
            expect(self.row(look)).to_contain_text("up to date")
            facts = look.page.locator(".facts")
            expect(facts).to_contain_text("gw-1")
            expect(facts).to_contain_text("following")
            look.axe()
            os.kill(self.gateways[1].process.pid, signal.SIGSTOP)
            try:
                self.gateways[0].control("/v1/purges", "POST", '{"select": {"tags": ["all"]}}')
                wait_for(lambda: self.sees(0, behind=1), "A node that is behind")
                expect(self.row(look)).to_contain_text("behind")
            finally:
                os.kill(self.gateways[1].process.pid, signal.SIGCONT)
            wait_for(lambda: self.sees(0, behind=0), "A node that has caught up")
            expect(self.row(look)).to_contain_text("up to date")
            self.redis.stop()
            wait_for(lambda: self.state(0)["state"] != "following", "The end of the log")
            self.gateways[0].control("/v1/purges", "POST", '{"select": {"tags": ["all"]}}')
            wait_for(lambda: self.state(0)["waiting"] == 1, "A purge that waits")
            look.show("overview")
            look.show("nodes")
            expect(look.page.locator(".facts")).not_to_contain_text("following")
            expect(look.page.locator(".facts div", has_text="Unsent purges")).to_contain_text("1")
            look.show("overview")
            expect(look.page.locator(".sentence")).to_contain_text("Purges from other nodes are not received")
            look.axe()


class Scopes(FleetTest):
    """Tokens of the port, typed by hand. Nothing is offered that the gateway would reject."""

    OPERATE = ["Change mode", "Reload", "Pin", "Unpin", "Compare with the origin", "Pin all matches"]
    PURGE = ["Expire", "Remove", "Fetch again", "Expire all matches", "Remove all matches"]

    @contextlib.contextmanager
    def session(self, token, expected=()):
        gateway = self.gateways[0]
        with self.look(f"{gateway.origin}/#", expected) as look:
            look.page.goto(gateway.origin + "/")
            look.page.get_by_label("Or use a control-plane token").fill(gateway.tokens[token])
            look.page.get_by_role("button", name="Open").click()
            look.page.locator(".source").wait_for()
            yield look

    def one(self, path):
        """A response that both gateways have, as the first one lists it."""
        for gateway in self.gateways:
            gateway.get(path)
        listed = json.loads(self.gateways[0].control("/v1/responses")[2])["responses"]
        return next(each for each in listed if each["url"].endswith(path))

    def offered(self, look, names):
        return [name for name in names if look.page.get_by_role("button", name=name, exact=True).count()]

    def test_a_scope_is_offered_what_it_opens(self):
        secret, plain = self.one("/v1/catalogue/7?page=1"), self.one("/v1/must")
        for token, purging in (("reader", []), ("deploy", ["Expire", "Remove", "Fetch again"])):
            with self.subTest(token=token), self.session(token) as look:
                for view in VIEWS:
                    hash_ = f"#/response/{plain['id']}" if view == "response" else VIEWS[view]
                    look.go(hash_)
                    expect(look.page.locator("main h1")).to_have_text(TITLES[view])
                    expect(look.page.get_by_role("alert")).to_have_count(0)
                    if view == "response":
                        expect(look.page.get_by_role("table", name="Fields")).to_be_visible()
                        self.assertEqual(sorted(purging), sorted(self.offered(look, self.PURGE)))
                    self.assertEqual([], self.offered(look, self.OPERATE))
                    look.axe()
                # A URL that is not known in full selects nothing.
                look.go(f"#/response/{secret['id']}")
                expect(look.page.locator(".response-url")).to_contain_text("?REDACTED")
                expect(look.page.get_by_role("table", name="Fields")).to_be_visible()
                self.assertNotIn("page=1", look.page.locator("main").inner_text())
                self.assertEqual([], self.offered(look, self.OPERATE + self.PURGE))
                look.go("#/stored?tag=all")
                expect(look.page.locator("tbody tr")).to_have_count(2)
                matching = ["Expire all matches", "Remove all matches"] if purging else []
                self.assertEqual(matching, self.offered(look, self.PURGE))

    def test_the_gateway_rejects_what_the_page_does_not_offer(self):
        for token, statuses in (("reader", [403, 403, 403, 200]), ("deploy", [403, 403, 200, 200])):
            with self.subTest(token=token), self.session(token, ["status of 403"]) as look:
                tried = look.page.evaluate(
                    """async () => { const all = [];
                    for (const [method, path, body] of [['PUT', '/v1/mode', '{"mode": "offline", "for": "1h"}'], ['GET', '/v1/explain?url=http%3A%2F%2Fa.example%2F'],
                            ['POST', '/v1/purges', '{"select": {"tags": ["none"]}}'], ['GET', '/v1/overview']])
                        all.push((await fetch(path, {method, body, headers: {Authorization: `Bearer ${sessionStorage.getItem('holdfast.token')}`, ...body && {'Content-Type': 'application/json'}}})).status);
                    return all }"""
                )
                self.assertEqual(statuses, tried)

    def test_a_purge_of_the_page_reaches_the_other_gateway(self):
        end = "/v1/catalogue/7?page=1"
        one = self.one(end)
        self.assertEqual(["fresh", "fresh"], [self.state(index, end) for index in range(2)])
        with self.session("deploy") as look:
            look.go("#/stored?tag=all")
            look.page.get_by_role("button", name="Expire all matches").click()
            dialog = look.page.get_by_role("dialog")
            dialog.get_by_role("button", name="Expire", exact=True).click()
            expect(dialog).to_contain_text("Expired 1 response")
            self.assertEqual("invalidated", self.state(0, end))
            wait_for(lambda: self.state(1, end) == "invalidated", "The purge at the other gateway")
            look.page.get_by_role("dialog").get_by_role("button", name="Close").click()
            look.go(f"#/response/{one['id']}")
            expect(look.page.locator("main")).to_contain_text("invalidated")
