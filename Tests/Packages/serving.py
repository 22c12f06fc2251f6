"""Serves the hosts of one replica, in a process of its own: serving.py NAME FOLDER.

Each host listens on a free port of 127.0.0.1, with TLS; with `REPLICAS_HAVE_ADDRESSES` set, on port
443 of the address that its name resolves to. One line on standard output says where:
a JSON object of names and ports. FOLDER has what the replica serves, `host.pem` and `host.key`, and
gets `requests.jsonl`, a line for each request.
"""

import dataclasses
import email.utils
import gzip
import hashlib
import http.server
import importlib
import json
import os
import pathlib
import socket
import ssl
import sys
import threading
import urllib.parse

RELEASED, LATER = (email.utils.formatdate(1_760_000_000 + days * 86_400, usegmt=True) for days in (0, 1))


@dataclasses.dataclass
class Request:
    method: str
    target: str
    fields: dict
    body: bytes

    @property
    def path(self):
        return self.target.partition("?")[0]

    @property
    def query(self):
        return dict(urllib.parse.parse_qsl(self.target.partition("?")[2]))


@dataclasses.dataclass
class Response:
    status: int = 200
    fields: dict = dataclasses.field(default_factory=dict)
    body: bytes = b""


# As from a CDN whose copy is of two hours ago: it is stale on arrival, so that offline it is like the page of an earlier day.
OLD = "7200"
NOT_FOUND = Response(404, {"Content-Type": "text/plain"}, b"not found")


def of(body, media_type, request, **fields):
    """A 200 with a strong ETag, or a 304; coded where the client reads gzip and the content is text, as at the real ones."""
    named = {name.replace("_", "-"): value for name, value in fields.items()}
    is_text = not media_type.startswith("application/octet") and media_type not in ("application/gzip", "binary/octet-stream", "image/png")
    if is_text and "gzip" in request.fields.get("accept-encoding", ""):
        body = gzip.compress(body, mtime=0)
        named["Content-Encoding"] = "gzip"
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    named = {"ETag": tag, "Last-Modified": RELEASED} | named
    conditions = request.fields
    if tag in conditions.get("if-none-match", "") or (
        "if-none-match" not in conditions and conditions.get("if-modified-since") == named["Last-Modified"]
    ):
        return Response(304, {name: value for name, value in named.items() if name != "Content-Encoding"})
    return Response(200, named | {"Content-Type": media_type}, body)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def content(self):
        if self.headers.get("Transfer-Encoding", "").lower() != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline() not in (b"\r\n", b""):
            pass
        return b"".join(pieces)

    def respond(self):
        request = Request(self.command, self.path, {name.lower(): ", ".join(self.headers.get_all(name)) for name in self.headers}, self.content())
        response = self.server.answer(request)
        self.server.note(request, response)
        self.send_response(response.status)
        for name, value in response.fields.items():
            self.send_header(name, value)
        if response.status != 304:
            self.send_header("Content-Length", str(len(response.body)))
        self.end_headers()
        if self.command != "HEAD" and response.status != 304:
            self.wfile.write(response.body)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = respond


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, name, answer, folder):
        super().__init__((socket.gethostbyname(name), 443) if os.environ.get("REPLICAS_HAVE_ADDRESSES") else ("127.0.0.1", 0), Handler)
        self.name, self.answer = name, answer
        self.file = open(folder / "requests.jsonl", "a")  # noqa: SIM115
        self.lock = threading.Lock()
        self.secure(folder)

    def secure(self, folder):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "host.pem", folder / "host.key")
        # Each connection's own thread makes the handshake.
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def note(self, request, response):
        line = {
            "host": self.name, "method": request.method, "target": request.target, "status": response.status, "via": request.fields.get("via"),
            "asked": request.fields.get("host"), "agent": request.fields.get("user-agent"), "credentials": "authorization" in request.fields,
        }  # fmt: skip
        with self.lock:
            self.file.write(json.dumps(line) + "\n")
            self.file.flush()

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (ConnectionError, ssl.SSLError)):
            super().handle_error(request, client_address)


def main():
    replica, folder = importlib.import_module(f"replicas.{sys.argv[1]}"), pathlib.Path(sys.argv[2])
    servers = [Server(name, answer, folder) for name, answer in replica.hosts(folder, *sys.argv[3:]).items()]
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    print(json.dumps({server.name: server.server_port for server in servers}), flush=True)
    # The test that started it holds the other end: it ends with that test at the latest.
    sys.stdin.read()


if __name__ == "__main__":
    main()
