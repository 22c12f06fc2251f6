"""Chromium, with a page of a hundred assets on two hosts, over HTTP/2 and TLS."""

import hashlib
import unittest
import urllib.parse

from browsers import CHROMIUM, launch
from parts import PATIENCE, PackageTest, stale
from replicas.site import COUNT, png


class Chromium(PackageTest):
    def setUp(self):
        if not CHROMIUM:
            self.skipTest("not run: Chromium is missing")
        super().setUp()
        from playwright.sync_api import sync_playwright

        self.playwright = sync_playwright().start()
        self.addCleanup(self.playwright.stop)
        self.browser = launch(self.playwright)
        self.addCleanup(self.browser.close)

    def load(self):
        """The page in a profile of its own: the digest of each response, by its path. No error of any kind."""
        context = self.browser.new_context(ignore_https_errors=True)
        context.set_default_timeout(PATIENCE * 1000)
        page = context.new_page()
        errors, responses = [], []
        page.on("console", lambda message: errors.append(message.text) if message.type in ("error", "warning") else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("requestfailed", lambda request: errors.append(f"{request.url}: {request.failure}"))
        page.on("response", lambda response: responses.append(response))  # noqa: PLW0108
        page.goto(self.gateway.url + "/", wait_until="load")
        page.wait_for_function("document.title === '20 scripts, 4 documents'")
        page.wait_for_load_state("networkidle")
        self.assertEqual([], errors)
        # A gateway that was started again has another port.
        content, host = {}, self.gateway.url.partition("://")[2].encode()
        for response in responses:
            self.assertEqual(200, response.status, response.url)
            self.assertTrue(response.url.startswith(self.gateway.url + "/"), f"{response.url} is not at the gateway")
            content[urllib.parse.urlsplit(response.url).path] = hashlib.sha256(response.body().replace(host, b"gateway")).hexdigest()
        protocols = page.evaluate("[...performance.getEntriesByType('resource'), ...performance.getEntriesByType('navigation')].map(each => each.nextHopProtocol)")
        self.assertEqual({"h2"}, set(protocols))
        context.close()
        return content

    def test_loads_a_site_of_a_hundred_assets_when_every_origin_is_gone(self):
        self.replica("site")
        self.authority.certify(["127.0.0.1", "localhost"], self.folder, "gateway")
        listener = f"listen:\n  - address: 127.0.0.1:0\n    tls: {{certificates: [{{name: main, chain: {self.folder}/gateway.pem, key: {self.folder}/gateway.key}}]}}\n"
        self.serve("21-site.yaml", more=listener, scheme="https")
        online = self.load()
        self.assertEqual(COUNT + 1, len(online))
        self.assertEqual(hashlib.sha256(png(7)).hexdigest(), online["/assets/png/7.png"])
        self.assertEqual(COUNT // 2, len([path for path in online if path.startswith("/assets/")]))
        self.lose_origins()
        self.assertEqual(online, self.load())
        self.gateway.stop()
        self.gateway.start()
        self.assertEqual(online, self.load())
        before, since = self.served()
        for lines in (before, since):
            self.assertEqual(online.keys(), {line["url.path"] for line in lines})
        self.assertEqual({"/"}, stale(since))
        self.assertEqual({"2"}, {line["network.protocol.version"] for line in since})


if __name__ == "__main__":
    unittest.main()
