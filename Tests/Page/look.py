"""A page in headless Chromium, watched: no error, no request to anywhere else, no script of a stranger."""

import contextlib
import os
import shutil
import time
import unittest

from axe_core_python.sync_playwright import Axe
from playwright.sync_api import expect, sync_playwright

import stub

CODE = "0f" * 16
SIZES = {"desktop": {"width": 1440, "height": 900}, "phone": {"width": 390, "height": 844}}
VIEWS = {
    "overview": "#/", "stored": "#/stored", "response": "#/response/0000000000000008?entry=0", "origins": "#/origins",
    "not-stored": "#/not-stored", "outages": "#/outages", "purges": "#/purges", "nodes": "#/nodes", "rules": "#/rules",
    "configuration": "#/configuration",
}
TITLES = {
    "overview": "Overview", "stored": "Stored", "response": "One response", "origins": "Origins", "not-stored": "Why not stored",
    "outages": "Outages", "purges": "Purges", "nodes": "Nodes", "rules": "Rules", "configuration": "Configuration",
}
# A guard against hanging, for machines under load; it passes unused if all is well.
PATIENCE = int(os.environ.get("PATIENCE", "300")) * 1000
expect.set_options(timeout=PATIENCE)


class Browser:
    """One Chromium for all tests."""

    def __init__(self):
        self.playwright = self.chromium = None

    def start(self):
        if self.chromium is None:
            program = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
            # Names of a foreign site that lead to this machine, as rebinding does it.
            options = ["--no-sandbox", "--host-resolver-rules=MAP *.example 127.0.0.1"]
            self.playwright = sync_playwright().start()
            self.chromium = self.playwright.chromium.launch(executable_path=program, args=options)
        return self.chromium

    def stop(self):
        if self.chromium is not None:
            self.chromium.close()
            self.playwright.stop()
            self.chromium = None


browser = Browser()


class Look:
    """A tab with the page. `close` fails if something happened that never may."""

    def __init__(self, test, address, size="desktop", theme="light", expected=()):
        self.test, self.address, self.expected = test, address, list(expected)
        self.origin = address.split("/#")[0].rstrip("/")
        self.context = browser.start().new_context(
            viewport=SIZES[size], color_scheme=theme, reduced_motion="reduce", has_touch=size == "phone",
            permissions=["clipboard-read", "clipboard-write"],
        )
        self.context.set_default_timeout(PATIENCE)
        # A canary of a stranger's script would be here, in any frame and before any other script.
        self.context.add_init_script("Object.defineProperty(window, 'canary', {set(v) { console.error('CANARY ' + v) }})")
        self.page = self.context.new_page()
        self.errors, self.requests = [], []
        self.page.on("console", lambda message: message.type in ("error", "warning") and self.errors.append(message.text))
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.errors.append(f"dialog {dialog.message}"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("popup", lambda _: self.errors.append("a window opened"))

    def open(self, view="overview", hash_=None):
        self.page.goto(self.address)
        self.page.locator(".source, .failed, .loading").first.wait_for()
        if view != "overview" or hash_:
            self.go(hash_ or VIEWS[view])
        return self

    def go(self, hash_):
        self.page.evaluate("hash => { location.hash = hash }", hash_)
        self.settle()

    def settle(self):
        """Waits until the view has all of its parts."""
        self.page.locator("main h1").first.wait_for(state="attached")
        expect(self.page.locator(".loading, [aria-busy]")).to_have_count(0)
        # The view may be another one by now.
        expect(self.page.locator(".charts:not(:has(.chart .grid))")).to_have_count(0)

    def show(self, view):
        self.go(VIEWS[view])
        expect(self.page.locator("main h1")).to_have_text(TITLES[view])

    def hide(self, is_hidden):
        """Hides the tab from its script, or shows it: a browser without a window hides none."""
        self.page.evaluate(
            """hidden => { Object.defineProperty(document, 'hidden', {value: hidden, configurable: true});
            document.dispatchEvent(new Event('visibilitychange')) }""",
            is_hidden,
        )

    def axe(self):
        """Checks the view, and says each finding in one line."""
        result = Axe().run(self.page)
        findings = [f"{each['id']}: {node['html'][:160]}" for each in result["violations"] for node in each["nodes"]]
        self.test.assertEqual([], findings)

    def fits(self):
        """Nothing is wider than the window."""
        width, inner = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        self.test.assertLessEqual(width, inner)

    def check(self):
        elsewhere = [url for url in self.requests if not url.startswith((self.origin + "/", "data:"))]
        self.test.assertEqual([], elsewhere)
        unexpected = [error for error in self.errors if not any(each in error for each in self.expected)]
        self.test.assertEqual([], unexpected)

    def close(self):
        self.context.close()
        self.check()


def wait_for(condition, what):
    """Waits until a condition of the gateway holds."""
    end = time.monotonic() + PATIENCE / 1000
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come about.")
        time.sleep(0.05)


class PageTest(unittest.TestCase):
    """A test with a stub of its own."""

    @contextlib.contextmanager
    def look(self, scenario="mixed", view="overview", size="desktop", theme="light", hash_=None, expected=()):
        server = stub.start(scenario)
        self.world = server.world
        look = Look(self, f"http://127.0.0.1:{server.server_port}/#code={CODE}", size, theme, expected)
        try:
            look.open(view, hash_)
            yield look
        finally:
            try:
                look.close()
            finally:
                self.world.ended = True
                self.world.set("origin")
                server.shutdown()
                server.server_close()

    def changes(self):
        """The requests that would have changed something, without dry runs and sessions."""
        return [
            (method, path, body) for method, path, body in self.world.requests
            if method != "GET" and not body.get("dryRun") and not path.startswith(("/v1/sessions", "/stub"))
        ]
