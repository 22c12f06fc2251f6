"""The list of 5,000 requests, and the origin that answers them: what it answers depends on the request alone."""

import hashlib
import http.server
import json
import random
import ssl
import threading
import time

from replicas import site

# How often each kind is in the list.
KINDS = {"GET": 3_000, "ranges": 600, "variants": 600, "duplicates": 400, "POST": 300, "streams": 100}
LANGUAGES = ("de", "en", "fr")
# So many threads ask the same at the same moment.
AT_ONCE = 8


def requests():
    """Groups of requests: each is a kind, a method, a path, fields and content. All of a group are sent at the same moment."""
    groups = [[("GET", "GET", f"/plain/{number % 1_500}", {}, None)] for number in range(KINDS["GET"])]
    for number in range(KINDS["ranges"] // 6):
        ranges = [{}] + [{"Range": f"bytes={part * 1_000}-{part * 1_000 + 999}"} for part in range(5)]
        groups += [[("ranges", "GET", f"/file/{number}", fields, None)] for fields in ranges]
    for number in range(KINDS["variants"] // 3):
        groups += [[("variants", "GET", f"/page/{number}", {"Accept-Language": language}, None)] for language in LANGUAGES]
    groups += [[("duplicates", "GET", f"/same/{number}", {}, None)] * AT_ONCE for number in range(KINDS["duplicates"] // AT_ONCE)]
    groups += [[("POST", "POST", "/ask", {"Content-Type": "application/json"}, json.dumps({"question": number % 100}).encode())] for number in range(KINDS["POST"])]
    groups += [[("streams", "GET", f"/stream/{number}", {"Accept": "text/event-stream"}, None)] for number in range(KINDS["streams"])]
    return groups


def shuffled(groups, seed):
    """In another order, as a program with several threads has one each time."""
    groups = list(groups)
    random.Random(seed).shuffle(groups)
    return groups


def body(path, fields, content):
    """The whole content of the response."""
    kind = path.split("/")[1]
    seed = path + (fields.get("Accept-Language", "") if kind == "page" else "") + (content or b"").decode()
    size = {"file": 100_000, "stream": 0}.get(kind, 1_000)
    if kind == "stream":
        return b"".join(f"data: {hashlib.sha256(f'{seed} {number}'.encode()).hexdigest()}\n\n".encode() for number in range(20)) + b"data: [DONE]\n\n"
    return hashlib.shake_128(seed.encode()).hexdigest(size // 2).encode()


def expected(request):
    """Status and content."""
    _, _, path, fields, content = request
    whole = body(path, fields, content)
    if "Range" not in fields:
        return 200, whole
    # A cache asks for the rest of what it has, up to the end.
    first, last = fields["Range"].removeprefix("bytes=").split("-")
    return 206, whole[int(first) : int(last or len(whole) - 1) + 1]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    def respond(self):
        content = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        with self.server.lock:
            self.server.asked += 1
        fields = {name: self.headers[name] for name in ("Accept-Language", "Range") if name in self.headers}
        if self.path.startswith("/stream/"):
            return self.stream()
        status, found = expected((None, self.command, self.path, fields, content))
        if self.path.startswith("/same/"):
            time.sleep(0.05)
        self.send_response(status)
        self.send_header("Content-Type", "text/plain")
        self.send_header("Content-Length", str(len(found)))
        self.send_header("Cache-Control", "max-age=3600")
        if self.path.startswith("/page/"):
            self.send_header("Vary", "Accept-Language")
        if self.path.startswith("/file/"):
            self.send_header("ETag", f'"{self.path[6:]}"')
            self.send_header("Accept-Ranges", "bytes")
            if status == 206:
                first = int(fields["Range"].removeprefix("bytes=").split("-")[0])
                self.send_header("Content-Range", f"bytes {first}-{first + len(found) - 1}/100000")
        self.end_headers()
        self.wfile.write(found)

    def stream(self):
        """Events, one every five milliseconds, without a length."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Cache-Control", "no-cache")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in body(self.path, {}, None).split(b"\n\n")[:-1]:
            event += b"\n\n"
            self.wfile.write(f"{len(event):x}\r\n".encode() + event + b"\r\n")
            self.wfile.flush()
            time.sleep(0.005)
        self.wfile.write(b"0\r\n\r\n")

    do_GET = do_POST = respond


class Origin(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def __init__(self, folder):
        super().__init__((site.SITE, 443), Handler)
        self.asked, self.lock = 0, threading.Lock()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "host.pem", folder / "host.key")
        # Each connection's own thread makes the handshake.
        self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)

    def handle_error(self, request, client_address):
        pass
