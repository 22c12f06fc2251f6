"""A registry of container images: docker-registry, whose blobs are on another host, by a redirection with a signature, as at the large ones.

With the option `token`, it asks for a token of a third host, as Docker Hub does for public images too; with `basic`, for a user and password.
"""

import base64
import contextlib
import ctypes
import gzip
import hashlib
import http.client
import io
import itertools
import json
import os
import pathlib
import signal
import socket
import subprocess
import tarfile
import time

from serving import NOT_FOUND, OLD, Response

REGISTRY, BLOBS, TOKENS = "images.example", "blobs.example", "tokens.example"
NAME, TAG = "holdfast/sample", "1.4.2"
USER = "reader", "a secret of 24 letters"
MANIFEST = "application/vnd.oci.image.manifest.v1+json"


class Connection(http.client.HTTPConnection):
    """To docker-registry, by a Unix socket."""

    def __init__(self, path):
        super().__init__("localhost", timeout=120)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        try:
            self.sock.connect(self.path)
        except OSError:
            self.sock.close()
            raise


def call(folder, method, target, body=None, **fields):
    named = {name.replace("_", "-"): value for name, value in fields.items()} | {"Host": REGISTRY, "X-Forwarded-Proto": "https"}
    with contextlib.closing(Connection(folder / "registry.sock")) as connection:
        connection.request(method, target, body, named)
        response = connection.getresponse()
        content = response.read()
    return response.status, {name: value for name, value in response.getheaders() if name.lower() not in ("content-length", "date", "connection")}, content


def start(folder, more=""):
    """docker-registry, which ends with this process."""
    (folder / "registry.sock").unlink(missing_ok=True)
    (folder / "registry.yml").write_text(
        f"version: 0.1\nlog: {{level: error, accesslog: {{disabled: true}}}}\nstorage: {{filesystem: {{rootdirectory: {folder}/storage}}}}\n"
        f"http: {{net: unix, addr: {folder}/registry.sock}}\n{more}"
    )
    with open(folder / "registry.log", "ab") as log:
        process = subprocess.Popen(
            ["docker-registry", "serve", str(folder / "registry.yml")], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            preexec_fn=lambda: ctypes.CDLL(None).prctl(1, signal.SIGKILL),
        )  # fmt: skip
    deadline = time.monotonic() + 120
    while True:
        try:
            call(folder, "GET", "/v2/")
            return process
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                process.kill()
                raise RuntimeError(f"docker-registry did not start: {(folder / 'registry.log').read_text()[-2000:]}") from None
            time.sleep(0.02)


def digest_of(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def layer(number):
    data = "".join(f"{hashlib.sha256(f'layer {number} {line}'.encode()).hexdigest()}\n" for line in range(20_000)).encode()
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as made:
        entry = tarfile.TarInfo(f"data-{number}.txt")
        entry.size = len(data)
        made.addfile(entry, io.BytesIO(data))
    return content.getvalue()


def build(folder):
    """Pushes an image of two layers, and makes the key of the tokens."""
    process = start(folder)
    try:
        layers = [layer(number) for number in range(2)]
        config = json.dumps({"architecture": "amd64", "os": "linux", "config": {}, "rootfs": {"type": "layers", "diff_ids": [digest_of(each) for each in layers]}})
        blobs = [config.encode(), *(gzip.compress(each, mtime=0) for each in layers)]
        for blob in blobs:
            _, fields, _ = call(folder, "POST", f"/v2/{NAME}/blobs/uploads/", Content_Length="0")
            target = fields["Location"].partition(REGISTRY)[2]
            status, _, said = call(folder, "PUT", f"{target}&digest={digest_of(blob)}", blob)
            assert status == 201, said
        kinds = ["application/vnd.oci.image.config.v1+json", *["application/vnd.oci.image.layer.v1.tar+gzip"] * 2]
        described = [{"mediaType": kind, "digest": digest_of(blob), "size": len(blob)} for kind, blob in zip(kinds, blobs, strict=True)]
        manifest = json.dumps({"schemaVersion": 2, "mediaType": MANIFEST, "config": described[0], "layers": described[1:]}).encode()
        status, _, said = call(folder, "PUT", f"/v2/{NAME}/manifests/{TAG}", manifest, Content_Type=MANIFEST)
        assert status == 201, said
    finally:
        process.kill()
        process.wait()
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-keyout", str(folder / "token.key"), "-out", str(folder / "token.pem"),
         "-subj", f"/CN={TOKENS}"], check=True, capture_output=True, timeout=120,
    )  # fmt: skip


def token(folder, scope):
    """A JSON Web Token that docker-registry believes, for what was asked."""
    def encoded(value):
        return base64.urlsafe_b64encode(value if isinstance(value, bytes) else json.dumps(value).encode()).rstrip(b"=")

    certificate = "".join(line for line in (folder / "token.pem").read_text().splitlines() if "-----" not in line)
    kind, name, actions = scope.split(":") if scope else (None, None, "")
    now = int(time.time())
    access = [{"type": kind, "name": name, "actions": [action for action in actions.split(",") if action == "pull"]}] if kind else []
    claims = {"iss": TOKENS, "sub": "", "aud": REGISTRY, "exp": now + 300, "nbf": now - 60, "iat": now, "jti": os.urandom(8).hex(), "access": access}
    signed = encoded({"typ": "JWT", "alg": "RS256", "x5c": [certificate]}) + b"." + encoded(claims)
    made = subprocess.run(["openssl", "dgst", "-sha256", "-sign", str(folder / "token.key")], input=signed, check=True, capture_output=True, timeout=120)
    return (signed + b"." + encoded(made.stdout)).decode()


def hosts(folder, *options):
    folder = pathlib.Path(folder).resolve()
    auth = ""
    if "token" in options:
        auth = f"auth: {{token: {{realm: 'https://{TOKENS}/token', service: {REGISTRY}, issuer: {TOKENS}, rootcertbundle: {folder}/token.pem}}}}\n"
    start(folder, auth)
    expected = "Basic " + base64.b64encode(":".join(USER).encode()).decode()
    numbers, issued = itertools.count(1), set()

    def registry(request):
        if "basic" in options and request.fields.get("authorization") != expected:
            return Response(401, {"WWW-Authenticate": 'Basic realm="images"', "Docker-Distribution-API-Version": "registry/2.0"}, b"{}")
        fields = {name.replace("-", "_"): value for name, value in request.fields.items() if name in ("accept", "authorization", "if-none-match", "range")}
        status, got, content = call(folder, request.method, request.target, request.body or None, **fields)
        if status == 200 and "/blobs/sha256:" in request.path:
            # Each one has a signature of its own.
            signature = f"{next(numbers):08x}"
            issued.add(signature)
            digest = request.path.rpartition(":")[2]
            return Response(307, {"Location": f"https://{BLOBS}/sha256/{digest}?expires={int(time.time()) + 600}&signature={signature}"}, b"")
        return Response(status, got | {"Age": OLD}, content)

    def blob(request):
        digest = request.path.rpartition("/")[2]
        file = folder / "storage/docker/registry/v2/blobs/sha256" / digest[:2] / digest / "data"
        if "authorization" in request.fields:
            return Response(400, {"Content-Type": "application/xml"}, b"<Error><Code>InvalidArgument</Code><Message>Only one auth mechanism allowed</Message></Error>")
        if request.query.get("signature") not in issued:
            return Response(403, {"Content-Type": "application/xml"}, b"<Error><Code>AccessDenied</Code></Error>")
        if not digest.isalnum() or not file.is_file():
            return NOT_FOUND
        return Response(200, {"Content-Type": "binary/octet-stream", "ETag": f'"{digest[:32]}"', "Accept-Ranges": "bytes"}, file.read_bytes())

    def tokens(request):
        made = token(folder, request.query.get("scope"))
        body = json.dumps({"token": made, "access_token": made, "expires_in": 300, "issued_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())})
        return Response(200, {"Content-Type": "application/json"}, body.encode())

    return {REGISTRY: registry, BLOBS: blob, TOKENS: tokens}
