"""The page of a running gateway: views, changes, outages, hostile content, other sites."""

import contextlib
import http.client
import http.server
import json
import os
import threading
import time
import unittest

from playwright.sync_api import expect

import made_up
from living import LONG, PROGRAM, Gateway
from look import SIZES, VIEWS, Look, wait_for

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"
)


@unittest.skipUnless(PROGRAM, "needs a built gateway: --gateway FOLDER")
class GatewayTest(unittest.TestCase):
    has_port = True

    @classmethod
    def setUpClass(cls):
        cls.gateway = Gateway(cls.has_port)
        cls.gateway.fill()

    @classmethod
    def tearDownClass(cls):
        cls.gateway.stop()

    @contextlib.contextmanager
    def look(self, size="desktop", theme="light", expected=()):
        look = Look(self, self.gateway.inspect(), size, theme, expected)
        try:
            look.open()
            look.page.locator(".source").wait_for()
            yield look
        finally:
            look.close()

    def responses(self, query=""):
        return json.loads(self.gateway.control(f"/v1/responses?limit=1000{query}")[2])["responses"]

    def find(self, end):
        return next(each for each in self.responses() if each["url"].endswith(end))


class Views(GatewayTest):
    def test_every_view_of_a_gateway_fits_and_is_accessible(self):
        for size, theme in zip(SIZES, ("light", "dark")):
            with self.look(size, theme) as look:
                for view in VIEWS:
                    with self.subTest(view=view, size=size, theme=theme):
                        if view == "response":
                            look.go(f"#/response/{self.find('/v1/vary')['id']}")
                        else:
                            look.show(view)
                        expect(look.page.get_by_role("alert")).to_have_count(0)
                        look.fits()
                        look.axe()

    def test_figures_of_a_gateway_are_shown(self):
        with self.look() as look:
            look.settle()
            text = look.page.locator("main").inner_text()
            self.assertIn("Serving normally", text)
            self.assertRegex(text, r"Hit ratio\s+\d")
            self.assertRegex(text, r"p50\s+\d")
            self.assertRegex(text, r"now\s+\d")
            look.show("not-stored")
            expect(look.page.locator("main")).to_contain_text("no-store")
            look.show("rules")
            expect(look.page.get_by_role("table", name="Rules").locator("tr", has_text="never").first).to_be_visible()

    def test_hostile_responses_of_a_gateway_are_text(self):
        with self.look() as look:
            hostile = [each for each in self.responses() if "hostile" in each["url"]]
            self.assertEqual(len(made_up.HOSTILE), len(hostile))
            for each in hostile:
                with self.subTest(url=each["url"]):
                    look.go(f"#/response/{each['id']}")
                    expect(look.page.get_by_role("table", name="Fields")).to_contain_text("Show all")
                    self.assertFalse(set(look.page.locator("main").inner_text()) & set("\u202e\u2066\u0007"))
                    look.fits()

    def test_the_first_paint_of_a_gateway_comes_within_300_ms(self):
        with self.look() as look:
            times = []
            for _ in range(5):
                look.page.reload()
                look.page.locator(".source").wait_for()
                times.append(look.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
            print(f"first contentful paint: {sorted(round(each) for each in times)} ms", end=" ")
            # The limit is the claim, so it stays. A busy machine slows some of the five, hardly the fastest.
            self.assertLess(min(times), 300)

    def test_a_value_as_long_as_an_origin_may_send_it_unfolds_whole(self):
        with self.look() as look:
            look.go(f"#/response/{next(each for each in self.responses() if 'hostile' in each['url'])['id']}")
            row = look.page.locator("tr", has_text="x-long")
            self.assertLess(len(row.inner_text()), 1000)
            row.get_by_role("button").click()
            self.assertEqual(LONG, look.page.get_by_role("region", name="The whole value").inner_text())
            look.axe()
            look.fits()
        # A longer one does not come into the store: the gateway rejects the response.
        self.assertEqual(502, self.gateway.get("/v1/too-long").status)
        self.assertEqual([], [each for each in self.responses() if "too-long" in each["url"]])


class Live(GatewayTest):
    def test_the_stream_ends_at_the_gateway_while_the_tab_is_hidden(self):
        with self.look() as look:
            live = look.page.locator("#live")
            expect(live).to_have_attribute("data-state", "live")
            wait_for(lambda: self.gateway.streams() == 1, "A stream")
            look.hide(True)
            expect(live).to_have_attribute("data-state", "hidden")
            wait_for(lambda: self.gateway.streams() == 0, "The end of the stream")
            look.hide(False)
            expect(live).to_have_attribute("data-state", "live")
            wait_for(lambda: self.gateway.streams() == 1, "The next stream")
        wait_for(lambda: self.gateway.streams() == 0, "The end of the stream of a closed tab")


class Outage(GatewayTest):
    def test_the_sentence_follows_an_outage(self):
        with self.look(expected=["status of 504"]) as look:
            title = look.page.locator(".source-title")
            expect(title).to_have_text("Serving normally")
            self.gateway.lose_origins()
            expect(title).to_have_text("Serving partly from the store")
            expect(look.page.locator(".sentence")).to_contain_text("has been unreachable for")
            expect(look.page.locator(".sentence")).to_contain_text("came from the store")
            expect(look.page.locator(".origins")).to_contain_text("next probe")
            self.gateway.second.stop()
            for _ in range(10):
                self.gateway.get("/images/no-store")
            expect(title).to_have_text("Serving from the store")
            self.gateway.give_origins_back()
            expect(title).to_have_text("Serving normally")
            look.show("outages")
            expect(look.page.locator("tbody tr").first).to_be_visible()


class Changes(GatewayTest):
    def change(self, look, button, confirm, ticks=False):
        look.page.get_by_role("button", name=button, exact=True).click()
        dialog = look.page.get_by_role("dialog")
        if ticks:
            dialog.get_by_role("checkbox").check()
        dialog.get_by_role("button", name=confirm, exact=True).click()
        dialog.get_by_role("button", name="Close").wait_for()
        text = dialog.inner_text()
        dialog.get_by_role("button", name="Close").click()
        return text

    def test_a_response_is_pinned_expired_fetched_again_and_removed(self):
        with self.look() as look:
            one = self.find("/v1/catalogue/7?page=1")
            look.go(f"#/response/{one['id']}")
            self.assertIn("Changed 1 response", self.change(look, "Pin", "Pin"))
            self.assertTrue(self.find("/catalogue/7?page=1")["pinned"])
            look.settle()
            self.assertIn("Changed 1 response", self.change(look, "Unpin", "Unpin"))
            self.assertFalse(self.find("/catalogue/7?page=1")["pinned"])
            look.settle()
            self.assertIn("Expired 1 response", self.change(look, "Expire", "Expire"))
            self.assertEqual("invalidated", self.find("/catalogue/7?page=1")["state"])
            look.settle()
            before = self.gateway.first.requests.count("/v1/catalogue/7?page=1")
            self.assertIn("Fetching", self.change(look, "Fetch again", "Fetch again"))
            look.show("purges")
            expect(look.page.get_by_role("table", name="Fetched again")).to_be_visible()
            look.go(f"#/response/{one['id']}")
            self.assertIn("Removed 1 response", self.change(look, "Remove", "Remove", ticks=True))
            self.assertGreaterEqual(self.gateway.first.requests.count("/v1/catalogue/7?page=1"), before)
            look.show("purges")
            expect(look.page.get_by_role("table", name="History").locator("tbody tr")).to_have_count(3)

    def test_a_response_is_compared_with_its_origin(self):
        with self.look() as look:
            look.go(f"#/response/{self.find('/v1/must')['id']}")
            look.page.get_by_role("button", name="Compare with the origin").click()
            expect(look.page.locator(".comparison")).to_contain_text("Status 200 stored, 200 from the origin. The body is the same.")

    def test_a_mode_is_set_and_ends(self):
        with self.look() as look:
            look.page.get_by_role("button", name="Change mode").click()
            dialog = look.page.get_by_role("dialog")
            dialog.get_by_label("Mode").select_option("offline")
            dialog.get_by_role("button", name="Change", exact=True).click()
            expect(dialog).to_contain_text("The mode is offline, until")
            dialog.get_by_role("button", name="Close").click()
            expect(look.page.locator(".source-title")).to_have_text("Serving from the store")
            expect(look.page.locator(".source-mode")).to_contain_text("then automatic")
            self.gateway.control("/v1/mode", "DELETE")
            expect(look.page.locator(".source-title")).to_have_text("Serving normally")

    def test_a_search_by_tag_and_host_is_performed_by_the_store(self):
        with self.look() as look:
            look.go("#/stored?tag=hostile")
            expect(look.page.locator("tbody tr")).to_have_count(len(made_up.HOSTILE))
            look.go("#/stored?host=127.0.0.1&order=-size")
            expect(look.page.locator("tbody tr")).to_have_count(50)
            look.page.get_by_role("link", name="Next page").click()
            expect(look.page.locator(".pages")).to_contain_text("Page 2")


class Attacker(http.server.BaseHTTPRequestHandler):
    def log_message(self, *arguments):
        pass

    def do_GET(self):
        body = b"<!DOCTYPE html><title>elsewhere</title><p>hello"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


class OtherSites(GatewayTest):
    TRIES = """async base => {
        const read = [];
        for (const path of ['/', '/page/app.js', '/v1/overview', '/v1/responses', '/v1/status', '/v1/events', '/metrics'])
            for (const mode of ['cors', 'no-cors']) {
                try { const r = await fetch(base + path, {mode}); const t = await r.text(); if (t) read.push(mode + path) } catch {}
            }
        for (const [path, body] of [['/v1/purges', '{"select":{"all":true},"action":"remove"}'], ['/v1/mode', '{"mode":"offline","for":"1h"}'], ['/v1/sessions', '{"code":"00"}'], ['/v1/inspections', '{}']])
            for (const type of ['application/json', 'text/plain'])
                for (const mode of ['cors', 'no-cors']) {
                    try { const r = await fetch(base + path, {method: path === '/v1/mode' ? 'PUT' : 'POST', mode, body, headers: {'Content-Type': type}}); const t = await r.text(); if (t) read.push(mode + path) } catch {}
                }
        const load = (element, name) => new Promise(done => { element.onload = () => { read.push(name); done() }; element.onerror = done; document.body.append(element) });
        await load(Object.assign(document.createElement('script'), {src: base + '/page/theme.js'}), 'script');
        await load(Object.assign(document.createElement('img'), {src: base + '/v1/responses'}), 'image');
        const frame = document.createElement('iframe'); frame.src = base + '/';
        await new Promise(done => { frame.onload = done; document.body.append(frame) });
        try { if (frame.contentDocument?.querySelector('main')) read.push('frame') } catch {}
        const opened = open(base + '/'); if (opened && opened.closed === false) { try { if (opened.document.querySelector('main')) read.push('window') } catch {} }
        return read }"""

    def state(self):
        return [json.loads(self.gateway.control(path)[2]) for path in ("/v1/purges", "/v1/mode")] + [len(self.responses())]

    def test_pages_of_other_sites_get_and_change_nothing(self):
        before = self.state()
        site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Attacker)
        threading.Thread(target=site.serve_forever, daemon=True).start()
        with self.look() as look:
            for host in (f"http://127.0.0.1:{site.server_port}", f"http://elsewhere.example:{site.server_port}"):
                with self.subTest(host=host):
                    other = look.context.new_page()
                    other.goto(host)
                    self.assertEqual([], other.evaluate(self.TRIES, self.gateway.origin))
                    other.close()
            look.requests.clear()
            look.errors.clear()
        site.shutdown()
        site.server_close()
        self.assertEqual(before, self.state())

    def test_a_name_that_was_bound_anew_gets_nothing(self):
        with self.look() as look:
            other = look.context.new_page()
            for path in ("/", "/page/app.js", "/v1/overview"):
                response = other.goto(f"http://rebound.example:{self.gateway.control_port}{path}")
                self.assertEqual(421, response.status)
                self.assertNotIn("<main", response.text())
            other.close()
            look.requests.clear()
            look.errors.clear()

    def test_a_code_is_good_once(self):
        address = self.gateway.inspect()
        code = address.split("#code=")[1]
        statuses = []
        for _ in range(2):
            connection = http.client.HTTPConnection("127.0.0.1", self.gateway.control_port)
            connection.request("POST", "/v1/sessions", json.dumps({"code": code}), {"Content-Type": "application/json"})
            statuses.append(connection.getresponse().status)
        self.assertEqual([200, 401], statuses)

    def test_assets_have_the_fields_that_keep_them_safe_and_hold_no_secret(self):
        for path in ("/", "/page/app.js", "/page/style.css"):
            connection = http.client.HTTPConnection("127.0.0.1", self.gateway.control_port)
            connection.request("GET", path)
            response = connection.getresponse()
            fields = {name.lower(): value for name, value in response.getheaders()}
            self.assertEqual(200, response.status)
            self.assertEqual(POLICY, fields["content-security-policy"])
            expected = {"referrer-policy": "no-referrer", "x-content-type-options": "nosniff", "cross-origin-opener-policy": "same-origin", "cross-origin-resource-policy": "same-origin", "cache-control": "no-store"}
            self.assertEqual(expected, {name: fields.get(name) for name in expected})
            self.assertNotIn("access-control-allow-origin", fields)
            self.assertNotIn("set-cookie", fields)


class Relay(GatewayTest):
    """A gateway with its socket alone: 'holdfast inspect' relays to it."""

    has_port = False

    def test_the_page_works_by_the_relay(self):
        with self.look() as look:
            expect(look.page.locator("#live-words")).to_have_text("Live")
            for view in ("stored", "origins", "configuration"):
                look.show(view)
            look.go(f"#/response/{self.find('/v1/must')['id']}")
            look.page.get_by_role("button", name="Expire").click()
            dialog = look.page.get_by_role("dialog")
            dialog.get_by_role("button", name="Expire").click()
            expect(dialog).to_contain_text("Expired 1 response")

    def test_other_sites_and_other_names_get_nothing_by_the_relay(self):
        with self.look() as look:
            port = look.origin.rsplit(":", 1)[1]
            other = look.context.new_page()
            response = other.goto(f"http://rebound.example:{port}/v1/overview")
            self.assertEqual(421, response.status)
            other.close()
            for path, fields, status in [("/v1/overview", {}, 401), ("/v1/overview", {"Origin": "http://elsewhere.example"}, 403)]:
                connection = http.client.HTTPConnection("127.0.0.1", int(port))
                connection.request("GET", path, headers=fields)
                self.assertEqual(status, connection.getresponse().status)
            look.requests.clear()
            look.errors.clear()


class Cost(GatewayTest):
    """A figure: a debug build takes several times as much as a release build."""

    def processor_seconds(self):
        fields = open(f"/proc/{self.gateway.process.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    @unittest.skipUnless(os.path.exists("/proc/self/stat"), "reads /proc")
    def test_five_pages_take_little_of_a_core(self):
        code = self.gateway.inspect().split("#code=")[1]
        login = http.client.HTTPConnection("127.0.0.1", self.gateway.control_port)
        login.request("POST", "/v1/sessions", json.dumps({"code": code}), {"Content-Type": "application/json"})
        token = json.loads(login.getresponse().read())["token"]
        streams = []
        for _ in range(5):
            connection = http.client.HTTPConnection("127.0.0.1", self.gateway.control_port)
            connection.request("GET", "/v1/events", headers={"Authorization": f"Bearer {token}"})
            streams.append(connection.getresponse())

        def read_events(count):
            for _ in range(count):
                for stream in streams:
                    while not stream.readline().startswith(b"data:"):
                        pass

        read_events(1)
        before, began = self.processor_seconds(), time.monotonic()
        read_events(6)
        share = (self.processor_seconds() - before) / (time.monotonic() - began)
        print(f"five pages: {share:.1%} of a core", end=" ")
        self.assertLess(share, 0.3)
        for stream in streams:
            stream.close()
