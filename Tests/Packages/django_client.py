"""Browsers of a real Django site behind the gateway: sessions, CSRF tokens, messages, the login and the admin."""

import concurrent.futures
import http.cookiejar
import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.parse
import urllib.request

from parts import PATIENCE, Gateway, recipe

SITE = pathlib.Path(__file__).with_name("django_site.py")
HOST = "www.example.com"
USER, PASSWORD = "ada-of-the-session", "engine"


class Browser:
    """Keeps cookies, has one of an analytics script from the start, and sends 'Origin' with forms, as browsers do."""

    def __init__(self, url, number=0):
        self.url = url
        self.jar = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(self.jar))
        host = urllib.parse.urlsplit(url).hostname
        self.jar.set_cookie(http.cookiejar.Cookie(
            0, "_ga", f"GA1.{number}", None, False, host, True, False, "/", True, False, None, False, None, None, {},
        ))  # fmt: skip

    def get(self, path):
        return self.open(urllib.request.Request(self.url + path))

    def post(self, path, **fields):
        return self.open(urllib.request.Request(self.url + path, urllib.parse.urlencode(fields).encode(), {"Origin": f"http://{HOST}"}))

    def open(self, request):
        request.add_header("Host", HOST)
        try:
            with self.opener.open(request, timeout=PATIENCE) as response:
                return response.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return f"{error.code} {error.read().decode()}"

    def token(self, path):
        found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', self.get(path))
        if not found:
            raise AssertionError(f"'{path}' has no token.")
        return found[1]

    def log_in(self):
        return self.post("/accounts/login/", username=USER, password=PASSWORD, csrfmiddlewaretoken=self.token("/accounts/login/"))


@unittest.skipUnless(importlib.util.find_spec("django"), "Django is not installed: 'pip install Django'.")
class DjangoTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.site = subprocess.Popen([sys.executable, str(SITE), folder.name], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.site.wait)
        self.addCleanup(self.site.kill)
        self.addCleanup(self.site.stdout.close)
        origin = f"http://127.0.0.1:{int(self.site.stdout.readline())}"
        text = recipe("23-django.yaml").replace("http://10.0.0.7:8000", origin)
        self.gateway = Gateway(self.folder, text, [], None, more=f'  "{origin}": {{timeouts: {{connect: 60 s}}}}\n')
        self.addCleanup(self.gateway.stop)

    def stored(self):
        """The bytes of the store."""
        self.gateway.stop()
        return b"".join(file.read_bytes() for file in (self.folder / "store").rglob("*") if file.is_file())

    def test_thirty_visitors_share_one_copy(self):
        first = Browser(self.gateway.url).get("/")
        self.assertTrue(first.endswith("cookies: []"), first)
        with concurrent.futures.ThreadPoolExecutor(30) as pool:
            pages = set(pool.map(lambda number: Browser(self.gateway.url, number).get("/"), range(30)))
        self.assertEqual(pages, {first})

    def test_sessions_reach_no_other_client_and_not_the_store(self):
        ada, visitor = Browser(self.gateway.url, 1), Browser(self.gateway.url, 2)
        self.assertTrue(visitor.get("/account/").startswith("visitor"))
        self.assertTrue(ada.log_in().startswith(USER))
        for _ in range(3):
            self.assertTrue(ada.get("/account/").startswith(USER))
            self.assertTrue(visitor.get("/account/").startswith("visitor"))
        session = next(cookie.value for cookie in ada.jar if cookie.name == "sessionid")
        ada.post("/accounts/logout/", csrfmiddlewaretoken=ada.token("/contact/"))
        self.assertTrue(ada.get("/account/").startswith("visitor"))
        stored = self.stored()
        for secret in (USER, session):
            self.assertNotIn(secret.encode(), stored)

    def test_pages_with_a_token_are_not_shared(self):
        browsers = [Browser(self.gateway.url, number) for number in range(30)]
        tokens = [browser.token("/contact/") for browser in browsers]
        self.assertEqual(len(set(tokens)), 30)
        for number, (browser, token) in enumerate(zip(browsers, tokens)):
            page = browser.post("/contact/", name=f"reader-{number}", csrfmiddlewaretoken=token)
            self.assertIn(f"['note to reader-{number}']", page)
        self.assertTrue(Browser(self.gateway.url).get("/contact/").startswith("[]"))
        stored = self.stored()
        for token in tokens:
            self.assertNotIn(token.encode(), stored)
        self.assertNotIn(b"note to reader", stored)

    def test_admin_works_and_is_not_stored(self):
        ada = Browser(self.gateway.url, 1)
        ada.post("/admin/login/?next=/admin/", username=USER, password=PASSWORD, csrfmiddlewaretoken=ada.token("/admin/login/"))
        self.assertIn("Site administration", ada.get("/admin/"))
        self.assertNotIn("Site administration", Browser(self.gateway.url, 2).get("/admin/"))
        self.assertNotIn(b"administration", self.stored())
