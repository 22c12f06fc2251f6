"""The cookies that the gateway keeps, as PHP and Node read them from the request that it forwards."""

import base64
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import socket
import subprocess
import tempfile
import time
import unittest
import urllib.parse

from parts import PATIENCE, Gateway

HERE = pathlib.Path(__file__).parent
# Debian's modules; any other 'node' does not look there.
MODULES = "/usr/share/nodejs"
FILE = """version: 1
routes: [{origin: "ORIGIN"}]
rules: [{match: {url: "/**"}, cookies: {keep: [session, "wp_*"]}}]
"""

# Parsers disagree about most of these.
LINES = [
    "session=1", "session=1; _ga=GA1.2.3", "_ga=1; theme=dark", "wp_1=a; session=%41%20b; wp_=", "Session=1; session=2", "session==; wp_1=a=b=",
    'a="x; session=1"', 'a="; session=1; "', 'session="1"', 'session="a; wp_1=2"; _ga=1', 'a=\\"; session=1', "session.id=1", "session[]=1", "session[x]=1; session=2",
    "session=1; session[]=2", "s%65ssion=1", "session%00=1; session=2", "$Version=1; session=1", "$Version=1; session=1; $Path=/", "session=1; session=2",
    "session=1;wp_1=2", "session=1,wp_1=2", "session=1, wp_1=2", "session =1", "session= 1", "session=1 2", "session", "session; wp_1=2", "=1; session=2", "session=1;",
    "session=1;  wp_1=2", "session=\u00e9", "\u00e9=1; session=2", "session+=1", "session=1+2", "session=1\twp_1=2", 'session=1; "session"=2', "wp.1=1", "wp 1=1", "wp[1=1; wp_1=2",
]  # fmt: skip
PIECES = ["session", "Session", "wp_", "wp_1", "_ga", "a", "1", "=", "=", "; ", "; ", ";", " ", ",", '"', "\\", "\t", "[", "]", ".", "%41", "+", "$Version", "\u00e9", "-"]
SEEDS = range(400)


def random_line(seed):
    chosen = random.Random(seed)
    if chosen.random() < 0.5:
        return "".join(chosen.choices(PIECES, k=chosen.randint(1, 9)))
    names, values = ["session", "Session", "wp_", "wp_1", "_ga", "a", "wp-1"], ["", "1", "a=b", "%41", "!#$&'()*./:<>?@^`{|}~", '"x"', "x; session=9"]
    return "; ".join(f"{chosen.choice(names)}={chosen.choice(values)}" for _ in range(chosen.randint(1, 4)))


def strict(line):
    """The cookies of a line in the strict form of RFC 6265 §4.2.1; `None` if it has another form."""
    pairs = [re.fullmatch(r"([A-Za-z0-9_-]+)=([!#-+\--:<-\[\]-~]*)", part) for part in line.split("; ")]
    if not all(pairs) or len({pair[1] for pair in pairs}) < len(pairs):
        return None
    return [(pair[1], pair[2]) for pair in pairs]


class CookieTest:
    """The tests of one origin, which echoes the field and the cookies that it reads."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        origin = f"http://127.0.0.1:{self.start()}"
        text = FILE.replace("ORIGIN", origin)
        self.gateway = Gateway(pathlib.Path(folder.name), text, [], None, more=f'  "{origin}": {{timeouts: {{connect: 60 s}}}}\n')
        self.addCleanup(self.gateway.stop)
        address = urllib.parse.urlsplit(self.gateway.url)
        self.client = http.client.HTTPConnection(address.hostname, address.port, timeout=PATIENCE)
        self.addCleanup(self.client.close)

    def run_origin(self, command, **options):
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def echo(self, path, line=None):
        self.client.request("GET", path, headers={} if line is None else {"Cookie": line.encode()})
        response = self.client.getresponse()
        content = response.read()
        self.assertEqual(response.status, 200, content)
        return json.loads(content)

    def check(self, number, line):
        got = self.echo(f"/{number}", line)
        raw = None if got["raw"] is None else base64.b64decode(got["raw"]).decode()
        cookies = strict(line)
        if cookies is None:
            self.assertEqual(raw, line, "a field that cannot be read passes unchanged")
        else:
            kept = [(name, value) for name, value in cookies if name == "session" or name.startswith("wp_")]
            self.assertEqual(raw or "", "; ".join(f"{name}={value}" for name, value in kept))
            self.assertEqual(got["cookies"], {name: urllib.parse.unquote(value) for name, value in kept})
        # No other client gets anything that a cookie influenced.
        self.assertEqual(self.echo(f"/{number}"), {"raw": None, "cookies": {}})

    def test_kept_cookies_are_read_as_they_were_sent(self):
        for number, line in enumerate(LINES):
            with self.subTest(line=line):
                self.check(number, line)

    def test_random_fields(self):
        for seed in SEEDS:
            line = random_line(seed).strip(" \t")
            with self.subTest(seed=seed, line=line):
                if line:
                    self.check(f"random/{seed}", line)


class PHPTest(CookieTest, unittest.TestCase):
    def start(self):
        if not shutil.which("php"):
            self.fail("PHP is not installed. Debian has it in 'php-cli'.")
        # PHP does not say which port it took, so another process may take this one first.
        for _ in range(10):
            with socket.create_server(("127.0.0.1", 0)) as free:
                port = free.getsockname()[1]
            process = self.run_origin(["php", "-n", "-S", f"127.0.0.1:{port}", str(HERE / "cookie_origin.php")], stdout=subprocess.DEVNULL)
            while process.poll() is None:
                try:
                    socket.create_connection(("127.0.0.1", port), PATIENCE).close()
                    return port
                except ConnectionRefusedError:
                    time.sleep(0.01)
        return self.fail("PHP's server does not start: try 'php -S 127.0.0.1:8000'.")


class NodeTest(CookieTest, unittest.TestCase):
    def start(self):
        if not shutil.which("node"):
            self.fail("Node is not installed. Debian has it in 'nodejs'.")
        paths = os.pathsep.join(filter(None, [os.environ.get("NODE_PATH"), MODULES]))
        process = self.run_origin(["node", str(HERE / "cookie_origin.js")], stdout=subprocess.PIPE, text=True, env=os.environ | {"NODE_PATH": paths})
        self.addCleanup(process.stdout.close)
        line = process.stdout.readline()
        if not line:
            self.fail("Node's origin does not start. It needs the module 'cookie', which Debian has in 'node-cookie'.")
        return int(line)
