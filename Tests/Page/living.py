"""A running gateway with an origin that comes and goes, and with stored content of strangers."""

import contextlib
import http.client
import http.server
import os
import pathlib
import re
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.parse

import made_up

PROGRAM = os.environ.get("HOLDFAST_BIN") and os.path.join(os.environ["HOLDFAST_BIN"], "holdfast")
# All fields of an origin's response may have 64 KiB together, so this is as long as a value can be.
LONG = ("a canary <script>window.canary=9</script> " * 1600)[: 63 << 10].strip()
TOO_LONG = LONG + "x" * 1024


class Origin(http.server.BaseHTTPRequestHandler):
    """Its responses depend on the path: /no-store, /private, /vary, /hostile/N, /must, /too-long; else fresh for an hour."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        self.server.requests.append(self.path)
        fields = {"Content-Type": "application/json", "Cache-Control": "max-age=3600", "ETag": '"1"', "Surrogate-Key": "all"}
        body = b'{"price": 1}'
        parts = self.path.strip("/").split("/")
        if "no-store" in parts:
            fields["Cache-Control"] = "no-store"
        elif "private" in parts:
            fields["Cache-Control"] = "private"
        elif "must" in parts:
            fields["Cache-Control"] = "max-age=3600, must-revalidate"
        elif "vary" in parts:
            fields["Vary"] = "Accept-Language"
        elif "too-long" in parts:
            fields["X-Long"] = TOO_LONG
        elif "hostile" in parts:
            text = made_up.HOSTILE[int(parts[-1]) % len(made_up.HOSTILE)]
            fields |= {"Content-Type": "text/html", "X-Hostile": text.encode("utf-8").decode("latin-1").replace("\u0007", ""), "X-Long": LONG}
            fields["Surrogate-Key"] = "all hostile <b>tag</b>"
            body = f"<html><script>window.canary=7</script><svg onload=window.canary=8>{text}".encode()
        self.send_response(200)
        for name, value in (fields | {"Content-Length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128
    allow_reuse_address = True

    def __init__(self, port=0):
        self.requests, self.open = [], set()
        super().__init__(("127.0.0.1", port), Origin)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        # The end of an origin cuts what is under way.
        if not isinstance(sys.exc_info()[1], (ConnectionError, ValueError)):
            super().handle_error(request, client_address)

    def process_request(self, request, address):
        self.open.add(request)
        super().process_request(request, address)

    def shutdown_request(self, request):
        self.open.discard(request)
        super().shutdown_request(request)

    def stop(self):
        """Listens no more, and closes its connections, as a process that ends."""
        self.shutdown()
        self.server_close()
        for connection in list(self.open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


CONFIGURATION = """version: 1
listen: 127.0.0.1:0
store: {{path: store, budget: 64 MiB}}
drain: {{delay: 0 s}}
control: {{{control}socket: control.sock}}
routes:
  - {{name: api, host: 127.0.0.1, path: /v1, origin: "http://127.0.0.1:{first}/v1", tags-from: surrogate-key}}
  - {{name: images, host: 127.0.0.1, path: /images, origin: "http://127.0.0.1:{second}"}}
rules:
  - name: catalogue
    match: {{url: "http://127.0.0.1:{first}/v1/catalogue/**"}}
    stale: {{offline: 7 d}}
  - name: never
    match: {{url: "http://127.0.0.1:{first}/v1/nothing/**"}}
    freshness: {{lifetime: 5 m}}
"""


PLACES = {
    "port": r"holdfast listening on http://127\.0\.0\.1:(\d+)",
    "control": r"holdfast controlled by http://127\.0\.0\.1:(\d+)",
    "socket": r"holdfast controlled by (/.+)",
}


class Gateway:
    """`holdfast serve` in a temporary folder, with two origins.

    `tokens` has the scope of each token of its port by name, `more` are further lines of its file.
    """

    def __init__(self, has_port=True, tokens=None, more="", environment=None):
        self.relays = []
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="holdfast-page."))
        self.first, self.second = Server(), Server()
        self.first_port, self.second_port = self.first.server_port, self.second.server_port
        self.file = self.folder / "holdfast.yaml"
        control = 'listen: "127.0.0.1:0", ' if has_port else ""
        self.tokens = {name: secrets.token_hex(32) for name in tokens or {}}
        for name, token in self.tokens.items():
            os.close(os.open(self.folder / f"{name}.token", os.O_CREAT | os.O_WRONLY, 0o600))
            (self.folder / f"{name}.token").write_text(token)
        if tokens:
            control += f"tokens: [{', '.join(f'{{name: {name}, file: {name}.token, scope: {scope}}}' for name, scope in tokens.items())}], "
        self.file.write_text(CONFIGURATION.format(first=self.first_port, second=self.second_port, control=control) + more)
        self.log = self.folder / "log"
        self.log.touch()
        arguments = [PROGRAM, "serve", "--config", str(self.file)]
        # For work on the page without a build: its files are read from there.
        if os.environ.get("ASSETS"):
            arguments += ["--page-assets", os.environ["ASSETS"]]
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=self.folder, env=os.environ | (environment or {}))
        # It says where it listens and by which places it is controlled, in any order.
        places = {}
        while len(places) < (3 if has_port else 2):
            line = self.process.stdout.readline().decode()
            if not line:
                raise AssertionError(f"The gateway did not start: {self.log.read_text()}")
            self.note(line)
            for name, pattern in PLACES.items():
                if found := re.match(pattern, line):
                    places[name] = found[1]
        self.port, self.control_port = int(places["port"]), int(places.get("control", 0))
        self.reader = threading.Thread(target=lambda: [self.note(line.decode()) for line in self.process.stdout], daemon=True)
        self.reader.start()
        self.origin = f"http://127.0.0.1:{self.control_port}"

    def note(self, line):
        with open(self.log, "a") as log:
            log.write(line)

    def inspect(self):
        """The address of the page, with a code that is good once."""
        arguments = [PROGRAM, "inspect", "--config", str(self.file)]
        process = subprocess.Popen(arguments, cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        # Without a port of the gateway it stays and relays.
        self.relays.append(process)
        lines = []
        for line in process.stdout:
            lines.append(line)
            if found := re.search(r"http://\S+/#code=[0-9a-f]{32}", line):
                return found[0]
        raise AssertionError(f"'holdfast inspect' printed no address: {''.join(lines)}")

    def get(self, path, **fields):
        connection = http.client.HTTPConnection("127.0.0.1", self.port)
        connection.request("GET", path, headers={name.replace("_", "-"): value for name, value in fields.items()})
        response = connection.getresponse()
        response.read()
        connection.close()
        return response

    def control(self, path, method="GET", body=None, **fields):
        """A request by the socket: its status, fields and content."""
        connection = http.client.HTTPConnection("localhost")
        connection.sock = socket.socket(socket.AF_UNIX)
        connection.sock.connect(str(self.folder / "control.sock"))
        connection.request(method, path, body, {"Content-Type": "application/json"} | fields if body else fields)
        response = connection.getresponse()
        return response.status, dict(response.getheaders()), response.read()

    def streams(self):
        """The streams of events that pages read."""
        return int(re.search(rb"^holdfast_event_streams (\d+)$", self.control("/metrics")[2], re.MULTILINE)[1])

    def fill(self):
        """Traffic of all kinds."""
        for number in range(60):
            self.get(f"/v1/catalogue/{number}?page={number % 3}")
        for number in range(len(made_up.HOSTILE)):
            self.get(f"/v1/hostile/{urllib.parse.quote(made_up.HOSTILE[number], safe='')}/{number}")
        for path in ["no-store", "no-store", "private", "must", "%E2%80%AEgpj.exe", "%D7%90%D7%91/x"]:
            self.get(f"/v1/{path}")
        for language in ["en", "de", "<script>window.canary=10</script>"]:
            self.get("/v1/vary", accept_language=language)
        self.get("/images/a")
        for number in range(200):
            self.get(f"/v1/catalogue/{number % 60}?page={number % 3}")

    def lose_origins(self, both=False):
        self.first.stop()
        if both:
            self.second.stop()
        for _ in range(20):
            self.get("/v1/no-store")
            self.get("/v1/catalogue/1?page=1")
            if both:
                self.get("/images/no-store")

    def give_origins_back(self):
        self.first = Server(self.first_port)
        if self.second.socket.fileno() < 0:
            self.second = Server(self.second_port)

    def stop(self):
        for relay in self.relays:
            relay.terminate()
            relay.wait()
            relay.stdout.close()
        self.process.terminate()
        self.process.wait()
        self.reader.join()
        self.process.stdout.close()
        for server in (self.first, self.second):
            if server.socket.fileno() >= 0:
                server.stop()
        shutil.rmtree(self.folder, ignore_errors=True)
