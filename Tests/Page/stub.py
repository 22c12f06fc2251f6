#!/usr/bin/env python3
"""Serves the page without a gateway, with made-up data: for development, and for the states in
which a gateway cannot be put at will. With --socket, what the stub does not make up is relayed to
the control socket of a running gateway.

    Tests/Page/stub.py --port 9801 --scenario mixed

Scenarios: origin, mixed, store, hostile, new; and broken (503), slow (no response comes).
POST /stub?scenario=NAME changes it. The token is any; "wrong" is rejected."""

import argparse
import http.client
import http.server
import json
import pathlib
import re
import socket
import sys
import threading
import urllib.parse

import made_up

ASSETS = pathlib.Path(__file__).resolve().parents[2] / "Sources/HoldfastControl/Page/Assets"
TYPES = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8"}
FIELDS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class World:
    """The state of the stub. Its streams wait for `changed`, and tests see the requests."""

    def __init__(self, scenario, socket_path):
        self.scenario, self.socket_path = scenario, socket_path
        self.changed = threading.Condition()
        self.requests, self.streams, self.scope = [], 0, "operate"
        self.mode = None
        # Ends every stream for good, or one of them.
        self.ended = self.cut = False
        # Streams end after one event; streams have no more events.
        self.short = self.silent = False
        # A path that fails, changes that fail, a session that has ended, the keys of changes.
        self.failing, self.failing_changes, self.has_ended, self.keys = None, False, False, []
        # Other counts of a purge; no socket to name.
        self.matched, self.without_socket = {}, False
        # Members that the overview does not have.
        self.lacking = ()

    def set(self, scenario):
        with self.changed:
            self.scenario = scenario
            self.changed.notify_all()

    def overview(self):
        value = made_up.overview(self.scenario)
        if self.without_socket:
            value = value | {"control": {}}
        value = {name: member for name, member in value.items() if name not in self.lacking}
        return value | ({"mode": self.mode} if self.mode else {})


class Socket(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("localhost")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    world = None

    def log_message(self, *arguments):
        pass

    def send(self, status, content, kind="application/json", fields=()):
        data = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in [*dict(fields).items(), ("Content-Type", kind), ("Content-Length", str(len(data)))]:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def problem(self, status, code, detail, fields=()):
        body = {"type": f"urn:holdfast:problem:{code}", "title": code.replace("-", " ").capitalize(), "status": status, "detail": detail}
        self.send(status, body, "application/problem+json", fields)

    def body(self):
        return json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")

    def do_GET(self):
        self.route()

    do_POST = do_PUT = do_DELETE = do_GET

    def route(self):
        parts = urllib.parse.urlsplit(self.path)
        query = {name: values[0] for name, values in urllib.parse.parse_qs(parts.query).items()}
        body = self.body() if self.command in ("POST", "PUT") else {}
        self.world.requests.append((self.command, self.path, body))
        if parts.path == "/stub":
            self.world.set(query.get("scenario", self.world.scenario))
            self.world.scope = query.get("scope", self.world.scope)
            return self.send(200, {"streams": self.world.streams})
        if parts.path == "/" or parts.path.startswith("/page/"):
            return self.asset(parts.path.removeprefix("/page").lstrip("/") or "index.html")
        if parts.path == "/favicon.ico":
            return self.send(204, b"")
        if parts.path == "/v1/sessions" and self.command == "POST":
            if body.get("code") != "0f" * 16:
                return self.problem(401, "code-not-valid", "The code is wrong, already used, or older than 60 s. Run 'holdfast inspect' again.")
            return self.send(200, {"token": "t" * 64, "client": "uid 1000", "scope": self.world.scope, "expiresAt": made_up.instant(28800)})
        if self.headers.get("Authorization") in (None, "Bearer wrong"):
            return self.problem(401, "token-not-valid", "A token is required.")
        if self.world.has_ended:
            return self.problem(401, "token-not-valid", "The session has ended.")
        if self.world.failing and parts.path == self.world.failing:
            return self.problem(500, "store-failed", "It fails on purpose.")
        if parts.path == "/v1/purges" and self.command == "POST" and not body.get("dryRun"):
            self.world.keys.append(self.headers.get("Idempotency-Key"))
            if self.world.failing_changes:
                return self.problem(500, "store-failed", "It fails on purpose.")
        if self.world.scenario == "broken":
            return self.problem(503, "store-failed", "The store cannot be read: the disk is gone.")
        if self.world.scenario == "slow":
            with self.world.changed:
                self.world.changed.wait_for(lambda: self.world.scenario != "slow")
        if parts.path == "/v1/events":
            return self.events()
        made = self.made_up(parts.path, query, body)
        if made is not None:
            return self.send(200, made)
        if self.world.socket_path:
            return self.relay(body)
        return self.problem(404, "not-found", f"'{parts.path}' is unknown.")

    def asset(self, name):
        if not re.fullmatch(r"[a-z0-9-]+\.(html|css|js)", name) or not (ASSETS / name).is_file():
            return self.problem(404, "not-found", "There is no such asset.")
        return self.send(200, (ASSETS / name).read_bytes(), TYPES[pathlib.Path(name).suffix], FIELDS)

    def events(self):
        if self.world.scenario == "full":
            return self.problem(503, "too-many-streams", "16 streams are read.", {"Retry-After": "5"})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        self.world.streams += 1
        try:
            while not self.world.ended and not self.world.cut:
                while self.world.silent and not self.world.ended:
                    with self.world.changed:
                        self.world.changed.wait(1)  # lets time pass
                data = json.dumps(self.world.overview())
                self.wfile.write(f"event: overview\ndata: {data}\n\n".encode())
                self.wfile.flush()
                if self.world.short:
                    break
                with self.world.changed:
                    self.world.changed.wait(1)  # lets time pass
        except OSError:
            pass
        finally:
            self.world.streams -= 1
            self.world.cut = False
            self.close_connection = True

    def made_up(self, path, query, body):
        name, world = self.world.scenario, self.world
        if self.command == "DELETE" and path == "/v1/sessions":
            return {}
        if path == "/v1/mode" and self.command == "PUT":
            until = {"until": made_up.instant(3600)} if "for" in body else {}
            world.mode = {"mode": body["mode"], "configured": "automatic"} | until
            return world.mode
        if path == "/v1/purges" and self.command == "POST":
            matched = {"responses": 412, "bytes": 90112000, "onlyOfflineCopies": 37, "exact": True} | world.matched
            done = {} if body.get("dryRun") else {"sequence": 8126}
            return {"action": body.get("action", "expire"), "dryRun": bool(body.get("dryRun")), "matched": matched} | done | ({"refreshing": 412} if "refresh" in body and done else {})
        if path == "/v1/pins" and self.command == "POST":
            pins = {"entries": 12, "bytes": 819200, "limit": 536870912}
            return {"pinned": body["pinned"], "dryRun": bool(body.get("dryRun")), "matched": {"responses": 1, "bytes": 1234, "pinned": 0, "exact": True}, "changed": 1, "pins": pins}
        if path.endswith("/comparison"):
            return made_up.comparison()
        if path == "/v1/reload":
            return {"outcome": "reloaded", "at": made_up.instant(), "by": "uid 1000", "findings": [], "changed": [{"setting": "mode", "from": "automatic", "to": "online"}], "kept": []}
        if path.startswith("/v1/responses/") and self.command == "GET":
            return made_up.variants(path.rsplit("/", 1)[1])
        status = world.overview() | {"invalidationSequence": 8125, "fleet": made_up.FLEET if name != "new" else None}
        pages = {
            "/v1/sessions": lambda: {"client": "uid 1000", "scope": world.scope, "expiresAt": made_up.instant(28800)},
            "/v1/overview": world.overview, "/v1/status": lambda: status, "/v1/history": lambda: made_up.history(name, query["window"]),
            "/v1/origins": lambda: {"origins": status["origins"], "more": False}, "/v1/responses": lambda: made_up.responses(query) if name != "new" else {"responses": []},
            "/v1/explain": lambda: made_up.explanation(query["url"]), "/v1/not-stored": lambda: made_up.not_stored(name),
            "/v1/outages": lambda: made_up.outages(name), "/v1/rules": lambda: made_up.rules(name), "/v1/purges": lambda: made_up.purges(name),
            "/v1/refreshes": lambda: made_up.refreshes(name), "/v1/configuration": made_up.configuration,
        }
        return pages[path]() if path in pages and self.command == "GET" else None

    def relay(self, body):
        connection = Socket(self.world.socket_path)
        fields = {"Content-Type": "application/json"} if body else {}
        connection.request(self.command, self.path, json.dumps(body) if body else None, fields)
        response = connection.getresponse()
        self.send(response.status, response.read(), response.getheader("Content-Type", "application/json"))


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        # A tab that leaves takes its requests with it.
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


def start(scenario="origin", port=0, socket_path=None):
    """Starts the stub, and gives its server; `server.world` is its state."""
    world = World(scenario, socket_path)
    handler = type("StubHandler", (Handler,), {"world": world})
    server = Server(("127.0.0.1", port), handler)
    server.world = world
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--scenario", default="mixed")
    parser.add_argument("--socket", help="the control socket of a running gateway")
    options = parser.parse_args()
    running = start(options.scenario, options.port, options.socket)
    print(f"http://127.0.0.1:{running.server_port}/#code={'0f' * 16}", flush=True)
    threading.Event().wait()
